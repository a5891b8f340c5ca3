//! Words of their own, and finds that are one only because a neighbour is taken out: of two keys that are glued together
//! the second is a word once the first is gone, and the other way round. So one pass finds all of them.

use std::collections::HashMap;
use std::ops::Range;

use super::find::{Find, MatchVerdict};

/// A find that has to be a word of its own, and is glued to something on its left, on its right or on both sides.
pub(super) struct Glued {
    pub(super) find: Find,
    pub(super) left: bool,
    pub(super) right: bool,
}

/// Adds to `finds` those that a neighbour makes a word of their own, those that these make one, and so on. Returns the
/// others, which are parts of longer words.
pub(super) fn take(mut glued: Vec<Glued>, finds: &mut Vec<Find>) -> Vec<Find> {
    let mut by_start: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut by_end: HashMap<usize, Vec<usize>> = HashMap::new();
    for (index, one) in glued.iter().enumerate() {
        if one.left {
            by_start.entry(one.find.span.start).or_default().push(index);
        }
        if one.right {
            by_end.entry(one.find.span.end).or_default().push(index);
        }
    }
    let taken = finds.iter().filter(|find| find.verdict == MatchVerdict::Taken);
    let mut neighbours: Vec<Range<usize>> = taken.map(|find| find.span.clone()).collect();
    while let Some(neighbour) = neighbours.pop() {
        let before = by_end.remove(&neighbour.start).unwrap_or_default();
        let behind = by_start.remove(&neighbour.end).unwrap_or_default();
        before.iter().for_each(|&index| glued[index].right = false);
        behind.iter().for_each(|&index| glued[index].left = false);
        let freed = before.iter().chain(&behind).map(|&index| &glued[index]).filter(|one| !one.left && !one.right);
        neighbours.extend(freed.map(|one| one.find.span.clone()));
    }
    let (words, parts): (Vec<Glued>, Vec<Glued>) = glued.into_iter().partition(|one| !one.left && !one.right);
    finds.extend(words.into_iter().map(|one| one.find));
    parts.into_iter().map(|one| one.find).collect()
}

/// Whether a word may begin here: at the start of the text, behind anything but what would make it part of a longer word
/// or of base64, or behind an escape.
pub(super) fn is_left_edge(text: &[u8], at: usize) -> bool {
    match &text[..at] {
        [] => true,
        [.., b'\\', b'n' | b'r' | b't'] => true,
        // A line that was added in a diff.
        [b'+'] | [.., b'\n', b'+'] | [.., b'\\', b'n', b'+'] => true,
        [.., b'%', a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => true,
        [.., last] => !(last.is_ascii_alphanumeric() || *last == b'+'),
    }
}

/// Whether a word may end here.
pub(super) fn is_right_edge(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|next| !(next.is_ascii_alphanumeric() || *next == b'+'))
}
