//! Image files that a person names: with `@` in words, by a path that a terminal writes when a file is dropped on it, or with
//! a flag.
//!
//! What must hold: what is no image stays words; a file is read up to a bound, and only if it is a regular one. Whether its
//! bytes are an image is the agent's to say (`crates/infold-agent/src/image.rs`).

use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use infold_agent::image::{AttachedImage, NoImage, media_type_of};
use infold_agent::{SpokenBy, ThreadEntry};

use crate::failure::Refused;

/// Bytes that say what a file is.
const HEAD_BYTES: u64 = 16;
/// How names of image files end.
const ENDINGS: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];
/// Signs behind a path that are not part of it.
const SIGNS: [char; 8] = ['.', ',', ';', ':', '!', '?', ')', '"'];
/// Paths that one paste may have.
const PASTED_PATHS_MAX: usize = 20;

/// A file that is named in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Where in the words it is, with the `@`.
    pub range: Range<usize>,
    /// The path, as it was written.
    pub path: String,
}

/// What is at a path.
#[derive(Debug)]
pub enum NamedFile {
    /// An image.
    Image(Box<AttachedImage>, PathBuf),
    /// Something else: its name is a word like others.
    Other,
    /// It is called like an image, and is not there.
    Gone,
    /// It is an image, or is called like one, and cannot be sent.
    Unusable(String),
}

/// Reads an image file.
pub fn read_image(path: &Path, bytes_max: u64) -> anyhow::Result<AttachedImage> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| Refused::new(format!("cannot read {shown}: {error}"));
    let about = std::fs::metadata(path).map_err(unreadable)?;
    if !about.is_file() {
        return Err(Refused::new(format!("{shown} is no file")).into());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    let image = AttachedImage::of_file(&name, &bytes, bytes_max).map_err(|refused| match refused {
        NoImage::TooLarge { name, bytes_max, .. } => NoImage::TooLarge { name, bytes: about.len(), bytes_max },
        refused => refused,
    });
    Ok(image.map_err(|refused| Refused::new(refused.to_string()))?)
}

/// What is at a path that was written in a folder.
pub fn image_named(path: &str, folder: &Path, bytes_max: u64) -> NamedFile {
    let place = folder.join(path);
    let looks_like_one = ENDINGS.iter().any(|ending| path.to_lowercase().ends_with(ending));
    match std::fs::metadata(&place) {
        Err(_) if looks_like_one => return NamedFile::Gone,
        Ok(about) if about.is_file() && (looks_like_one || is_image(&place)) => {}
        Ok(_) | Err(_) => return NamedFile::Other,
    }
    match read_image(&place, bytes_max) {
        Ok(image) => NamedFile::Image(Box::new(image), place),
        Err(error) => NamedFile::Unusable(format!("{error:#}")),
    }
}

fn is_image(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    read.is_ok() && media_type_of(&head).is_some()
}

/// The files that words name with `@`. A path with blanks is in quotes.
pub fn mentions(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut before = ' ';
    let mut at = 0;
    while let Some(char) = text[at..].chars().next() {
        let behind = at + char.len_utf8();
        let rest = &text[behind..];
        let quoted = rest.strip_prefix('"').and_then(|inside| inside.split_once('"')).map(|(path, _)| path);
        match (char, quoted) {
            ('@', Some(path)) if before.is_whitespace() && !path.contains('\n') => {
                let end = behind + path.len() + 2;
                found.push(Mention { range: at..end, path: path.to_owned() });
                (at, before) = (end, '"');
            }
            ('@', _) if before.is_whitespace() => {
                let end =
                    behind + rest.find(|char: char| char.is_whitespace() || is_private(char)).unwrap_or(rest.len());
                let path = text[behind..end].trim_end_matches(SIGNS);
                if !path.is_empty() {
                    found.push(Mention { range: at..behind + path.len(), path: path.to_owned() });
                }
                (at, before) = (end, 'x');
            }
            _ => (at, before) = (behind, char),
        }
    }
    found
}

/// Characters that stand for something else in an input.
fn is_private(char: char) -> bool {
    ('\u{100000}'..='\u{10fffd}').contains(&char)
}

/// The paths that a pasted text may be, as terminals write them when files are dropped: as they are, in quotes, with
/// backslashes, or as addresses. Empty if it is something else.
pub fn pasted_paths(pasted: &str) -> Vec<String> {
    let pasted = pasted.trim();
    let mut paths: Vec<String> = Vec::new();
    let (mut path, mut is_open, mut quote) = (String::new(), false, None);
    let mut chars = pasted.chars();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some(open), _) if char == open => quote = None,
            (Some('\''), _) => path.push(char),
            (_, '\\') => path.extend(chars.next()),
            (Some(_), _) => path.push(char),
            (None, '\'' | '"') => (quote, is_open) = (Some(char), true),
            (None, _) if char.is_whitespace() => {
                if is_open || !path.is_empty() {
                    paths.push(std::mem::take(&mut path));
                }
                is_open = false;
            }
            (None, _) => path.push(char),
        }
        if paths.len() > PASTED_PATHS_MAX {
            return Vec::new();
        }
    }
    if is_open || !path.is_empty() {
        paths.push(path);
    }
    match quote {
        Some(_) => Vec::new(),
        None => paths.into_iter().map(|path| of_address(&path)).collect(),
    }
}

/// The path in an address of a file; any other text as it is.
fn of_address(text: &str) -> String {
    match text.strip_prefix("file://") {
        Some(path) => decoded_path(path.strip_prefix("localhost").unwrap_or(path)),
        None => text.to_owned(),
    }
}

/// A path of an address, in which some characters are written as numbers.
pub fn decoded_path(path: &str) -> String {
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

/// Words of a person in which image files that are named with `@` are attached, each named by its label instead.
pub fn attach_named(text: &str, folder: &Path, bytes_max: u64) -> anyhow::Result<ThreadEntry> {
    let mut said = String::new();
    let mut images: Vec<AttachedImage> = Vec::new();
    let mut from = 0;
    for mention in mentions(text) {
        match image_named(&mention.path, folder, bytes_max) {
            NamedFile::Image(image, _) => {
                said.push_str(&text[from..mention.range.start]);
                said.push_str(&image.label(images.len() + 1));
                images.push(*image);
                from = mention.range.end;
            }
            NamedFile::Other | NamedFile::Gone => {}
            NamedFile::Unusable(why) => return Err(Refused::new(why).into()),
        }
    }
    said.push_str(&text[from..]);
    Ok(ThreadEntry::User { text: said, by: SpokenBy::Person, images })
}

#[cfg(test)]
mod tests;
