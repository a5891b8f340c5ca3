//! Images in the input of a chat: each is one word there, and a file on disk.
//!
//! What must hold: an image is sent if and only if its word is in what is said. Where words are kept without their images
//! (drafts, what was said before), each word is the path of its file instead, so that it becomes an image again.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use infold_agent::image::AttachedImage;

/// Images without a file of their own that are kept: those from the clipboard, the newest.
const FILES_MAX: usize = 20;

/// The images that were attached in a chat.
#[derive(Debug)]
pub struct AttachedImages {
    known: Vec<KnownImage>,
    /// Where images are kept that have no file of their own.
    folder: PathBuf,
}

#[derive(Debug)]
struct KnownImage {
    label: String,
    image: AttachedImage,
    path: PathBuf,
}

impl AttachedImages {
    /// None so far.
    pub fn new(data: &Path) -> Self {
        Self { known: Vec::new(), folder: data.join("chat").join("images") }
    }

    /// Attaches an image, and gives the word for it.
    pub fn add(&mut self, image: AttachedImage, path: PathBuf) -> String {
        let same = |known: &&KnownImage| known.path == path && known.image.id == image.id;
        if let Some(known) = self.known.iter().find(same) {
            return known.label.clone();
        }
        let label = image.label(self.known.len() + 1);
        self.known.push(KnownImage { label: label.clone(), image, path });
        label
    }

    /// The same for one that has no file of its own: it gets one.
    pub fn add_unnamed(&mut self, image: AttachedImage) -> anyhow::Result<String> {
        let path = self.keep(&image)?;
        Ok(self.add(image, path))
    }

    /// Knows images again that were sent with words, and came back.
    pub fn know_again(&mut self, words: &str, images: &[AttachedImage]) {
        for image in images {
            let Some(label) = image.label_in(words) else { continue };
            if self.known.iter().any(|known| known.label == label) {
                continue;
            }
            match self.keep(image) {
                Ok(path) => self.known.push(KnownImage { label: label.to_owned(), image: image.clone(), path }),
                Err(error) => tracing::warn!(%error, "an image that came back is not kept"),
            }
        }
    }

    /// The images whose words are in a text, in its order.
    pub fn named_in(&self, text: &str) -> Vec<AttachedImage> {
        let mut named: Vec<(usize, &KnownImage)> =
            self.known.iter().filter_map(|known| Some((text.find(&known.label)?, known))).collect();
        named.sort_by_key(|(at, _)| *at);
        named.into_iter().map(|(_, known)| known.image.clone()).collect()
    }

    /// The words of all images.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(|known| known.label.as_str())
    }

    /// A text with paths in place of the words of images.
    pub fn as_typed(&self, text: &str) -> String {
        let mut typed = text.to_owned();
        for known in &self.known {
            if typed.contains(&known.label) {
                typed = typed.replace(&known.label, &mention(&known.path));
            }
        }
        typed
    }

    /// Writes an image to a file that nobody else can read.
    fn keep(&self, image: &AttachedImage) -> anyhow::Result<PathBuf> {
        std::fs::create_dir_all(&self.folder)?;
        self.forget_oldest();
        let kind = image.media_type.rsplit('/').next().unwrap_or("png");
        let path = self.folder.join(format!("pasted-{:014x}.{kind}", image.id));
        let file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        file?.write_all(&image.file().unwrap_or_default())?;
        Ok(path)
    }

    fn forget_oldest(&self) {
        let files = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut files: Vec<_> =
            files.filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path()))).collect();
        files.sort();
        let over = (files.len() + 1).saturating_sub(FILES_MAX);
        for (_, path) in files.into_iter().take(over) {
            if let Err(error) = std::fs::remove_file(&path) {
                tracing::warn!(%error, "an old image stays");
            }
        }
    }
}

/// How a path is written in words.
fn mention(path: &Path) -> String {
    let shown = path.display().to_string();
    if shown.contains(char::is_whitespace) { format!("@\"{shown}\"") } else { format!("@{shown}") }
}

#[cfg(test)]
mod tests;
