//! Outlines: of a piece that found no room, the lines that name something that nothing shown names.
//!
//! A name is often all that is needed to find the rest again: a path to read, a symbol to search for.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::choose::{length, numbers};
use super::cut_mark;
use super::lines::{Line, MARK, Numbers, Rendered, Shown};
use super::piece::Piece;
use crate::atoms::{Atom, each_atom};
use crate::fork::truncate::count;

/// Longer lines are left out: their names are not worth their length.
const LINE_CHARS_MAX: usize = 300;

/// The lines of a piece that hold new names, up to `room` characters, with a mark behind them; `None` if
/// there are none. Their names count as named from then on.
pub(super) fn outline(piece: &Piece, room: i64, shown: &Shown, named: &mut Named) -> Option<Rendered> {
    let (mut text, mut keys) = (String::new(), Vec::new());
    let (mut used, mut gap, mut kept_chars) = (0, false, 0);
    for raw in piece.text.split('\n') {
        let line = Line::of(raw, numbers(piece, Numbers::All));
        let raw_chars = count(raw);
        if raw_chars > LINE_CHARS_MAX || shown.has(line.key()) || !named.lacks_any(raw) {
            gap = true;
            continue;
        }
        let cost = length(count(line.numbered)) + if gap { 3 } else { 1 };
        if used + cost > room {
            break;
        }
        if gap {
            text.extend([MARK, "\n"]);
        }
        text.extend([line.numbered, "\n"]);
        named.add(raw);
        keys.push(line.key());
        (used, gap, kept_chars) = (used + cost, false, kept_chars + raw_chars + 1);
    }
    text.push_str(&cut_mark(piece.chars.saturating_sub(kept_chars)));
    (!keys.is_empty()).then_some(Rendered { text, keys })
}

/// The names, paths and the like ([`Atom`]) that the context has.
#[derive(Debug, Default)]
pub(super) struct Named(HashSet<u64>);

impl Named {
    /// Adds all that a text names.
    pub fn add(&mut self, text: &str) {
        each_atom(text, |atom| {
            self.0.insert(hash(atom));
        });
    }

    fn lacks_any(&self, line: &str) -> bool {
        let mut lacks = false;
        each_atom(line, |atom| lacks |= !self.0.contains(&hash(atom)));
        lacks
    }
}

fn hash(atom: Atom<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    atom.hash(&mut hasher);
    hasher.finish()
}
