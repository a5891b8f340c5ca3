//! Finds lines that differ from a text only in white space, and replaces them.

/// Lines that match loosely.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LooseMatch {
    /// Counted from 1.
    pub(super) first_line: usize,
    /// Counted from 1, included.
    pub(super) last_line: usize,
    /// How the indentation of the file differs from that of the given text.
    shift: Shift,
}

/// How the indentation of all lines differs.
#[derive(Debug, PartialEq, Eq)]
enum Shift {
    /// The file has this in front of what was given.
    More(String),
    /// What was given has this in front of what the file has.
    Less(String),
    /// There is no one rule for all lines.
    Other,
}

/// The places where lines of `text` are those of `old`, apart from white space. White space alone matches nothing.
pub(super) fn matches(text: &str, old: &str) -> Vec<LooseMatch> {
    let wanted: Vec<&str> = without_blank_ends(old);
    if wanted.is_empty() {
        return Vec::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    let plain: Vec<String> = lines.iter().map(|line| plain(line)).collect();
    let wanted_plain: Vec<String> = wanted.iter().map(|line| self::plain(line)).collect();
    let windows = plain.windows(wanted.len()).enumerate();
    let found = windows.filter(|(_, window)| *window == wanted_plain.as_slice());
    found
        .map(|(at, _)| LooseMatch {
            first_line: at + 1,
            last_line: at + wanted.len(),
            shift: shift(&wanted, &lines[at..at + wanted.len()]),
        })
        .collect()
}

impl LooseMatch {
    /// The text with these lines replaced. `new` gets the file's indentation and line ends.
    pub(super) fn replaced(&self, text: &str, new: &str) -> String {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let (before, rest) = lines.split_at(self.first_line - 1);
        let (taken_out, after) = rest.split_at(self.last_line + 1 - self.first_line);
        let end = |line: &&str| line[line.trim_end_matches(['\r', '\n']).len()..].to_owned();
        let first_end = taken_out.first().map(end).filter(|end| !end.is_empty()).unwrap_or_else(|| "\n".to_owned());
        let last_end = taken_out.last().map(end).unwrap_or_default();
        let new: Vec<String> = without_blank_ends(new).iter().map(|line| self.shift.applied(line)).collect();
        let mut replaced = before.concat();
        if !new.is_empty() {
            replaced.push_str(&new.join(&first_end));
            replaced.push_str(&last_end);
        }
        replaced.push_str(&after.concat());
        replaced
    }
}

impl Shift {
    fn applied(&self, line: &str) -> String {
        match self {
            Self::More(_) if line.trim().is_empty() => line.to_owned(),
            Self::More(front) => format!("{front}{line}"),
            Self::Less(front) => line.strip_prefix(front.as_str()).unwrap_or(line).to_owned(),
            Self::Other => line.to_owned(),
        }
    }
}

/// A line without white space at its ends, and with single spaces inside.
fn plain(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The lines of a text, from the first to the last that is not blank.
fn without_blank_ends(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let is_full = |line: &&str| !line.trim().is_empty();
    let Some(first) = lines.iter().position(is_full) else { return Vec::new() };
    let last = lines.iter().rposition(is_full).unwrap_or(first);
    lines[first..=last].to_vec()
}

fn shift(given: &[&str], in_file: &[&str]) -> Shift {
    let pairs = || given.iter().zip(in_file).filter(|(line, _)| !line.trim().is_empty());
    let Some((first_given, first_in_file)) = pairs().next() else { return Shift::Other };
    let (ours, theirs) = (indentation(first_in_file), indentation(first_given));
    if let Some(front) = ours.strip_suffix(theirs) {
        let fits = |(given, file): (&&str, &&str)| indentation(file) == format!("{front}{}", indentation(given));
        if pairs().all(fits) {
            return Shift::More(front.to_owned());
        }
    }
    if let Some(front) = theirs.strip_suffix(ours) {
        let fits = |(given, file): (&&str, &&str)| indentation(given) == format!("{front}{}", indentation(file));
        if pairs().all(fits) {
            return Shift::Less(front.to_owned());
        }
    }
    Shift::Other
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}
