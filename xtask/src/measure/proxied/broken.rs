//! References that should not be there: for what an agent had asked for by name, for what is not long, and those
//! that cost too much.

use std::collections::{HashMap, HashSet};

use infold_core::transcript::{Kind, Transcript};
use infold_core::{Counter, Family, Wish};

use super::received::{Received, Reference};

/// What is shown whole at first sight: a file that was asked for by name, and any output.
const FILE_BYTES_MAX: usize = 32 << 10;
const OUTPUT_BYTES_MAX: usize = 8 << 10;
/// A reference takes less than one part in so many, and less than one in so many of what has more bytes than this.
const SHARE: usize = 3;
const LARGE_BYTES: usize = 64 << 10;
const LARGE_SHARE: usize = 10;

/// How many references should not be there.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BadReferences {
    /// For files that were asked for by name, seen for the first time, and not long.
    pub files: usize,
    /// For other output that is not long.
    pub outputs: usize,
    /// With too many bytes or tokens for what they stand for.
    pub dear: usize,
}

/// A result as the session has it.
struct RecordedResult<'a> {
    text: &'a str,
    is_named: bool,
    is_read_again: bool,
}

impl BadReferences {
    /// Those that a provider got in the last request of a session.
    pub fn of(transcript: &Transcript, last: &Received) -> Self {
        let originals = originals(transcript);
        let model = transcript.calls.first().map_or("", |call| call.usage.model.as_str());
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

    /// Adds another session's.
    pub fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.outputs += other.outputs;
        self.dear += other.dear;
    }
}

/// What the client put behind a result stays behind its reference, and is neither the tool's nor ours.
fn is_dear(reference: &Reference, text: &str, counter: Counter) -> bool {
    let (text, _) = parted(text);
    let (reference, _) = parted(&reference.text);
    let share = if text.len() > LARGE_BYTES { LARGE_SHARE } else { SHARE };
    let tokens = |text: &str| counter.count(text) as usize;
    reference.len() * share >= text.len() || tokens(reference) * share >= tokens(text)
}

/// A result without the reminders at its end, and those.
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
