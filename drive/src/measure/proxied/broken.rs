//! Counts references that should not be there: for files that an agent had asked for by name, for results that are
//! not long, and references that are too large for what they replace.

use std::collections::{HashMap, HashSet};

use infold_core::transcript::{Kind, Transcript};
use infold_core::{Counter, Family, Wish};

use super::received::{Received, Reference};

/// Up to these lengths a result is shown whole when it is first seen: a file that was asked for by name, other output.
const FILE_BYTES_MAX: usize = 32 << 10;
const OUTPUT_BYTES_MAX: usize = 8 << 10;
/// A reference must be shorter than a third of what it replaces, and than a tenth of a result of more than 64 KiB.
const SHARE: usize = 3;
const LARGE_BYTES: usize = 64 << 10;
const LARGE_SHARE: usize = 10;

/// How many references should not be there.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BadReferences {
    /// References for files that were asked for by name, seen for the first time, and not long.
    pub files: usize,
    /// References for other output that is not long.
    pub outputs: usize,
    /// References with too many bytes or tokens for what they replace.
    pub dear: usize,
}

/// A result as it was recorded.
struct RecordedResult<'a> {
    text: &'a str,
    is_named: bool,
    is_read_again: bool,
}

impl BadReferences {
    /// Counts those that a provider got in the last request of a session.
    pub fn of(transcript: &Transcript, last: &Received) -> Self {
        let originals = originals(transcript);
        let model = transcript.calls.first().map_or("", |call| call.model.as_str());
        let counter = Counter::new(Family::of_model(model));
        let mut broken = Self::default();
        for reference in last.entries.iter().flat_map(|entry| &entry.references) {
            let Some(original) = originals.get(reference.call.as_str()) else { continue };
            let bytes = original.text.len();
            broken.files += usize::from(original.is_named && !original.is_read_again && bytes <= FILE_BYTES_MAX);
            broken.outputs += usize::from(!original.is_named && bytes <= OUTPUT_BYTES_MAX);
            broken.dear += usize::from(is_dear(reference, original.text, counter));
        }
        broken
    }

    /// Adds the counts of another session.
    pub fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.outputs += other.outputs;
        self.dear += other.dear;
    }
}

/// Whether a reference is too large. What the client put behind a result is left out on both sides: it stays behind
/// the reference.
fn is_dear(reference: &Reference, text: &str, counter: Counter) -> bool {
    let (text, _) = parted(text);
    let (reference, _) = parted(&reference.text);
    let share = if text.len() > LARGE_BYTES { LARGE_SHARE } else { SHARE };
    let tokens = |text: &str| counter.count(text) as usize;
    reference.len() * share >= text.len() || tokens(reference) * share >= tokens(text)
}

/// Splits a result into what the tool printed and the reminders at its end.
pub fn parted(text: &str) -> (&str, &str) {
    let mut printed = text.trim_end();
    while let Some(inside) = printed.strip_suffix("</system-reminder>") {
        let Some(at) = inside.rfind("<system-reminder>").filter(|at| *at == 0 || inside[..*at].ends_with("\n\n"))
        else {
            break;
        };
        printed = inside[..at].trim_end();
    }
    let printed = if printed == text.trim_end() { text } else { printed };
    (printed, text[printed.len()..].trim())
}

/// The results of a session by the ids of their calls.
fn originals(transcript: &Transcript) -> HashMap<&str, RecordedResult<'_>> {
    let mut asked: HashMap<&str, (&str, &str)> = HashMap::new();
    let mut read: HashSet<String> = HashSet::new();
    let mut originals = HashMap::new();
    for item in &transcript.items {
        match &item.kind {
            Kind::Call { id, tool, input } => {
                asked.insert(id, (tool, input));
            }
            Kind::Result { id, text, .. } => {
                let (tool, input) = asked.get(id.as_str()).copied().unwrap_or_default();
                let wish = Wish::of(tool, input);
                let is_read_again = wish.file().is_some_and(|file| !read.insert(file.to_owned()));
                let is_named = matches!(wish, Wish::Named { .. } | Wish::Person);
                originals.insert(id.as_str(), RecordedResult { text, is_named, is_read_again });
            }
            _ => {}
        }
    }
    originals
}
