//! `edit`: replaces a part of a file.
//!
//! The text is looked for as it was given. If it is not there, but lines are that differ from it only in white space, and
//! only once, they are replaced, and the answer says so. If there are none either, the answer shows what comes nearest.

mod loose;
mod nearest;

#[cfg(test)]
mod tests;

use super::arguments::{EditCall, Places};
use super::planned::PlannedChange;
use super::read::is_binary;
use super::workplace::shortened;
use super::{ToolLimits, ToolOutput, Workplace};

/// Places that a refusal names.
const PLACES_SHOWN_MAX: usize = 20;

/// Replaces a part of a file.
pub(super) fn run(call: &EditCall, workplace: &Workplace) -> Result<ToolOutput, String> {
    let _alone = workplace.fence.changing();
    planned(call, workplace)?.make(&workplace.fence)
}

/// What replacing it would do.
pub(super) fn planned(call: &EditCall, workplace: &Workplace) -> Result<PlannedChange, String> {
    let fence = &workplace.fence;
    let said = |error: super::fence::FenceError| error.to_string();
    let place = fence.place(&call.path).map_err(said)?;
    fence.may_write(&place).map_err(said)?;
    let old = fence.old_file(&place, workplace.limits.file_bytes_max).map_err(said)?;
    let Some(old) = old else {
        return Err(format!("{} does not exist: make it with `write`", place.shown()));
    };
    let text = std::str::from_utf8(&old.bytes).ok().filter(|text| !is_binary(text.as_bytes()));
    let Some(text) = text else {
        return Err(format!("{} is not UTF-8 text, and cannot be edited", place.shown()));
    };

    let edited = edited(text, call, &workplace.limits).map_err(|why| format!("{}: {why}", place.shown()))?;

    let words = format!("edited {}{}", place.shown(), edited.remark);
    Ok(PlannedChange { place, old: Some(old), after: edited.text, words })
}

/// A file's new text, and what is said about how it came to be.
struct Edited {
    text: String,
    remark: String,
}

fn edited(text: &str, call: &EditCall, limits: &ToolLimits) -> Result<Edited, String> {
    let places: Vec<usize> = text.match_indices(&call.old).map(|(at, _)| at).collect();
    match (places.as_slice(), call.places) {
        ([], _) => loosely(text, call, limits),
        ([at], _) => {
            let remark = format!(", at line {}", line_of(text, *at));
            Ok(Edited { text: text.replacen(&call.old, &call.new, 1), remark })
        }
        (several, Places::All) => {
            let remark = format!(", in {} places: lines {}", several.len(), lines_of(text, several));
            Ok(Edited { text: text.replace(&call.old, &call.new), remark })
        }
        (several, Places::One) => Err(format!(
            "nothing was changed, because `old` occurs {} times, at lines {}: give more of the lines around the one \
             that you mean, or set `replace_all`",
            several.len(),
            lines_of(text, several)
        )),
    }
}

fn loosely(text: &str, call: &EditCall, limits: &ToolLimits) -> Result<Edited, String> {
    match loose::matches(text, &call.old).as_slice() {
        [] => Err(nothing_found(text, call, limits)),
        [found] => {
            let (first, last) = (found.first_line, found.last_line);
            let replaced = found.replaced(text, &call.new);
            let shown = numbered(text, first, last, limits);
            let remark = format!(
                ", but `old` matched only loosely: white space differs. Lines {first} to {last} were replaced; they \
                 were:\n{shown}Read the file again if its indentation matters."
            );
            Ok(Edited { text: replaced, remark })
        }
        several => {
            let lines: Vec<String> = several.iter().map(|found| found.first_line.to_string()).collect();
            Err(format!(
                "nothing was changed: `old` is not in the file as it was given, and matches loosely {} times, at \
                 lines {}. Give it exactly as the file has it.",
                several.len(),
                lines.join(", ")
            ))
        }
    }
}

fn nothing_found(text: &str, call: &EditCall, limits: &ToolLimits) -> String {
    let said = "nothing was changed: `old` is not in the file.";
    match nearest::lines(text, &call.old) {
        Some((first, last)) => {
            format!("{said} The nearest lines are:\n{}", numbered(text, first, last, limits))
        }
        None => format!("{said} No line of the file is like it: read the file again"),
    }
}

/// Lines of a text with their numbers, both ends included.
fn numbered(text: &str, first: usize, last: usize, limits: &ToolLimits) -> String {
    let mut shown = String::new();
    for (index, line) in text.lines().enumerate().skip(first - 1).take(last + 1 - first) {
        let line = format!("{:>6}\t{}\n", index + 1, shortened(line, limits.line_bytes_max));
        if shown.len() + line.len() > limits.shown_bytes_max {
            shown.push_str(&format!("[lines {} to {last} are left out: use `read`]\n", index + 1));
            break;
        }
        shown.push_str(&line);
    }
    shown
}

/// The number of the line that a place in a text lies in.
fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

fn lines_of(text: &str, places: &[usize]) -> String {
    let lines: Vec<String> = places.iter().take(PLACES_SHOWN_MAX).map(|at| line_of(text, *at).to_string()).collect();
    let more = places.len().saturating_sub(PLACES_SHOWN_MAX);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", lines.join(", "))
}
