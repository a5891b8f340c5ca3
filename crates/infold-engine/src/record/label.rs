//! What people recognise a session by: the folder that its agent works in, and the first words of a person.
//!
//! Both are read from a request's beginning, scrubbed, and kept once for each session.

use infold_core::Owner;
use infold_core::record::{SessionLabel, folder_in};
use infold_core::transcript::Voice;
use infold_core::view::{BlockKind, RequestKind};

use super::parts::{FrontKind, PromptInput};
use super::{RequestSeen, locked};
use crate::Engine;

/// Characters of the first words that are kept.
const WORDS_CHARS_MAX: usize = 160;
/// Characters of them that are scrubbed: a secret must be seen whole to be recognised.
const SCRUBBED_CHARS_MAX: usize = 16_000;
/// Characters of a folder that are kept.
const FOLDER_CHARS_MAX: usize = 512;
/// Blocks at the beginning of a conversation that are searched.
const BLOCKS_MAX: usize = 16;

/// What stands at the beginning of a request. It is not scrubbed.
#[derive(Debug, Default)]
pub(super) struct Intro {
    folder: Option<String>,
    first_words: Option<String>,
}

impl Intro {
    pub(super) fn of(sight: &PromptInput<'_>) -> Self {
        let system = sight.front.iter().filter(|front| front.kind == FrontKind::System);
        let mut folder = system.filter_map(|front| folder_in(front.text)).next().map(str::to_owned);
        let mut first_words = None;
        for (at, block) in sight.blocks.iter().enumerate().take(BLOCKS_MAX) {
            match block.kind {
                BlockKind::User { voice: Voice::Person } => {
                    let words: String = (sight.words)(at).chars().take(SCRUBBED_CHARS_MAX).collect();
                    first_words = Some(words).filter(|words| !words.trim().is_empty());
                }
                BlockKind::User { voice: Voice::Client } | BlockKind::Instruction if folder.is_none() => {
                    folder = folder_in(&(sight.words)(at)).map(str::to_owned);
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
    /// What a request shows of what its session is recognised by, if that is not known yet.
    pub(super) async fn label(&self, owner: &Owner, seen: &RequestSeen) -> SessionLabel {
        // Titles and the like begin with the client's own words.
        if seen.kind != RequestKind::Turn {
            return SessionLabel::default();
        }
        let session = (owner.clone(), seen.session.clone());
        if locked(&self.inner.recorder.labelled).get(&session).is_some() {
            return SessionLabel::default();
        }
        let intro = &seen.parts.intro;
        let texts = [&intro.folder, &intro.first_words].map(|text| text.clone().unwrap_or_default());
        // What cannot be scrubbed is not kept, and a session without a label is no failure.
        let Ok(scrubbed) = self.inner.scrubbing.scrub(texts.to_vec()).await else { return SessionLabel::default() };
        let [folder, first_words] = scrubbed.as_slice() else { return SessionLabel::default() };

        if !first_words.as_str().is_empty() {
            locked(&self.inner.recorder.labelled).insert(session, ());
        }
        let kept =
            |text: &infold_core::Scrubbed, chars_max| (!text.as_str().is_empty()).then(|| text.head_chars(chars_max));
        SessionLabel { folder: kept(folder, FOLDER_CHARS_MAX), first_words: kept(first_words, WORDS_CHARS_MAX) }
    }
}
