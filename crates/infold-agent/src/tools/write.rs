//! `write`: a whole file, put in place in one step.

#[cfg(test)]
mod tests;

use super::arguments::WriteCall;
use super::planned::PlannedChange;
use super::{ToolOutput, Workplace};

/// Writes a file.
pub(super) fn run(call: &WriteCall, workplace: &Workplace) -> Result<ToolOutput, String> {
    let _alone = workplace.fence.changing();
    planned(call, workplace)?.make(&workplace.fence)
}

/// What writing it would do.
pub(super) fn planned(call: &WriteCall, workplace: &Workplace) -> Result<PlannedChange, String> {
    let fence = &workplace.fence;
    let said = |error: super::fence::FenceError| error.to_string();
    let place = fence.place(&call.path).map_err(said)?;
    fence.may_write(&place).map_err(said)?;
    let old = fence.old_file(&place, workplace.limits.file_bytes_max).map_err(said)?;

    let (path, lines) = (place.shown(), call.content.lines().count());
    let words = match &old {
        None => format!("created {path}, {lines} lines"),
        Some(old) if old.bytes == call.content.as_bytes() => format!("{path} has had this text already, {lines} lines"),
        Some(old) => {
            let before = String::from_utf8_lossy(&old.bytes).lines().count();
            format!("overwrote {path}: {before} lines before, {lines} now")
        }
    };
    Ok(PlannedChange { place, old, after: call.content.clone(), words })
}
