//! Collects the lines of an excerpt, within a bound on their characters, and writes them out with marks at the gaps.
//!
//! Which lines are worth keeping is for `marks`, `flagged`, `odd` and `names` to say. A long line is kept in pieces.

use std::collections::BTreeMap;
use std::ops::Range;

use super::NumberedLine;
use super::kind::ResultKind;
use super::marks::head;

/// A longer line is cut to this length.
pub(super) const LINE_CHARS_MAX: usize = 300;
/// The mark for lines or characters that were left out.
const GAP: &str = "…";
/// The most characters that a gap's line takes: with the mark alone, and with the number of the next line.
const GAP_CHARS_MAX: usize = 2;
const GAP_NUMBERED_CHARS_MAX: usize = 24;
/// Longer digits before a line are not taken for its number.
const NUMBER_DIGITS_MAX: usize = 8;

/// The lines that are kept so far, and the room that is left.
pub(super) struct KeptLines<'a> {
    lines: &'a [NumberedLine<'a>],
    kind: ResultKind,
    /// What is shown of each kept line, by its index in `lines`.
    shown: BTreeMap<usize, ShownEnd>,
    left_chars: usize,
    gap_chars: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ShownEnd {
    /// The whole line, or its front if it is too long.
    Front,
    /// This many characters of its end.
    End(usize),
}

/// The characters that one rule for keeping lines may still use.
pub(super) struct CharAllowance(usize);

impl<'a> KeptLines<'a> {
    pub(super) fn new(lines: &'a [NumberedLine<'a>], kind: ResultKind, chars_max: usize) -> Self {
        let gap_chars = match kind {
            ResultKind::Search => GAP_CHARS_MAX,
            ResultKind::File | ResultKind::Text | ResultKind::Output => GAP_NUMBERED_CHARS_MAX,
        };
        Self { lines, kind, shown: BTreeMap::new(), left_chars: chars_max, gap_chars }
    }

    pub(super) fn lines(&self) -> &'a [NumberedLine<'a>] {
        self.lines
    }

    pub(super) fn kind(&self) -> ResultKind {
        self.kind
    }

    /// Whether a line is kept, and not only its end.
    pub(super) fn has(&self, at: usize) -> bool {
        self.shown.get(&at) == Some(&ShownEnd::Front)
    }

    /// An allowance of `chars_max` for one rule, or of what is left for all rules.
    pub(super) fn share(&self, chars_max: usize) -> CharAllowance {
        CharAllowance(chars_max.min(self.left_chars))
    }

    /// Keeps a run of lines if all of it fits, and returns whether it did.
    pub(super) fn take(&mut self, share: &mut CharAllowance, run: Range<usize>) -> bool {
        let new: Vec<usize> = run.filter(|at| *at < self.lines.len() && !self.has(*at)).collect();
        if new.is_empty() {
            return true;
        }
        let cost = self.gap_chars + new.iter().map(|at| self.cost(*at)).sum::<usize>();
        if cost > share.0.min(self.left_chars) {
            return false;
        }
        self.spend(share, cost);
        self.shown.extend(new.into_iter().map(|at| (at, ShownEnd::Front)));
        true
    }

    /// Keeps the line at `at` with `lines` lines on each side of it, if they fit.
    pub(super) fn around(&mut self, at: usize, lines: usize) {
        let mut share = self.share(usize::MAX);
        self.take(&mut share, at.saturating_sub(lines)..at + lines + 1);
    }

    /// A line as it is shown. The numbers that tools put before the lines of a file are left out, because they would be
    /// a quarter of the tokens; the mark before a run gives the number of its first line.
    pub(super) fn text(&self, at: usize) -> &'a str {
        text_of(&self.lines[at], self.kind)
    }

    /// Keeps as many of the last lines as fit, or the end of the last one if that is too long.
    pub(super) fn end(&mut self, chars_max: usize) {
        let mut share = self.share(chars_max);
        let Some(last) = self.lines.iter().rposition(|line| !line.text.trim().is_empty()) else { return };
        let room = share.0.saturating_sub(self.gap_chars + 2);
        if self.text(last).chars().nth(room).is_some() {
            if room > 0 {
                self.spend(&mut share, room + self.gap_chars + 2);
                self.shown.insert(last, ShownEnd::End(room));
            }
            return;
        }
        let mut first = last;
        let mut cost = self.gap_chars + self.cost(last);
        while first > 0 && cost + self.cost(first - 1) <= share.0 {
            first -= 1;
            cost += self.cost(first);
        }
        self.take(&mut share, first..last + 1);
    }

    fn cost(&self, at: usize) -> usize {
        let gaps = usize::from(self.goes_on(at)) + usize::from(self.goes_on(at + 1));
        head(self.text(at), LINE_CHARS_MAX).chars().count() + 1 + gaps
    }

    /// Whether a piece goes on with the line of the one before it.
    fn goes_on(&self, at: usize) -> bool {
        self.lines.get(at).is_some_and(|line| line.goes_on)
    }

    fn spend(&mut self, share: &mut CharAllowance, cost: usize) {
        share.0 -= cost;
        self.left_chars -= cost;
    }

    /// The kept lines in order, with a mark wherever something was left out. The mark gives the number of the next
    /// line, so that a reader can ask for the lines around it; a search's lines have their own numbers.
    pub(super) fn render(&self) -> String {
        let mut out = Vec::new();
        let mut next = 0;
        for (&at, &shown) in &self.shown {
            // A file's first line may be its hundredth, if only a part was read.
            let is_first = out.is_empty() && self.kind == ResultKind::File;
            if at != next || is_first {
                out.push(gap_before(&self.lines[at], self.kind));
            }
            let mut text = match shown {
                ShownEnd::Front if self.goes_on(at) && at != next => format!("{GAP}{}", self.text(at)),
                ShownEnd::Front => front(self.text(at)),
                ShownEnd::End(chars) => end(self.text(at), chars),
            };
            if self.goes_on(at + 1) && !self.shown.contains_key(&(at + 1)) {
                text.push_str(GAP);
            }
            match out.last_mut() {
                Some(before) if self.goes_on(at) && at == next => before.push_str(&text),
                Some(_) | None => out.push(text),
            }
            next = at + 1;
        }
        out.join("\n")
    }
}

/// Runs of whole lines, with a mark before each run that gives the number of its first line.
pub(super) fn render_runs(lines: &[NumberedLine<'_>], kind: ResultKind, runs: &[Range<usize>]) -> String {
    let mut out = Vec::new();
    for run in runs {
        out.push(gap_before(&lines[run.start], kind));
        out.extend(lines[run.clone()].iter().map(|line| text_of(line, kind).to_owned()));
    }
    out.join("\n").trim_end().to_owned()
}

fn text_of<'a>(line: &NumberedLine<'a>, kind: ResultKind) -> &'a str {
    match kind {
        ResultKind::File if line.goes_on => line.text,
        ResultKind::File => split_number(line.text).map_or(line.text, |(_, line)| line),
        ResultKind::Text | ResultKind::Search | ResultKind::Output => line.text,
    }
}

fn gap_before(line: &NumberedLine<'_>, kind: ResultKind) -> String {
    match kind {
        ResultKind::Search => GAP.to_owned(),
        ResultKind::Text | ResultKind::Output => format!("{GAP} line {}:", line.number),
        ResultKind::File => match split_number(line.text) {
            Some((number, _)) => format!("{GAP} line {number}:"),
            None => GAP.to_owned(),
        },
    }
}

/// Whether a line is a mark that something was left out.
pub(super) fn is_gap(line: &str) -> bool {
    let number = line.strip_prefix("… line ").and_then(|rest| rest.strip_suffix(':'));
    line == GAP || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Splits the number that a tool put before a line of a file from the line.
pub(super) fn split_number(line: &str) -> Option<(&str, &str)> {
    let (number, text) = line.split_once(['→', '\t'])?;
    let number = number.trim_start();
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && (1..=NUMBER_DIGITS_MAX).contains(&number.len())).then_some((number, text))
}

fn front(line: &str) -> String {
    let shown = head(line, LINE_CHARS_MAX);
    if shown.len() == line.len() { line.to_owned() } else { format!("{}{GAP}", head(line, LINE_CHARS_MAX - 1)) }
}

fn end(line: &str, chars: usize) -> String {
    let start = line.char_indices().rev().take(chars).last().map_or(line.len(), |(at, _)| at);
    format!("{GAP}{}", &line[start..])
}
