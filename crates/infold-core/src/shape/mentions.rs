//! The names and the lines of files that a session has said and shown so far. Shaping uses them to choose what to
//! show of the next result.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, DefaultHasher, Hasher};
use std::sync::Arc;

use serde_json::Value;

use super::again::each_place;
use super::wish::Wish;
use crate::atoms::{AtomSort, each_atom};

/// No more names than this are remembered, and no more lines. A long session has a tenth of that.
const NAMES_MAX: usize = 500_000;
const LINES_MAX: usize = 500_000;
/// The lines of a shorter text are not remembered.
const FILE_BYTES_MIN: usize = 256;

/// What a session has said and shown so far, as far as a model can still see it. A name that was shown
/// need not be listed, nor a line of a file be shown again in the same place; a name that somebody said is
/// one that the session is about; a file that a person named is one that will be worked on.
///
/// Names and lines are remembered by a hash that is the same in every run. In a hundred thousand sessions two may be
/// mistaken for one another; what is left out because of that can be read back.
#[derive(Debug, Clone, Default)]
pub struct Mentions {
    /// What was said and shown up to an earlier turn; shared, so that a long session is not read again for each turn.
    below: Option<Arc<Mentions>>,
    /// The hash of each name, with its [`MentionKind`] in the last two bits. That is small, because a proxy holds these
    /// sets for many sessions.
    names: HashSet<u64, BuildHasherDefault<HashedAlready>>,
    /// A hash of each line of a file together with the lines before it (see `again.rs`).
    lines: HashSet<u64, BuildHasherDefault<HashedAlready>>,
}

/// A hasher for values that are hashes already, which are not hashed again.
#[derive(Debug, Clone, Copy, Default)]
struct HashedAlready(u64);

impl Hasher for HashedAlready {
    /// Rotates the value, because a table uses both ends of a hash, and the last bits of a name are its kind.
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

/// How a name came up; the strongest way counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MentionKind {
    Shown = 1,
    Said = 2,
    Asked = 3,
}

impl MentionKind {
    const ALL: [Self; 3] = [Self::Asked, Self::Said, Self::Shown];

    /// A name's hash with this kind in its last two bits.
    fn of(self, name: u64) -> u64 {
        name & !3 | self as u64
    }
}

impl Mentions {
    /// Mentions that begin with all of `below`, which is shared and stays as it is when more is added.
    pub fn above(below: Arc<Self>) -> Self {
        Self { below: Some(below), ..Self::default() }
    }

    /// About how many bytes of memory it takes, without what is shared.
    pub fn bytes(&self) -> usize {
        (self.names.capacity() + self.lines.capacity()) * (size_of::<u64>() + 1)
    }

    /// Remembers the names in words on the user's side: a person's, or what a client says for one.
    pub fn ask(&mut self, text: &str) {
        self.note(text, MentionKind::Asked);
    }

    /// Remembers the names in the agent's own words.
    pub fn say(&mut self, text: &str) {
        self.note(text, MentionKind::Said);
    }

    /// Remembers the names in a call's arguments, given as JSON or as plain text.
    pub fn say_arguments(&mut self, arguments: &str) {
        self.note(&plain_arguments(arguments), MentionKind::Said);
    }

    /// Remembers the names in a text that is shown to the model.
    pub fn show(&mut self, text: &str) {
        self.note(text, MentionKind::Shown);
    }

    /// Remembers the names in what is shown of a result and, if that is of a file, each line with those before it.
    pub fn show_result(&mut self, tool: &str, arguments: &str, text: &str) {
        self.show(text);
        // So little is never worth leaving out later.
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
        self.how(hash_of(name)) >= Some(MentionKind::Said)
    }

    fn how(&self, name: u64) -> Option<MentionKind> {
        let below = self.below.as_ref().and_then(|below| below.how(name));
        MentionKind::ALL.into_iter().find(|how| self.names.contains(&how.of(name))).max(below)
    }

    /// Whether somebody on the user's side named a file that these arguments name.
    pub(super) fn has_asked_for(&self, arguments: &str) -> bool {
        let mut is_asked = false;
        each_atom(&plain_arguments(arguments), |atom| {
            is_asked |= atom.sort == AtomSort::Path && self.how(hash_of(atom.name)) == Some(MentionKind::Asked);
        });
        is_asked
    }

    /// Whether a line of a file was shown, after the same lines as now. `place` is the hash of both.
    pub(super) fn has_place(&self, place: u64) -> bool {
        self.lines.contains(&place) || self.below.as_ref().is_some_and(|below| below.has_place(place))
    }

    fn note(&mut self, text: &str, how: MentionKind) {
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

/// Arguments as plain text: the strings and numbers in them, each on a line of its own. JSON writes a line end as `\n`,
/// and its letter would be taken for part of the name after it.
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
