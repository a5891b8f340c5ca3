//! Prompts: what an editor sends, as the words that the model gets.

use std::path::Path;

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource, ImageContent};
use infold_agent::image::AttachedImage;
use infold_agent::{SpokenBy, ThreadEntry};

use super::calls::fenced;
use super::errors::wrong;
use crate::agent::decoded_path;

/// The words of a prompt. Files that it links are named, for the agent to read them; those that it holds are in it, and so are
/// images, each of which is named in the words.
pub fn words_of(blocks: &[ContentBlock], folder: &Path, image_bytes_max: u64) -> Result<ThreadEntry, Error> {
    let mut words = String::new();
    let mut images = Vec::new();
    for block in blocks {
        match block {
            ContentBlock::Text(text) => words.push_str(&text.text),
            ContentBlock::ResourceLink(link) => words.push_str(&format!("`{}`", place(&link.uri, folder))),
            ContentBlock::Resource(held) => words.push_str(&resource(&held.resource, folder)?),
            ContentBlock::Image(sent) => {
                let image = attached(sent, image_bytes_max)?;
                words.push_str(&image.label(images.len() + 1));
                images.push(image);
            }
            ContentBlock::Audio(_) => return Err(wrong("this agent takes text, files and images, no sound")),
            _ => return Err(wrong("this agent takes text, files and images")),
        }
    }
    match words.trim().is_empty() {
        true => Err(wrong("the prompt is empty")),
        false => Ok(ThreadEntry::User { text: words, by: SpokenBy::Person, images }),
    }
}

/// An image that the editor sends, by the name of its file if it says one.
fn attached(sent: &ImageContent, bytes_max: u64) -> Result<AttachedImage, Error> {
    let uri = sent.uri.as_deref().unwrap_or_default();
    let name = decoded_path(uri.rsplit('/').next().unwrap_or_default());
    AttachedImage::of_base64(&name, &sent.data, bytes_max).map_err(|refused| wrong(refused.to_string()))
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
    let path = decoded_path(path);
    let inside = Path::new(&path).strip_prefix(folder).ok().and_then(Path::to_str).map(str::to_owned);
    inside.unwrap_or(path) + &lines
}

#[cfg(test)]
mod tests;
