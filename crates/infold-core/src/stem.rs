//! Porter's stemmer: `connected`, `connecting` and `connections` all become `connect`.
//!
//! As published in 1980 ("An algorithm for suffix stripping"), which is two pages and has not changed since; so it is here,
//! and not a dependency. A stem need not be a word: it only has to be the same for a query and for what it is to find.

/// A shorter word has no ending.
const WORD_BYTES_MIN: usize = 3;

/// An ending, and what it becomes. In each table a longer ending is before every shorter one that it ends with.
type WordEnding = (&'static str, &'static str);

const PLURALS: [WordEnding; 4] = [("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")];

const DOUBLE_ENDINGS: [WordEnding; 20] = [
    ("ational", "ate"),
    ("ization", "ize"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("tional", "tion"),
    ("biliti", "ble"),
    ("entli", "ent"),
    ("ousli", "ous"),
    ("ation", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("ator", "ate"),
    ("eli", "e"),
];

const MIDDLE_ENDINGS: [WordEnding; 7] =
    [("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ness", ""), ("ful", "")];

const LAST_ENDINGS: [WordEnding; 19] = [
    ("ement", ""),
    ("ance", ""),
    ("ence", ""),
    ("able", ""),
    ("ible", ""),
    ("ment", ""),
    ("ant", ""),
    ("ent", ""),
    ("ism", ""),
    ("ate", ""),
    ("ion", ""),
    ("iti", ""),
    ("ous", ""),
    ("ive", ""),
    ("ize", ""),
    ("al", ""),
    ("er", ""),
    ("ic", ""),
    ("ou", ""),
];

/// Takes the endings off a word in lower case. Words with other letters than English ones are left as they are.
pub(crate) fn stem(word: &mut String) {
    if word.len() < WORD_BYTES_MIN || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    replace(word, &PLURALS, |_| true);
    take_off_past_and_ing(word);
    if word.strip_suffix('y').is_some_and(has_vowel) {
        word.pop();
        word.push('i');
    }
    replace(word, &DOUBLE_ENDINGS, |stem| syllables(stem) > 0);
    replace(word, &MIDDLE_ENDINGS, |stem| syllables(stem) > 0);
    take_off_last(word);
    tidy_end(word);
}

/// Replaces the longest ending that the word has, if what is before it `fits`.
fn replace(word: &mut String, endings: &[WordEnding], fits: impl Fn(&str) -> bool) {
    let Some((ending, instead)) = endings.iter().find(|(ending, _)| word.ends_with(ending)) else { return };
    let stem_bytes = word.len() - ending.len();
    if fits(&word[..stem_bytes]) {
        word.truncate(stem_bytes);
        word.push_str(instead);
    }
}

fn take_off_past_and_ing(word: &mut String) {
    if let Some(stem) = word.strip_suffix("eed") {
        if syllables(stem) > 0 {
            word.pop();
        }
        return;
    }
    let Some(stem) = word.strip_suffix("ed").or_else(|| word.strip_suffix("ing")) else { return };
    if !has_vowel(stem) {
        return;
    }
    word.truncate(stem.len());
    // What is left gets back the `e` that it had, or loses the letter that was doubled.
    let lost_e = ["at", "bl", "iz"].iter().any(|end| word.ends_with(end));
    if lost_e || (syllables(word) == 1 && ends_short(word)) {
        word.push('e');
    } else if ends_doubled(word) && !word.ends_with(['l', 's', 'z']) {
        word.pop();
    }
}

fn take_off_last(word: &mut String) {
    if word.strip_suffix("ion").is_some_and(|stem| !stem.ends_with(['s', 't'])) {
        return;
    }
    replace(word, &LAST_ENDINGS, |stem| syllables(stem) > 1);
}

fn tidy_end(word: &mut String) {
    if let Some(stem) = word.strip_suffix('e') {
        let syllables = syllables(stem);
        if syllables > 1 || (syllables == 1 && !ends_short(stem)) {
            word.pop();
        }
    }
    if word.ends_with("ll") && syllables(word) > 1 {
        word.pop();
    }
}

fn is_consonant(word: &[u8], at: usize) -> bool {
    match word[at] {
        b'a' | b'e' | b'i' | b'o' | b'u' => false,
        b'y' => at == 0 || !is_consonant(word, at - 1),
        _ => true,
    }
}

fn has_vowel(word: &str) -> bool {
    (0..word.len()).any(|at| !is_consonant(word.as_bytes(), at))
}

/// How often a consonant follows a vowel: about the number of syllables that end in a consonant.
fn syllables(word: &str) -> usize {
    let word = word.as_bytes();
    (1..word.len()).filter(|at| is_consonant(word, *at) && !is_consonant(word, at - 1)).count()
}

fn ends_doubled(word: &str) -> bool {
    match word.as_bytes() {
        [.., before, last] => before == last && is_consonant(word.as_bytes(), word.len() - 1),
        _ => false,
    }
}

/// Whether it ends in consonant, vowel, consonant, as words do that lost an `e`: `hop` from `hoping`.
fn ends_short(word: &str) -> bool {
    let Some(first) = word.len().checked_sub(3) else { return false };
    let is_consonant = |at| is_consonant(word.as_bytes(), first + at);
    is_consonant(0) && !is_consonant(1) && is_consonant(2) && !word.ends_with(['w', 'x', 'y'])
}

#[cfg(test)]
mod tests;
