//! Where tools work: the fence around their folder, their limits, and how commands are run.

use infold_core::Scrubber;

use super::fence::Fence;
use super::shell::ShellSetup;

/// Where tools work, and within which bounds.
pub struct Workplace {
    /// The folder that tools work in, and what lies inside of the fence beside it.
    pub fence: Fence,
    /// The bounds of what a call may read and say.
    pub limits: ToolLimits,
    /// How commands are run.
    pub shell: ShellSetup,
    /// What recognises infold's own placeholders. Without it, everything that looks like a placeholder counts as one.
    pub scrubber: Option<Scrubber>,
}

/// The bounds of what a call may read and say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolLimits {
    /// Lines that one read shows.
    pub read_lines_max: usize,
    /// Bytes that one read, listing or search shows.
    pub shown_bytes_max: usize,
    /// Bytes of one line that are shown.
    pub line_bytes_max: usize,
    /// Bytes of a file that is read, searched or edited.
    pub file_bytes_max: u64,
    /// Entries that one listing shows.
    pub list_entries_max: usize,
    /// Lines that one search shows.
    pub search_lines_max: usize,
    /// Files that one search reads.
    pub search_files_max: usize,
    /// Bytes of a command's output that are shown.
    pub shell_bytes_max: usize,
    /// The time limit of a command that sets none.
    pub shell_usual_seconds: u64,
    /// The longest time limit of a command.
    pub shell_seconds_max: u64,
}

/// The start of a line that is too long to be shown, cut between two characters, with what was left out.
pub(super) fn shortened(line: &str, bytes_max: usize) -> String {
    if line.len() <= bytes_max {
        return line.to_owned();
    }
    let end = line.floor_char_boundary(bytes_max);
    format!("{} [{} more bytes in this line]", &line[..end], line.len() - end)
}
