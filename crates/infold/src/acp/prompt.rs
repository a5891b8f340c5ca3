//! Prompts: what an editor sends, as the words that the model gets.

use std::path::Path;

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};

use super::calls::fenced;
use super::errors::wrong;

/// The words of a prompt. Files that it links are named, for the agent to read them; those that it holds are in it.
pub fn words_of(blocks: &[ContentBlock], folder: &Path) -> Result<String, Error> {
    let mut words = String::new();
    for block in blocks {
        match block {
            ContentBlock::Text(text) => words.push_str(&text.text),
            ContentBlock::ResourceLink(link) => words.push_str(&format!("`{}`", place(&link.uri, folder))),
            ContentBlock::Resource(held) => words.push_str(&resource(&held.resource, folder)?),
            ContentBlock::Image(_) | ContentBlock::Audio(_) => {
                return Err(wrong("this agent takes text and files, no images and no sound"));
            }
            _ => return Err(wrong("this agent takes text and files")),
        }
    }
    match words.trim().is_empty() {
        true => Err(wrong("the prompt is empty")),
        false => Ok(words),
    }
}

fn resource(held: &EmbeddedResourceResource, folder: &Path) -> Result<String, Error> {
    match held {
        EmbeddedResourceResource::TextResourceContents(text) => {
            Ok(format!("\n\n`{}`:\n{}\n\n", place(&text.uri, folder), fenced(&text.text)))
        }
        EmbeddedResourceResource::BlobResourceContents(blob) => {
            Ok(format!("`{}` (its content is no text, and is left out)", place(&blob.uri, folder)))
        }
        _ => Err(wrong("a resource is neither text nor a blob")),
    }
}

/// Where a resource is: a file by its path, from the working folder on, and anything else by its address.
fn place(uri: &str, folder: &Path) -> String {
    let Some(path) = uri.strip_prefix("file://") else { return uri.to_owned() };
    let (path, lines) = path.split_once('#').map_or((path, String::new()), |(path, lines)| (path, format!("#{lines}")));
    let path = decoded(path);
    let inside = Path::new(&path).strip_prefix(folder).ok().and_then(Path::to_str).map(str::to_owned);
    inside.unwrap_or(path) + &lines
}

/// A path of an address, in which some characters are written as numbers.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let number = behind.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match number.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
