//! Patterns of clients, cut down to tools of one server: what is left of a pattern behind the part of a name that is
//! known.

#[cfg(test)]
mod tests;

/// What a pattern says about names that begin with `prefix`, as patterns of the rest. There are several where a `*` may
/// end within the prefix or go on behind it; none if no such name fits.
pub fn behind(pattern: &str, prefix: &str) -> Vec<String> {
    let pattern: Vec<char> = pattern.chars().collect();
    let mut places = with_skipped(&pattern, vec![0]);
    for wanted in prefix.chars() {
        let next = places.iter().filter_map(|at| match pattern.get(*at) {
            Some('*') => Some(*at),
            Some('?') => Some(at + 1),
            Some(found) if *found == wanted => Some(at + 1),
            Some(_) | None => None,
        });
        places = with_skipped(&pattern, next.collect());
    }
    let mut rests: Vec<String> = places.iter().map(|at| pattern[*at..].iter().collect()).collect();
    // A tool has a name, so what fits only the empty one says nothing; and one pattern may make another needless.
    rests.retain(|rest| !rest.is_empty());
    let is_needless = |at: usize, rest: &String| {
        let mut others = rests.iter().enumerate();
        others.any(|(other, wide)| other != at && covers(wide, rest) && (other < at || !covers(rest, wide)))
    };
    let needed = rests.iter().enumerate().filter(|(at, rest)| !is_needless(*at, rest));
    needed.map(|(_, rest)| rest.clone()).collect()
}

/// Whether every name that fits `narrow` fits `wide` too.
pub fn covers(wide: &str, narrow: &str) -> bool {
    let pattern: Vec<char> = wide.chars().collect();
    let mut places = with_skipped(&pattern, vec![0]);
    for found in narrow.chars() {
        let next = places.iter().filter_map(|at| match pattern.get(*at) {
            Some('*') => Some(*at),
            Some(wanted) if *wanted == found && found != '*' => Some(at + 1),
            Some(_) | None => None,
        });
        places = with_skipped(&pattern, next.collect());
    }
    places.contains(&pattern.len())
}

/// The places, and those behind each `*` among them, which may fit nothing; each once.
fn with_skipped(pattern: &[char], places: Vec<usize>) -> Vec<usize> {
    let mut all: Vec<usize> = Vec::new();
    for place in places {
        let stars = pattern[place..].iter().take_while(|c| **c == '*').count();
        for at in place..=place + stars {
            if !all.contains(&at) {
                all.push(at);
            }
        }
    }
    all
}
