//! What callers may write: every text that comes in is stripped of control characters and measured before anything
//! else looks at it. Taking secrets out comes after that, in `scrub`.

mod hostile;

pub use hostile::{strip_hostile, strip_hostile_in};

use crate::Refusal;

/// A text argument of a tool or of the API, and how long it may be.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The argument's name, as the caller spells it.
    pub name: &'static str,
    /// Most characters it may have.
    pub chars_max: usize,
}

impl Field {
    /// `description` of `branch_create`.
    pub const BRANCH_DESCRIPTION: Self = Self { name: "description", chars_max: 500 };
    /// `description` of `context_branch`.
    pub const CONTEXT_DESCRIPTION: Self = Self { name: "description", chars_max: 200 };
    /// What a branch is asked to do, in full.
    pub const PROMPT: Self = Self { name: "prompt", chars_max: 10_000 };
    /// What a branch hands to its parent.
    pub const MESSAGE: Self = Self { name: "message", chars_max: 50_000 };
    /// A key that makes repeating a call safe.
    pub const IDEMPOTENCY_KEY: Self = Self { name: "idempotency_key", chars_max: 128 };
    /// A project's path; it is an identifier and never opened.
    pub const PROJECT_PATH: Self = Self { name: "project_path", chars_max: 4_096 };
    /// A client's own id for a tool call, where a result is handed in.
    pub const CALL_ID: Self = Self { name: "call_id", chars_max: 200 };
    /// A tool's name, where a result is handed in.
    pub const TOOL_NAME: Self = Self { name: "tool_name", chars_max: 128 };

    /// Strips control characters, and refuses what is then empty or too long.
    pub fn clean(&self, text: &str) -> Result<String, Refusal> {
        let cleaned = strip_controls(text);
        if cleaned.trim().is_empty() {
            return Err(self.refuse("must not be empty".to_owned()));
        }
        let chars = cleaned.chars().count();
        if chars > self.chars_max {
            let chars_max = self.chars_max;
            return Err(self.refuse(format!("has {chars} characters, at most {chars_max} are allowed: shorten it")));
        }
        Ok(cleaned)
    }

    /// A refusal that names this field.
    pub fn refuse(&self, problem: String) -> Refusal {
        Refusal::Invalid { field: self.name, problem }
    }
}

/// Takes out control characters (line feed and tab stay) and the marks that reorder text on screen.
pub fn strip_controls(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let reorders = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !(c.is_control() || reorders(*c))).collect()
}

/// Whether a text is of printable ASCII, line feeds and tabs: most texts are, and this is seen many bytes at a time.
fn is_plain(text: &str) -> bool {
    let is_plain = |byte: &u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
    text.as_bytes().chunks(64).all(|bytes| bytes.iter().fold(true, |all, byte| all & is_plain(byte)))
}

/// Normalises a project's path: absolute, no empty, `.` or `..` parts, no slash at the end.
///
/// Only the text is looked at. Following links would make the answer depend on the disk, and an
/// identifier must not.
pub fn normalise_project_path(path: &str) -> Result<String, Refusal> {
    let field = Field::PROJECT_PATH;
    if path != strip_controls(path) || path.contains(['\n', '\t']) {
        return Err(field.refuse("contains control characters: pass the project's plain path".to_owned()));
    }
    let path = field.clean(path)?.replace('\\', "/");
    let is_drive = |part: &str| part.len() == 2 && part.ends_with(':') && part.as_bytes()[0].is_ascii_alphabetic();
    let absolute = path.starts_with('/') || path.split('/').next().is_some_and(is_drive);
    if !absolute {
        return Err(field.refuse("must be absolute, as in /home/me/project".to_owned()));
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    Ok(format!("/{}", parts.join("/")))
}

#[cfg(test)]
mod tests;
