//! Patterns with jokers, compared with the whole of a name. The work is bounded by the product of both lengths.

/// Which characters of a pattern are jokers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joker {
    /// `*` is any text.
    Any,
    /// `*` is any text and `?` one character.
    AnyOrOne,
}

/// Whether a name fits a pattern from its beginning to its end.
pub fn fits_glob(pattern: &str, name: &str, joker: Joker) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut name_at) = (0, 0);
    // Where the last `*` is, and how much of the name it takes so far.
    let mut star: Option<(usize, usize)> = None;
    while name_at < name.len() {
        let expected = pattern.get(at).copied();
        if expected == Some('*') {
            star = Some((at, name_at));
            at += 1;
        } else if expected == Some(name[name_at]) || (expected == Some('?') && joker == Joker::AnyOrOne) {
            at += 1;
            name_at += 1;
        } else if let Some((star_at, taken)) = star {
            star = Some((star_at, taken + 1));
            at = star_at + 1;
            name_at = taken + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}
