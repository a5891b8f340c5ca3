//! Images in a session: what it takes, what a compaction keeps of them, and what happens if a provider refuses them.
//!
//! What must hold: an image is a person's word, so a compaction keeps it, the newest first and within bounds; one that is
//! not kept is named where it was, with a sentence that says so. What a provider refuses is not sent to it again.

use std::collections::BTreeSet;

use infold_core::compaction::ThreadPiece;
use infold_core::{Counter, Thread, grouped};

use crate::agent::CodingAgent;
use crate::image::{AttachedImage, NoImage, PER_MESSAGE_MAX};
use crate::record::SessionRecord;
use crate::session::{AgentSession, ThreadState};
use crate::stop::Stop;
use crate::{SpokenBy, ThreadEntry};

/// What comes behind words whose images are not sent any more.
const LEFT_OUT: &str = "\n[Images of this message are left out: the model does not take them.]";
/// How the line begins that names images for which a compaction had no room, and how it ends.
const NO_ROOM: (&str, &str) = (
    "[Images that the person sent earlier, and that are left out here because there was no room for them: ",
    ". Ask for one if you need to see it again.]",
);
/// How many of those are named, the newest.
const NAMED_MAX: usize = 40;
/// What is between two of them.
const BETWEEN: &str = "; ";

/// How much of a thread's images a compaction keeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CarryBounds {
    /// Bytes, together.
    pub(crate) bytes_max: u64,
    /// Tokens, together.
    pub(crate) tokens_max: u64,
}

/// The images of a thread that is compacted.
#[derive(Debug, Default)]
pub(crate) struct CarriedImages {
    /// Those that stay, the oldest first.
    kept: Vec<AttachedImage>,
    /// Those that do not.
    left_out: Vec<AttachedImage>,
    /// What those were, in words, that earlier compactions did not keep.
    gone_before: Vec<String>,
}

impl CarriedImages {
    /// Chooses among the images of a thread: the newest ones that fit.
    pub(crate) fn of(entries: &[ThreadEntry], bounds: CarryBounds, counter: &Counter) -> Self {
        let (mut bytes, mut tokens) = (0, 0);
        let mut seen = BTreeSet::new();
        let mut carried = Self::default();
        for image in entries.iter().rev().flat_map(|entry| entry.images().iter().rev()) {
            if !seen.insert(image.id) {
                continue;
            }
            let (bytes_then, tokens_then) = (bytes + image.bytes, tokens + image.tokens(counter));
            if bytes_then <= bounds.bytes_max && tokens_then <= bounds.tokens_max {
                (bytes, tokens) = (bytes_then, tokens_then);
                carried.kept.push(image.clone());
            } else {
                carried.left_out.push(image.clone());
            }
        }
        carried.kept.reverse();
        carried.left_out.reverse();
        carried.gone_before = entries.iter().filter_map(named_as_gone).flatten().collect();
        carried
    }

    /// What those that stay take of a prompt.
    pub(crate) fn tokens(&self, counter: &Counter) -> u64 {
        self.kept.iter().map(|image| image.tokens(counter)).sum()
    }

    /// The entry that has them in the new thread, without those that are still where they were; `None` if there is none.
    pub(crate) fn entry(self, pieces: &[ThreadPiece], entries: &[ThreadEntry]) -> Option<ThreadEntry> {
        let stays = |piece: &ThreadPiece| match piece {
            ThreadPiece::Kept { item } => entries.get(*item),
            ThreadPiece::Summary { .. } | ThreadPiece::Reference { .. } => None,
        };
        let in_place: BTreeSet<u64> =
            pieces.iter().filter_map(stays).flat_map(ThreadEntry::images).map(|image| image.id).collect();
        let gone = |images: Vec<AttachedImage>| -> Vec<AttachedImage> {
            images.into_iter().filter(|image| !in_place.contains(&image.id)).collect()
        };
        let (kept, left_out) = (gone(self.kept), gone(self.left_out));
        let mut lines = Vec::new();
        if !kept.is_empty() {
            lines.push(format!("[Images that the person sent earlier: {}]", described(&kept)));
        }
        let mut named = self.gone_before;
        named.extend(left_out.iter().map(AttachedImage::described));
        let named = named.split_off(named.len().saturating_sub(NAMED_MAX));
        if !named.is_empty() {
            lines.push(format!("{}{}{}", NO_ROOM.0, named.join(BETWEEN), NO_ROOM.1));
        }
        (!lines.is_empty()).then(|| ThreadEntry::User { text: lines.join("\n"), by: SpokenBy::Agent, images: kept })
    }
}

fn described(images: &[AttachedImage]) -> String {
    images.iter().map(AttachedImage::described).collect::<Vec<_>>().join(BETWEEN)
}

/// What an earlier compaction has named as not kept.
fn named_as_gone(entry: &ThreadEntry) -> Option<Vec<String>> {
    let ThreadEntry::User { text, by: SpokenBy::Agent, .. } = entry else { return None };
    let named = text.lines().find_map(|line| line.strip_prefix(NO_ROOM.0)?.strip_suffix(NO_ROOM.1));
    Some(named?.split(BETWEEN).map(str::to_owned).collect())
}

impl AgentSession {
    /// Whether its threads, or words that wait, have images.
    pub(crate) fn has_images(&self) -> bool {
        let said = self.threads.values().flat_map(|thread| &thread.entries);
        said.chain(&self.waiting).any(|entry| !entry.images().is_empty())
    }
}

impl ThreadState {
    /// The place of the newest words with images that no model has answered yet.
    pub(crate) fn unanswered_images(&self) -> Option<usize> {
        let behind = self.entries.iter().rposition(|entry| !matches!(entry, ThreadEntry::User { .. }));
        let first = behind.map_or(0, |at| at + 1);
        let newest = self.entries[first..].iter().rposition(|entry| !entry.images().is_empty());
        newest.map(|at| first + at)
    }

    pub(crate) fn take_back(&mut self, entry: usize) {
        if entry < self.entries.len() {
            self.entries.remove(entry);
        }
    }

    pub(crate) fn leave_images_out(&mut self) {
        for entry in &mut self.entries {
            if let ThreadEntry::User { text, images, .. } = entry
                && !images.is_empty()
            {
                images.clear();
                text.push_str(LEFT_OUT);
            }
        }
    }
}

impl CodingAgent {
    /// Refuses words with more images than can be sent.
    pub(crate) fn check_images(&self, words: &[ThreadEntry]) -> Result<(), Stop> {
        if words.iter().all(|entry| entry.images().is_empty()) {
            return Ok(());
        }
        // What a compaction has put together is no message.
        let is_persons = |entry: &&ThreadEntry| !matches!(entry, ThreadEntry::User { by: SpokenBy::Agent, .. });
        if words.iter().filter(is_persons).any(|entry| entry.images().len() > PER_MESSAGE_MAX) {
            return Err(Stop::Refused(NoImage::TooMany.to_string()));
        }
        let bytes_max = self.setup.limits.images_bytes_max;
        let session = self.session();
        let said = session.threads.get(&Thread::Main).map(|thread| thread.entries.as_slice()).unwrap_or_default();
        let all = said.iter().chain(&session.waiting).chain(words).flat_map(ThreadEntry::images);
        let mut seen = BTreeSet::new();
        let bytes: u64 = all.filter(|image| seen.insert(image.id)).map(|image| image.bytes).sum();
        match bytes <= bytes_max {
            true => Ok(()),
            false => Err(Stop::Refused(format!(
                "the images of this session would have {} bytes together, and a request takes {}: compact it, which \
                 keeps the newest, or start a new session",
                grouped(bytes),
                grouped(bytes_max)
            ))),
        }
    }

    /// The records of images in words that the log does not have yet.
    pub(crate) fn new_images(&self, words: &[ThreadEntry]) -> Vec<SessionRecord> {
        let mut known: BTreeSet<u64> = self.session().images.keys().copied().collect();
        let new = words.iter().flat_map(ThreadEntry::images).filter(|image| known.insert(image.id));
        new.filter_map(SessionRecord::of_image).collect()
    }

    /// A provider refused a thread's images. Words that it has not answered are taken back for the person to say them
    /// differently, which ends the run; older images are left out, and the run goes on.
    pub(crate) async fn images_refused(&self, thread: &Thread, why: String) -> Result<(), Stop> {
        let newest = self.with_thread(thread, |state| {
            let at = state.unanswered_images()?;
            match &state.entries[at] {
                ThreadEntry::User { text, .. } => Some((at, text.clone())),
                _ => None,
            }
        });
        self.run_state().counted.remove(thread);
        match newest {
            Some((entry, words)) => {
                self.record(vec![SessionRecord::TakenBack { thread: thread.clone(), entry }]).await?;
                Err(Stop::ImagesRefused { why, words })
            }
            None => {
                self.warn_once(format!("images of this session are left out from here on: {why}"));
                self.record(vec![SessionRecord::ImagesLeftOut { thread: thread.clone() }]).await
            }
        }
    }
}

#[cfg(test)]
mod tests;
