//! Images that a person sends with words: PNG, JPEG, GIF and WebP, whatever their files are called.
//!
//! What must hold: what an image is follows from its bytes; the words that it is sent with name it ([`AttachedImage::label`]);
//! its bytes are in the log once, in a record of their own that comes before the words, and entries have its id. So whatever
//! becomes of the words (they wait, are compacted, inherited by a branch), the bytes are not written again.
//!
//! Left to others: where an image comes from, and how a provider gets it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use infold_core::{Counter, Pixels, grouped, pixels_of_file};
use serde::{Deserialize, Serialize};

use crate::ThreadEntry;

/// Pixels of a side that providers take at most.
const EDGE_MAX: u32 = 8_000;
/// Images that one message may have.
pub const PER_MESSAGE_MAX: usize = 20;
/// Characters of a name that are kept.
const NAME_CHARS_MAX: usize = 80;

/// The bytes of images, by their ids.
pub type KnownImages = BTreeMap<u64, ImageData>;

/// An image as an entry of a thread names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttachedImage {
    /// Follows from its bytes.
    pub id: u64,
    /// What its file is called.
    pub name: String,
    /// What it is: `image/png`, for example.
    pub media_type: String,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The size of its file.
    pub bytes: u64,
    /// Its bytes, until they are in the log.
    #[serde(skip)]
    pub data: Option<ImageData>,
}

/// The bytes of an image in base64, as providers want them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct ImageData(Arc<str>);

/// Why something cannot be sent as an image. Each is for the person to put right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoImage {
    /// The file is too large.
    #[error("{name} has {} bytes, and an image may have {}: make it smaller", grouped(*.bytes), grouped(*.bytes_max))]
    TooLarge {
        /// The file's name.
        name: String,
        /// Its size.
        bytes: u64,
        /// The largest size that is sent.
        bytes_max: u64,
    },
    /// It is too wide or too high.
    #[error("{name} has {width}×{height} pixels, and a side may have {EDGE_MAX}: make it smaller")]
    TooWide {
        /// The file's name.
        name: String,
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// It is something else, or broken.
    #[error("{name} is no image that can be sent: those are PNG, JPEG, GIF and WebP")]
    Unknown {
        /// The file's name.
        name: String,
    },
    /// There are too many of them.
    #[error("a message takes {PER_MESSAGE_MAX} images")]
    TooMany,
}

impl AttachedImage {
    /// The image in a file of these bytes.
    pub fn of_file(name: &str, file: &[u8], bytes_max: u64) -> Result<Self, NoImage> {
        let name = short_name(name);
        let bytes = file.len() as u64;
        let Some(media_type) = media_type_of(file) else { return Err(NoImage::Unknown { name }) };
        if bytes > bytes_max {
            return Err(NoImage::TooLarge { name, bytes, bytes_max });
        }
        let Some(Pixels { width, height }) = pixels_of_file(file) else { return Err(NoImage::Unknown { name }) };
        if width.max(height) > EDGE_MAX {
            return Err(NoImage::TooWide { name, width, height });
        }
        let data = Some(ImageData(STANDARD.encode(file).into()));
        Ok(Self { id: id_of(file), name, media_type: media_type.to_owned(), width, height, bytes, data })
    }

    /// The same for bytes that come in base64.
    pub fn of_base64(name: &str, base64: &str, bytes_max: u64) -> Result<Self, NoImage> {
        match STANDARD.decode(base64.trim()) {
            Ok(file) => Self::of_file(name, &file, bytes_max),
            Err(_) => Err(NoImage::Unknown { name: short_name(name) }),
        }
    }

    /// How words name it. People see it in their input, and models in what they are sent.
    pub fn label(&self, number: usize) -> String {
        format!("[image {number}: {}]", self.described())
    }

    /// The label that words name it by, whatever its number.
    pub fn label_in<'t>(&self, words: &'t str) -> Option<&'t str> {
        let end = format!(": {}]", self.described());
        let at = words.find(&end)?;
        let start = words[..at].rfind("[image ")?;
        Some(&words[start..at + end.len()])
    }

    /// What it is, in a few words.
    pub(crate) fn described(&self) -> String {
        let Self { name, width, height, bytes, .. } = self;
        format!("{name}, {width}×{height}, {} KB", grouped(bytes.div_ceil(1_000)))
    }

    /// The file itself, as long as its bytes are at hand.
    pub fn file(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&*self.data.as_ref()?.0).ok()
    }

    /// What it takes of a prompt.
    pub(crate) fn tokens(&self, counter: &Counter) -> u64 {
        counter.count_image(Pixels { width: self.width, height: self.height })
    }
}

impl ImageData {
    /// In base64.
    pub(crate) fn base64(&self) -> &str {
        &self.0
    }
}

impl From<String> for ImageData {
    fn from(base64: String) -> Self {
        Self(base64.into())
    }
}

impl From<ImageData> for String {
    fn from(data: ImageData) -> Self {
        data.0.as_ref().to_owned()
    }
}

impl fmt::Debug for ImageData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ImageData({} characters)", self.0.len())
    }
}

/// What a file is, by its first bytes; `None` if it is no image that all providers take.
pub fn media_type_of(file: &[u8]) -> Option<&'static str> {
    match file {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Words with images behind them: each is named at the end, unless the words name it already.
pub fn said_with(text: &str, images: Vec<AttachedImage>) -> ThreadEntry {
    let named = (1..).zip(&images).map(|(number, image)| image.label(number)).collect::<Vec<_>>().join("\n");
    let text = if text.trim().is_empty() { named } else { format!("{text}\n\n{named}") };
    ThreadEntry::User { text, by: crate::SpokenBy::Person, images }
}

/// Gives entries the bytes of their images, for a session that does not have them.
pub fn with_data(mut entries: Vec<ThreadEntry>, known: &KnownImages) -> Vec<ThreadEntry> {
    for entry in &mut entries {
        if let ThreadEntry::User { images, .. } = entry {
            images.iter_mut().for_each(|image| image.data = known.get(&image.id).cloned());
        }
    }
    entries
}

/// A number that other bytes do not have, short enough for every reader of JSON.
fn id_of(file: &[u8]) -> u64 {
    let hash = blake3::hash(file);
    let bytes = hash.as_bytes().iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    bytes >> 11
}

fn short_name(name: &str) -> String {
    let shown: String = name.chars().filter(|char| !char.is_control() && !"[]".contains(*char)).collect();
    let short: String = shown.chars().take(NAME_CHARS_MAX).collect();
    if short.trim().is_empty() { "image".to_owned() } else { short }
}

#[cfg(test)]
mod tests;
