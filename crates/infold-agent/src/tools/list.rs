//! `list`: the files below a folder as a tree, without those that git ignores.

#[cfg(test)]
mod tests;

use std::path::Path;

use ignore::{DirEntry, WalkBuilder};
use tokio_util::sync::CancellationToken;

use super::arguments::ListCall;
use super::{ToolOutput, Workplace};

/// Git's own folder, which is never of interest.
const GIT_FOLDER: &str = ".git";

/// Shows the files below a folder.
pub(super) fn run(call: &ListCall, workplace: &Workplace, cancelled: &CancellationToken) -> Result<ToolOutput, String> {
    let limits = &workplace.limits;
    let place = workplace.fence.place(&call.path).map_err(|error| error.to_string())?;
    let folder = workplace.fence.whole(&place);
    if !folder.is_dir() {
        let what = if folder.exists() { "is not a folder: use `read`" } else { "does not exist" };
        return Err(format!("{} {what}", place.shown()));
    }
    let mut text = String::new();
    let (mut shown, mut left_out) = (0_usize, 0_usize);
    let mut walk = walker(&folder);
    for entry in walk.max_depth(call.depth).build().flatten().skip(1) {
        if cancelled.is_cancelled() {
            return Err("cancelled".to_owned());
        }
        let line = line(&entry);
        if shown == limits.list_entries_max || text.len() + line.len() > limits.shown_bytes_max {
            left_out += 1;
            continue;
        }
        text.push_str(&line);
        shown += 1;
    }
    if shown == 0 {
        text.push_str("[no files, apart from those that git ignores]\n");
    }
    if left_out > 0 {
        let hint = "list a folder of it, or give a smaller `depth`";
        text.push_str(&format!("[{left_out} more entries are left out: {hint}]\n"));
    }
    Ok(ToolOutput::said(text))
}

/// A walk through a folder, in the order of names, that follows no link and leaves out what git ignores.
pub(super) fn walker(folder: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(folder);
    walk.hidden(false).require_git(false).follow_links(false).sort_by_file_name(std::ffi::OsStr::cmp);
    walk.filter_entry(|entry| entry.depth() == 0 || entry.file_name() != GIT_FOLDER);
    walk
}

fn line(entry: &DirEntry) -> String {
    let indent = "  ".repeat(entry.depth().saturating_sub(1));
    let name = entry.file_name().to_string_lossy();
    let kind = entry.file_type();
    let target = || std::fs::read_link(entry.path()).map_or_else(|_| "?".to_owned(), |to| to.display().to_string());
    let sign = match kind {
        Some(kind) if kind.is_dir() => "/".to_owned(),
        Some(kind) if kind.is_symlink() => format!(" -> {}", target()),
        Some(_) | None => String::new(),
    };
    format!("{indent}{name}{sign}\n")
}
