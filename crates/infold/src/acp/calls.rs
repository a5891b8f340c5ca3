//! How a call is shown in an editor: what kind of thing it is, a title, the places in files, and what changed.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{Diff, ToolCallContent, ToolCallLocation, ToolKind};
use infold_agent::tools::{FileTexts, LocalTool};
use serde_json::Value;

use crate::draw::one_line;

/// Characters of a title.
const TITLE_CHARS_MAX: usize = 120;
/// Bytes of a file before and after a change up to which the change is shown.
const DIFF_BYTES_MAX: usize = 1 << 20;

/// The kind of a tool. Of tools of other servers nothing is known but the name.
pub fn kind(tool: &str) -> ToolKind {
    match LocalTool::named(tool) {
        Some(LocalTool::Read) => ToolKind::Read,
        Some(LocalTool::Write | LocalTool::Edit) => ToolKind::Edit,
        Some(LocalTool::List | LocalTool::Search) => ToolKind::Search,
        Some(LocalTool::Shell) => ToolKind::Execute,
        None => match tool {
            "branch_create" | "branch_return" | "notes" | "skill" | "compact_context" => ToolKind::Think,
            "read_result" | "tool_call_read" => ToolKind::Read,
            "tool_search" => ToolKind::Search,
            other if other.contains("fetch") => ToolKind::Fetch,
            other if other.contains("search") => ToolKind::Search,
            _ => ToolKind::Other,
        },
    }
}

/// The title of a call.
pub fn title(tool: &str, arguments: &Value) -> String {
    let text = |name: &str| arguments[name].as_str().unwrap_or_default();
    let within = |words: String| match text("path") {
        "" => words,
        path => format!("{words} in {path}"),
    };
    let title = match (LocalTool::named(tool), tool) {
        (Some(LocalTool::Read), _) => format!("Read {}", text("path")),
        (Some(LocalTool::Write), _) => format!("Write {}", text("path")),
        (Some(LocalTool::Edit), _) => format!("Edit {}", text("path")),
        (Some(LocalTool::List), _) => within("List files".to_owned()),
        (Some(LocalTool::Search), _) => within(format!("Search for `{}`", text("pattern"))),
        (Some(LocalTool::Shell), _) => format!("`{}`", text("command")),
        (None, "branch_create") => format!("Branch: {}", text("description")),
        (None, "branch_return") => "Return from the branch".to_owned(),
        (None, "read_result") => "Read a stored result".to_owned(),
        (None, "compact_context") => "Compact the context".to_owned(),
        (None, "notes") => "Keep notes".to_owned(),
        (None, "skill") => format!("Skill: {}", text("name")),
        (None, other) => other.to_owned(),
    };
    let line = one_line(&title);
    match line.char_indices().nth(TITLE_CHARS_MAX) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

/// The file that a call is about, and the line.
pub fn places(tool: &str, arguments: &Value, folder: &Path) -> Vec<ToolCallLocation> {
    let Some(tool) = LocalTool::named(tool) else { return Vec::new() };
    let Some(path) = arguments["path"].as_str() else { return Vec::new() };
    let line = match tool {
        LocalTool::Read => arguments["offset"].as_u64().and_then(|line| u32::try_from(line).ok()),
        LocalTool::Write | LocalTool::Edit => None,
        // A folder is no place that an editor could show.
        LocalTool::List | LocalTool::Search | LocalTool::Shell => return Vec::new(),
    };
    vec![ToolCallLocation::new(whole(path, folder)).line(line)]
}

/// The places of changes: where each file differs first.
pub fn changed_places(edited: &[FileTexts], folder: &Path) -> Vec<ToolCallLocation> {
    let place = |file: &FileTexts| ToolCallLocation::new(whole(&file.path, folder)).line(first_difference(file));
    edited.iter().map(place).collect()
}

fn first_difference(file: &FileTexts) -> Option<u32> {
    let before = file.before.as_deref().unwrap_or_default();
    let same = before.lines().zip(file.after.lines()).take_while(|(before, after)| before == after).count();
    u32::try_from(same + 1).ok()
}

/// Changes of files, each with the text before and after.
pub fn diffs(edited: &[FileTexts], folder: &Path) -> Vec<ToolCallContent> {
    edited.iter().map(|file| diff(file, folder)).collect()
}

fn diff(file: &FileTexts, folder: &Path) -> ToolCallContent {
    let bytes = file.before.as_ref().map_or(0, String::len) + file.after.len();
    if bytes > DIFF_BYTES_MAX {
        return format!("{} is too long for its change to be shown here", file.path).into();
    }
    Diff::new(whole(&file.path, folder), file.after.clone()).old_text(file.before.clone()).into()
}

fn whole(path: &str, folder: &Path) -> PathBuf {
    folder.join(path)
}

/// A text as it is, for those that read Markdown.
pub fn fenced(text: &str) -> String {
    let runs = text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(runs.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}")
}

#[cfg(test)]
mod tests;
