//! Attaches images: files that are dropped or named with `@`, and what is on the clipboard.
//!
//! What must hold: whatever cannot be attached is said, and what was typed stays.

use std::path::Path;

use infold_agent::image::AttachedImage;

use super::Chat;
use super::clipboard::image_on_clipboard;
use crate::agent::{NamedFile, image_named, mentions, pasted_paths};

/// Which of the files that are named in the input are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichNamed {
    /// All of them.
    All,
    /// Those behind which something else has been typed.
    Finished,
}

impl Chat {
    /// Takes in what was pasted: image files by their paths, anything else as it is.
    pub(super) fn pasted(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        match self.dropped(&text) {
            Some(Ok(labels)) => {
                for label in labels {
                    self.state.editor.attach(&label);
                    self.state.editor.paste(" ");
                }
            }
            Some(Err(why)) => {
                self.state.hint = Some(why);
                self.state.editor.paste(&text);
            }
            None => self.state.editor.paste(&text),
        }
        self.typed();
    }

    /// The words for dropped images; `None` if the text is something else than their paths.
    fn dropped(&mut self, text: &str) -> Option<Result<Vec<String>, String>> {
        let whole = text.trim();
        // Some terminals write a path with blanks as it is.
        let is_file = !whole.is_empty() && !whole.contains('\n') && self.conversation.folder().join(whole).is_file();
        let paths = if is_file { vec![whole.to_owned()] } else { pasted_paths(text) };
        let mut images = Vec::new();
        for path in paths {
            match self.named(&path) {
                NamedFile::Image(image, path) => images.push((image, path)),
                NamedFile::Unusable(why) => return Some(Err(why)),
                NamedFile::Other | NamedFile::Gone => return None,
            }
        }
        let labels: Vec<String> = images.into_iter().map(|(image, path)| self.attached.add(*image, path)).collect();
        (!labels.is_empty()).then_some(Ok(labels))
    }

    fn named(&self, path: &str) -> NamedFile {
        let home = self.conversation.invocation().surroundings.text("HOME").map(Path::new);
        let path = match (path.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest).display().to_string(),
            _ => path.to_owned(),
        };
        image_named(&path, self.conversation.folder(), self.conversation.image_bytes_max())
    }

    /// Attaches image files that are named in the input. An error says which cannot be.
    pub(super) fn attach_named(&mut self, which: WhichNamed) -> Result<(), String> {
        self.show_attached();
        let mut problem = Ok(());
        // From the last to the first, so that places stay what they are.
        for mention in mentions(self.state.editor.short_text()).into_iter().rev() {
            if which == WhichNamed::Finished && mention.range.end >= self.state.editor.cursor() {
                continue;
            }
            match self.named(&mention.path) {
                NamedFile::Image(image, path) => {
                    let label = self.attached.add(*image, path);
                    self.state.editor.replace_by_attached(mention.range, &label);
                }
                NamedFile::Unusable(why) => problem = Err(why),
                NamedFile::Gone => self.state.hint = Some(format!("{} is not there: it is a word now", mention.path)),
                NamedFile::Other => {}
            }
        }
        problem
    }

    /// Shows words of images that came back into the input as what they are.
    pub(super) fn show_attached(&mut self) {
        let labels: Vec<String> = self.attached.labels().map(str::to_owned).collect();
        for label in labels {
            while let Some(at) = self.state.editor.short_text().find(&label) {
                self.state.editor.replace_by_attached(at..at + label.len(), &label);
                // Where no more marks are left, the word stays as it is.
                if self.state.editor.short_text().contains(&label) {
                    break;
                }
            }
        }
    }

    /// Attaches the image on the clipboard.
    pub(super) async fn paste_image(&mut self) {
        let bytes_max = self.conversation.image_bytes_max();
        let attached = match image_on_clipboard(bytes_max).await {
            Err(why) => Err(why),
            Ok(bytes) => match AttachedImage::of_file("clipboard", &bytes, bytes_max) {
                Err(refused) => Err(refused.to_string()),
                Ok(image) => self.attached.add_unnamed(image).map_err(|error| format!("{error:#}")),
            },
        };
        match attached {
            Ok(label) => {
                self.state.editor.attach(&label);
                self.state.editor.paste(" ");
                self.typed();
            }
            Err(why) => self.state.hint = Some(why),
        }
    }
}
