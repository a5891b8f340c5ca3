//! What a session has said and shown so far, by name.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, DefaultHasher, Hasher};
use std::sync::Arc;

use serde_json::Value;

use super::again::each_place;
use super::wish::Wish;
use crate::atoms::{AtomSort, each_atom};

/// More names than this are not remembered, nor more lines. A long session has a tenth of it.
const NAMES_MAX: usize = 500_000;
const LINES_MAX: usize = 500_000;
/// The lines of files are remembered from so many bytes on.
const FILE_BYTES_MIN: usize = 256;

/// What a session has said and shown so far, as far as a model can still see it. A name that was shown
/// need not be listed, nor a line of a file be shown again in the same place; a name that somebody said is
/// one that the session is about; a file that a person named is one that will be worked on.
///
/// Names and lines are known by a hash that is the same in every run. Two of them in a hundred thousand
/// sessions may be taken for one another; what is left out for that can be read back.
#[derive(Debug, Clone, Default)]
pub struct Mentions {
    /// What was known before; shared, so that a long session is not gone through again for each turn.
    below: Option<Arc<Mentions>>,
    /// The hash of each name, with how it came up in its last two bits: a proxy holds these of many sessions.
    names: HashSet<u64, BuildHasherDefault<AsItIs>>,
    /// The places of the lines of files.
    lines: HashSet<u64, BuildHasherDefault<AsItIs>>,
}

/// Hashes what is a hash already.
#[derive(Debug, Clone, Copy, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    /// Turned, because a table looks at both ends and the last bits of a name are not its own.
    fn finish(&self) -> u64 {
        self.0.rotate_right(16)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// The closest that a session came to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum How {
    Shown = 1,
    Said = 2,
    Asked = 3,
}

impl How {
    const ALL: [Self; 3] = [Self::Asked, Self::Said, Self::Shown];

    fn of(self, name: u64) -> u64 {
        name & !3 | self as u64
    }
}

impl Mentions {
    /// What was known before, to which more can be added without changing it.
    pub fn above(below: Arc<Self>) -> Self {
        Self { below: Some(below), ..Self::default() }
    }

    /// How many bytes it takes up, without what is shared.
    pub fn bytes(&self) -> usize {
        (self.names.capacity() + self.lines.capacity()) * (size_of::<u64>() + 1)
    }

    /// Takes note of words on the user's side: a person's, or what a client says for one.
    pub fn ask(&mut self, text: &str) {
        self.note(text, How::Asked);
    }

    /// Takes note of the agent's own words.
    pub fn say(&mut self, text: &str) {
        self.note(text, How::Said);
    }

    /// Takes note of a call's arguments, as JSON or as plain text.
    pub fn say_arguments(&mut self, arguments: &str) {
        self.note(&plain_arguments(arguments), How::Said);
    }

    /// Takes note of what is shown.
    pub fn show(&mut self, text: &str) {
        self.note(text, How::Shown);
    }

    /// Takes note of what is shown of a call's result, and of where each line stands in the file that it is of.
    pub fn show_result(&mut self, tool: &str, arguments: &str, text: &str) {
        self.show(text);
        // A text with fewer bytes is never worth leaving out.
        if text.len() < FILE_BYTES_MIN {
            return;
        }
        let wish = Wish::of(tool, arguments);
        let Some(file) = wish.file() else { return };
        each_place(file, text.split('\n'), |_, place| {
            if self.lines.len() < LINES_MAX && !self.has_place(place) {
                self.lines.insert(place);
            }
        });
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.how(hash_of(name)).is_some()
    }

    pub(super) fn has_said(&self, name: &str) -> bool {
        self.how(hash_of(name)) >= Some(How::Said)
    }

    fn how(&self, name: u64) -> Option<How> {
        let below = self.below.as_ref().and_then(|below| below.how(name));
        How::ALL.into_iter().find(|how| self.names.contains(&how.of(name))).max(below)
    }

    /// Whether somebody on the user's side named a file that these arguments name.
    pub(super) fn has_asked_for(&self, arguments: &str) -> bool {
        let mut is_asked = false;
        each_atom(&plain_arguments(arguments), |atom| {
            is_asked |= atom.sort == AtomSort::Path && self.how(hash_of(atom.name)) == Some(How::Asked);
        });
        is_asked
    }

    /// Whether a line of a file was shown, behind the same lines as now.
    pub(super) fn has_place(&self, place: u64) -> bool {
        self.lines.contains(&place) || self.below.as_ref().is_some_and(|below| below.has_place(place))
    }

    fn note(&mut self, text: &str, how: How) {
        each_atom(text, |atom| {
            let name = hash_of(atom.name);
            let known = self.how(name);
            if known < Some(how) && self.names.len() < NAMES_MAX {
                known.map(|known| self.names.remove(&known.of(name)));
                self.names.insert(how.of(name));
            }
        });
    }
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// Arguments as plain text: the strings and numbers in them, each on a line of its own. In JSON a line
/// end is written with a letter, which would grow onto the name after it.
pub fn plain_arguments(arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(value @ (Value::Object(_) | Value::Array(_) | Value::String(_))) => {
            let mut out = String::new();
            collect(&value, &mut out);
            out
        }
        Ok(Value::Null | Value::Bool(_) | Value::Number(_)) | Err(_) => arguments.to_owned(),
    }
}

fn collect(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Number(number) => {
            out.push_str(&number.to_string());
            out.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, out)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, out)),
        Value::Null | Value::Bool(_) => {}
    }
}
