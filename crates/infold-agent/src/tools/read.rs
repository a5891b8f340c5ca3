//! `read`: lines of a file, with their numbers.

#[cfg(test)]
mod tests;

use std::io::Read;

use super::arguments::ReadCall;
use super::workplace::shortened;
use super::{ToolLimits, ToolOutput, Workplace};

/// Bytes at a file's start in which a zero byte means that it is no text.
const BINARY_LOOK_BYTES: usize = 8192;

/// Shows lines of a file.
pub(super) fn run(call: &ReadCall, workplace: &Workplace) -> Result<ToolOutput, String> {
    let limits = &workplace.limits;
    let place = workplace.fence.place(&call.path).map_err(|error| error.to_string())?;
    let (file, bytes) = workplace.fence.open(&place).map_err(|error| match error {
        super::fence::FenceError::NoFile { what: "a folder", .. } => format!("{error}: use `list`"),
        error => error.to_string(),
    })?;
    if bytes > limits.file_bytes_max {
        return Err(format!(
            "{} has {bytes} bytes; `read` takes {}: use `search`, or `shell` with `sed -n '1,200p'`",
            place.shown(),
            limits.file_bytes_max
        ));
    }
    let mut content = Vec::new();
    // It may have grown since; then what was added is left out, and the next read shows it.
    file.take(limits.file_bytes_max)
        .read_to_end(&mut content)
        .map_err(|error| format!("{}: {error}", place.shown()))?;
    if is_binary(&content) {
        return Err(format!("{} is a binary file of {} bytes, and has no lines to show", place.shown(), content.len()));
    }
    shown(&content, call, limits).map(ToolOutput::said)
}

/// Whether bytes are no text, by the sign that git uses as well.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(BINARY_LOOK_BYTES).any(|byte| *byte == 0)
}

fn shown(content: &[u8], call: &ReadCall, limits: &ToolLimits) -> Result<String, String> {
    let text = String::from_utf8_lossy(content);
    let total = text.lines().count();
    if total == 0 {
        return Ok("[the file is empty]".to_owned());
    }
    if call.offset_line > total {
        return Err(format!("the file has {total} lines: `offset` {} is behind its end", call.offset_line));
    }
    let lines_max = call.lines.unwrap_or(limits.read_lines_max).min(limits.read_lines_max);
    let bytes_max = call.bytes_max.unwrap_or(limits.shown_bytes_max).min(limits.shown_bytes_max);
    let mut said = String::new();
    let mut last = call.offset_line - 1;
    for (index, line) in text.lines().enumerate().skip(call.offset_line - 1).take(lines_max) {
        let line = format!("{:>6}\t{}\n", index + 1, shortened(line, limits.line_bytes_max));
        // One line is always shown, so that reading on comes to an end.
        if !said.is_empty() && said.len() + line.len() > bytes_max {
            break;
        }
        said.push_str(&line);
        last = index + 1;
    }
    if matches!(text, std::borrow::Cow::Owned(_)) {
        said.push_str("[some bytes are not UTF-8, and are shown as \u{fffd}]\n");
    }
    if last < total {
        let next = last + 1;
        said.push_str(&format!("[lines {} to {last} of {total}; read on with offset {next}]\n", call.offset_line));
    }
    Ok(said)
}
