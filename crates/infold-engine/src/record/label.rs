//! What people recognise a session by: the folder that its agent works in, and the first words of a person.
//!
//! Both are read from the beginning of a request, scrubbed, and stored once for each session.

use infold_core::Owner;
use infold_core::record::{SessionLabel, folder_in};
use infold_core::transcript::Voice;
use infold_core::view::{BlockKind, RequestKind};

use super::parts::{FrontKind, PromptInput};
use super::{RequestSeen, locked};
use crate::Engine;

/// How many characters of the first words are stored.
const WORDS_CHARS_MAX: usize = 160;
/// How many characters of them are scrubbed: a secret must be seen whole to be recognised.
const SCRUBBED_CHARS_MAX: usize = 16_000;
/// How many characters of a folder are stored.
const FOLDER_CHARS_MAX: usize = 512;
/// How many blocks at the beginning of a conversation are searched.
const BLOCKS_MAX: usize = 16;

/// What the beginning of a request says, not scrubbed yet.
#[derive(Debug, Default)]
pub(super) struct Intro {
    folder: Option<String>,
    first_words: Option<String>,
}

impl Intro {
    pub(super) fn of(input: &PromptInput<'_>) -> Self {
        let system = input.front.iter().filter(|front| front.kind == FrontKind::System);
        let mut folder = system.filter_map(|front| folder_in(front.text)).next().map(str::to_owned);
        let mut first_words = None;
        for (at, block) in input.blocks.iter().enumerate().take(BLOCKS_MAX) {
            match block.kind {
                BlockKind::User { voice: Voice::Person } => {
                    let words: String = (input.words)(at).chars().take(SCRUBBED_CHARS_MAX).collect();
                    first_words = Some(words).filter(|words| !words.trim().is_empty());
                }
                BlockKind::User { voice: Voice::Client } | BlockKind::Instruction if folder.is_none() => {
                    folder = folder_in(&(input.words)(at)).map(str::to_owned);
                }
                BlockKind::User { voice: Voice::Client }
                | BlockKind::Instruction
                | BlockKind::Attachment
                | BlockKind::Assistant
                | BlockKind::Reasoning
                | BlockKind::Call(_)
                | BlockKind::Result(_)
                | BlockKind::Other { .. } => {}
            }
            if first_words.is_some() {
                break;
            }
        }
        Self { folder, first_words }
    }
}

impl Engine {
    /// Reads from a request what its session is recognised by; empty if that is stored already.
    pub(super) async fn label(&self, owner: &Owner, seen: &RequestSeen) -> SessionLabel {
        // Requests for titles and the like begin with the client's own words.
        if seen.kind != RequestKind::Turn {
            return SessionLabel::default();
        }
        let session = (owner.clone(), seen.session.clone());
        if locked(&self.inner.recorder.labelled).get(&session).is_some() {
            return SessionLabel::default();
        }
        let intro = &seen.parts.intro;
        let texts = [&intro.folder, &intro.first_words].map(|text| text.clone().unwrap_or_default());
        // What cannot be scrubbed is not stored, and a session may do without a label.
        let Ok(scrubbed) = self.inner.scrubbing.scrub(texts.to_vec()).await else { return SessionLabel::default() };
        let [folder, first_words] = scrubbed.as_slice() else { return SessionLabel::default() };

        if !first_words.as_str().is_empty() {
            locked(&self.inner.recorder.labelled).insert(session, ());
        }
        let cut =
            |text: &infold_core::Scrubbed, chars_max| (!text.as_str().is_empty()).then(|| text.head_chars(chars_max));
        SessionLabel { folder: cut(folder, FOLDER_CHARS_MAX), first_words: cut(first_words, WORDS_CHARS_MAX) }
    }
}
