//! Lines of a file that the session can see already.
//!
//! Agents read the same file again and again: after an edit, or another part of it that overlaps. What
//! stands further up word for word need not be sent a second time.

use std::ops::Range;

use super::Line;
use super::mentions::Mentions;
use crate::atoms::edit_line;

/// Fewer lines in a row that were shown before are left as they are: a brace and a blank line say
/// nothing about where they come from.
const RUN_LINES_MIN: usize = 3;

/// The lines of a text that were shown before, in runs.
#[derive(Debug, Default)]
pub(super) struct Again {
    /// For each line, whether it lies in such a run.
    in_run: Vec<bool>,
    /// Bytes of these lines.
    pub(super) bytes: usize,
}

impl Again {
    pub(super) fn of(lines: &[Line<'_>], mentions: &Mentions) -> Self {
        let mut again = Self { in_run: vec![false; lines.len()], bytes: 0 };
        let (mut start, mut telling) = (0, 0);
        for (at, line) in lines.iter().enumerate() {
            match edit_line(line.text) {
                // Too short to tell: part of the run it stands in.
                None => {}
                Some(text) if mentions.has_shown_line(text) => telling += 1,
                Some(_) => {
                    again.end_run(lines, start..at, telling);
                    (start, telling) = (at + 1, 0);
                }
            }
        }
        again.end_run(lines, start..lines.len(), telling);
        again
    }

    fn end_run(&mut self, lines: &[Line<'_>], run: Range<usize>, telling: usize) {
        if telling < RUN_LINES_MIN {
            return;
        }
        self.bytes += lines[run.clone()].iter().map(|line| line.text.len() + 1).sum::<usize>();
        self.in_run[run].fill(true);
    }

    /// Whether the line at `at` was shown before.
    pub(super) fn has(&self, at: usize) -> bool {
        self.in_run.get(at) == Some(&true)
    }

    /// The runs of lines that were not shown before.
    pub(super) fn new_runs(&self) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for at in (0..self.in_run.len()).filter(|at| !self.has(*at)) {
            match runs.last_mut() {
                Some(run) if run.end == at => run.end = at + 1,
                _ => runs.push(at..at + 1),
            }
        }
        runs
    }
}
