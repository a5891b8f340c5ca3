//! Files that are read again: which of their lines the conversation shows already.
//!
//! Agents read the same file again and again: after an edit, or another part of it that overlaps. What was shown of the
//! same file need not be sent a second time. A line counts as shown if it was shown after the same lines as now; so
//! where something was taken out of the file, the line after that place is new.

use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use super::kept_lines::{is_gap, split_number};
use super::mentions::Mentions;
use super::{NumberedLine, kept_lines};

/// Shorter lines occur everywhere, so they cannot identify a place in a file. They count with the next longer line.
const TELLING_BYTES_MIN: usize = 12;
/// How many long lines before a line have to be the same.
const BEFORE_LINES: usize = 2;
/// How many lines are shown after lines that are new.
const BEHIND_LINES: usize = 1;

/// Which lines of a text were shown before.
#[derive(Debug, Default)]
pub(super) struct ShownBefore {
    is_known: Vec<bool>,
    /// Bytes of the lines that were shown before.
    pub(super) bytes: usize,
}

impl ShownBefore {
    pub(super) fn of(lines: &[NumberedLine<'_>], file: &str, mentions: &Mentions) -> Self {
        let mut again = Self { is_known: vec![false; lines.len()], bytes: 0 };
        let mut from = 0;
        each_place(file, lines.iter().map(|line| line.text), |at, place| {
            if mentions.has_place(place) {
                again.is_known[from..at].fill(true);
            }
            from = at;
        });
        let known = lines.iter().zip(&again.is_known).filter(|(_, known)| **known);
        again.bytes = known.map(|(line, _)| line.text.len() + 1).sum();
        again
    }

    /// The runs of lines that were not shown before, each with enough lines around it to find its place in the file.
    pub(super) fn new_runs(&self, lines: &[NumberedLine<'_>]) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for at in (0..lines.len()).filter(|at| !self.is_known[*at]) {
            let end = (at + 1 + BEHIND_LINES).min(lines.len());
            match runs.last_mut() {
                Some(run) if run.end >= at => run.end = end,
                Some(run) => {
                    let start = before(lines, at);
                    if run.end >= start { run.end = end } else { runs.push(start..end) }
                }
                None => runs.push(before(lines, at)..end),
            }
        }
        runs
    }
}

/// Where to begin so that enough long lines come before the line at `at`.
fn before(lines: &[NumberedLine<'_>], at: usize) -> usize {
    let telling = (0..at).rev().filter(|at| is_telling(lines[*at].text));
    telling.take(BEFORE_LINES).last().unwrap_or(at)
}

/// Calls `see` for every long line of a file, with the index of the line after it and a hash that identifies its place:
/// of the line, the lines before it, and the file. The short lines at the end are passed as one.
pub(super) fn each_place<'a>(file: &str, lines: impl Iterator<Item = &'a str>, mut see: impl FnMut(usize, u64)) {
    let file = hash(&[], file);
    let mut before = [0; BEFORE_LINES];
    let (mut between, mut behind) = (0, 0);
    for (at, line) in lines.enumerate() {
        behind = at + 1;
        if is_gap(line) {
            (before, between) = ([0; BEFORE_LINES], 0);
            continue;
        }
        let bare = bare(line);
        if is_telling(line) {
            see(behind, hash(&[file, before[0], before[1], between], bare));
            (before, between) = ([before[1], hash(&[], bare)], 0);
        } else {
            between = hash(&[between], bare);
        }
    }
    see(behind, hash(&[file, before[0], before[1], between, 1], ""));
}

fn is_telling(line: &str) -> bool {
    bare(line).trim_start().len() >= TELLING_BYTES_MIN
}

/// A line without the number that a tool put before it.
fn bare(line: &str) -> &str {
    split_number(line).map_or(line, |(_, line)| line).trim_end()
}

fn hash(before: &[u64], text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    before.iter().for_each(|part| hasher.write_u64(*part));
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// The excerpt of a file that was read before: all lines that are new in it.
pub(super) fn render(lines: &[NumberedLine<'_>], kind: super::kind::ResultKind, again: &ShownBefore) -> String {
    kept_lines::render_runs(lines, kind, &again.new_runs(lines))
}
