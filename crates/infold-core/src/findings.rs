//! What a branch has seen so far, small enough to be part of its stored record.
//!
//! A branch that runs out of budget or time still owes its parent an answer. That answer is put together
//! mechanically from what is kept here: the agent's last words where its answers went through the proxy, tools
//! called, files touched, the last call and its result. All of it was scrubbed when it was first seen.

use serde::{Deserialize, Serialize};

use crate::{BlobId, Branch, EndReason, Operation, Scrubbed};

const TOOLS_MAX: usize = 12;
const FILES_MAX: usize = 24;
const FILE_CHARS_MAX: usize = 200;
const CALL_CHARS_MAX: usize = 300;
const RESULT_CHARS_MAX: usize = 600;
/// Characters that are kept of the agent's last words, counted from their end.
const WORDS_CHARS_MAX: usize = 1_000;

/// Fields of a call's arguments that name a file.
pub(crate) const FILE_FIELDS: [&str; 6] = ["path", "file_path", "file", "filename", "filePath", "notebook_path"];

/// How often a tool was called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The tool's name as the client spells it.
    pub tool: Scrubbed,
    /// How often the branch called it.
    pub calls: u64,
}

/// What a branch has seen so far. Every list is bounded; what no longer fits is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// The end of what the agent said last.
    #[serde(default, skip_serializing_if = "Scrubbed::is_empty")]
    pub last_words: Scrubbed,
    /// Tools called, in the order of their first call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolUse>,
    /// Files named in arguments, in the order of their first mention.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Scrubbed>,
    /// The head of the last call's arguments.
    #[serde(default, skip_serializing_if = "Scrubbed::is_empty")]
    pub last_call: Scrubbed,
    /// The head of the last result.
    #[serde(default, skip_serializing_if = "Scrubbed::is_empty")]
    pub last_result: Scrubbed,
    /// The handle of the result that did not fit the budget any more, if there was one and it was offloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<BlobId>,
}

impl Findings {
    /// Adds a call and its result.
    pub fn note(&mut self, operation: &Operation) {
        let has_room = self.tools.len() < TOOLS_MAX;
        match self.tools.iter_mut().find(|seen| seen.tool == operation.tool) {
            Some(seen) => seen.calls += 1,
            None if has_room => self.tools.push(ToolUse { tool: operation.tool.clone(), calls: 1 }),
            None => {}
        }
        for file in files_named(&operation.arguments) {
            if self.files.len() < FILES_MAX && !self.files.contains(&file) {
                self.files.push(file);
            }
        }
        self.last_call = operation.arguments.head_chars(CALL_CHARS_MAX);
        self.last_result = operation.result.head_chars(RESULT_CHARS_MAX);
    }
}

impl Findings {
    /// Remembers, as the last call and result, what a branch below was for and what it handed back.
    pub fn note_returned(&mut self, description: &Scrubbed, message: &Scrubbed) {
        self.last_call = description.head_chars(CALL_CHARS_MAX);
        self.last_result = message.head_chars(RESULT_CHARS_MAX);
    }
}

/// The end of what an agent has said, as much of it as is kept. If that is not all, it begins with a whole line where
/// one begins early enough, and else with a whole word.
pub(crate) fn last_words(said: &Scrubbed) -> Scrubbed {
    let said = Scrubbed::composed(said.as_str().trim().to_owned());
    if said.len_chars() <= WORDS_CHARS_MAX {
        return said;
    }
    let tail = said.tail_chars(WORDS_CHARS_MAX);
    let tail = tail.as_str();
    // A line that begins too far on would leave too little.
    let line = tail.find('\n').filter(|line| *line < tail.len() / 4);
    let rest = line.or_else(|| tail.find(char::is_whitespace)).map_or(tail, |start| &tail[start..]);
    Scrubbed::composed(format!("… {}", rest.trim_start()))
}

/// The files that a call's arguments name, under the names that tools commonly use for them.
fn files_named(arguments: &Scrubbed) -> Vec<Scrubbed> {
    let text = arguments.as_str();
    let Ok(serde_json::Value::Object(arguments)) = serde_json::from_str(text) else {
        return Vec::new();
    };
    FILE_FIELDS
        .iter()
        .filter_map(|name| arguments.get(*name)?.as_str())
        // A name that is written with escapes in the JSON was not scrubbed in the form that it has now.
        .filter(|file| text.contains(file))
        .map(|file| Scrubbed::composed(file.to_owned()).head_chars(FILE_CHARS_MAX))
        .collect()
}

/// What the parent gets from a branch that was cut short: why, what it used, and what it had found so far.
pub fn partial_result(branch: &Branch, reason: EndReason) -> Scrubbed {
    let mut lines = vec![
        format!("[Partial result: {}. The sub-task did not return by itself.]", reason.as_str()),
        format!("Sub-task: {}", branch.description.as_str()),
        usage(branch),
    ];
    let findings = &branch.findings;
    if !findings.last_words.is_empty() {
        lines.push(format!("Last words: {}", findings.last_words.as_str()));
    }
    if !findings.tools.is_empty() {
        let tools: Vec<String> =
            findings.tools.iter().map(|seen| format!("{} ×{}", seen.tool.as_str(), seen.calls)).collect();
        lines.push(format!("Tools called: {}", tools.join(", ")));
    }
    if !findings.files.is_empty() {
        let files: Vec<&str> = findings.files.iter().map(Scrubbed::as_str).collect();
        lines.push(format!("Files touched: {}", files.join(", ")));
    }
    if !findings.last_call.is_empty() {
        lines.push(format!("Last call: {}", findings.last_call.as_str()));
    }
    if !findings.last_result.is_empty() {
        lines.push(format!("Last result: {}", findings.last_result.as_str()));
    }
    if let Some(blob) = &findings.unseen {
        lines.push(format!("The next result is kept: use the \"read_result\" tool with ref_id=\"{blob}\"."));
    }
    Scrubbed::composed(lines.join("\n"))
}

fn usage(branch: &Branch) -> String {
    let (used, budget, calls) = (branch.used_tokens, branch.budget_tokens, branch.operations);
    match branch.overrun_tokens {
        0 => format!("Used {used} of {budget} tokens in {calls} calls."),
        overrun if branch.is_exhausted() => {
            format!("Used {used} of {budget} tokens in {calls} calls; {overrun} more did not fit.")
        }
        overrun => {
            format!("Used {used} of {budget} tokens in {calls} calls; the next item, of {overrun} tokens, did not fit.")
        }
    }
}
