//! Steps that work with any client, because they look up the names of the tools in the request: load infold's
//! tools where a client defers them, open a branch, read files, return what was found.
//!
//! [`branch_work`] makes a whole sub-task. Each client's own tool for reading is recognised by its name: Claude
//! Code has `Read`, Codex `exec_command`, alone or in a script, OpenCode `read`, Qwen Code `read_file`, goose a
//! `shell`.

use serde_json::{Value, json};

use super::reach::SCRIPTS;
use super::received::Received;
use super::script::{Decision, Step};

#[cfg(test)]
mod tests;

/// The tools of infold's that a sub-task needs; the first opens the branch.
const NEEDED: [&str; 3] = ["branch_create", "branch_return", "read_result"];

/// A sub-task for the scripted model.
#[derive(Debug, Clone)]
pub struct Work {
    /// What the branch is for, in a line.
    pub description: String,
    /// The prompt that the branch begins with.
    pub prompt: String,
    /// The paths of the files that the branch reads, one after another, with the client's own tool.
    pub files: Vec<String>,
    /// The message that the branch returns.
    pub message: String,
    /// The budget that the branch asks for; `None` leaves it to infold.
    pub budget_tokens: Option<u64>,
}

impl Work {
    /// A sub-task that reads `files` and returns `message`.
    pub fn reading(description: &str, files: impl IntoIterator<Item = String>, message: &str) -> Self {
        Self {
            description: description.to_owned(),
            prompt: "Read every file, one after another, and say what they have in common.".to_owned(),
            files: files.into_iter().collect(),
            message: message.to_owned(),
            budget_tokens: None,
        }
    }

    /// The same work with a budget.
    pub fn budget_tokens(mut self, budget_tokens: u64) -> Self {
        self.budget_tokens = Some(budget_tokens);
        self
    }

    /// The arguments of the call that opens the branch.
    fn opening(&self) -> Value {
        // The session named here does not exist: a proxy knows which session the call belongs to.
        let mut arguments = json!({
            "session_id": "scripted",
            "description": self.description,
            "prompt": self.prompt,
        });
        if let Some(budget_tokens) = self.budget_tokens {
            arguments["budget"] = json!(budget_tokens);
        }
        arguments
    }
}

/// The steps of a whole sub-task: load the tools if needed, open a branch, read every file, and fold the branch.
/// The step after these belongs to the parent.
pub fn branch_work(work: &Work) -> Vec<Step> {
    let mut steps = vec![load_tools(), open_branch(work)];
    steps.extend(work.files.iter().map(|file| read_file(file)));
    steps.push(fold_branch(&work.message));
    steps
}

/// Loads infold's tools with the client's own search; is skipped if the model can call them already.
pub fn load_tools() -> Step {
    Step::seeing(|received| {
        if NEEDED[..2].iter().all(|name| received.spelled(name).is_some()) {
            return Decision::Skip;
        }
        if received.runs_scripts() {
            return Decision::Skip;
        }
        let Some(search) = received.search_tool() else {
            return Decision::Stuck(format!("no tool named {} is listed, and none that finds it", NEEDED[0]));
        };
        let input = match search.as_str() {
            "tool_search" => json!({"query": "infold branch_create branch_return read_result", "limit": 8}),
            _ => json!({"query": claude_query(received), "max_results": 8}),
        };
        Decision::Say(Step::calling_one("I need the tools for branches.", search, input))
    })
}

/// The query for Claude Code's search: the exact names, if the request lists them, else keywords.
fn claude_query(received: &Received) -> String {
    let shown: String = received.shown().into_iter().map(|piece| piece.text + "\n").collect();
    let words = shown.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != '-');
    let mut names: Vec<&str> =
        words.filter(|word| NEEDED.iter().any(|name| word.ends_with(&format!("__{name}")))).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { NEEDED.join(" ") } else { format!("select:{}", names.join(",")) }
}

/// Opens a branch for the sub-task.
pub fn open_branch(work: &Work) -> Step {
    let arguments = work.opening();
    Step::seeing(move |received| call(received, "branch_create", "I open a branch for this.", arguments.clone()))
}

/// Folds the branch that the model works in, with this message.
pub fn fold_branch(message: &str) -> Step {
    let message = message.to_owned();
    Step::seeing(move |received| {
        let Some(branch) = received.own_branch() else {
            return Decision::Stuck("nothing in the request names a branch to fold".to_owned());
        };
        call(received, "branch_return", "That is all.", json!({"branch_id": branch, "message": message}))
    })
}

/// Calls one of infold's tools by the client's name for it, or from a script; gets stuck if it can do neither.
pub fn call(received: &Received, name: &str, text: &str, arguments: Value) -> Decision {
    match received.spelled(name) {
        Some(tool) => Decision::Say(Step::calling_one(text, tool, arguments).reasoning("A tool of infold is next.")),
        None if received.runs_scripts() => {
            let source = format!("const answer = await tools.mcp__infold__{name}({arguments});\ntext(answer);");
            Decision::Say(running(text, &source).reasoning("A script calls a tool of infold."))
        }
        None => Decision::Stuck(format!("the model cannot reach {name} in what it is shown")),
    }
}

/// Runs a script with Codex's tool for scripts, after some reasoning.
pub fn run_script(text: &str, source: &str) -> Step {
    running(text, source).reasoning("A script is next.")
}

fn running(text: &str, source: &str) -> Step {
    Step::calling_one(text, SCRIPTS.to_owned(), json!(source))
}

/// The source of a script that prints a file.
pub fn printing(path: &str) -> String {
    let input = json!({"cmd": format!("cat '{path}'")});
    format!("text((await tools.exec_command({input})).output);\n")
}

/// Reads a file with the client's own tool; gets stuck if the client lists none.
pub fn read_file(path: &str) -> Step {
    let path = path.to_owned();
    Step::seeing(move |received| {
        let Some((tool, input)) = reading(received, &path) else {
            return Decision::Stuck("the client lists no tool that reads files".to_owned());
        };
        let said = format!("Reading {}.", path.rsplit('/').next().unwrap_or_default());
        Decision::Say(Step::calling_one(&said, tool, input).reasoning("One file after another."))
    })
}

/// The client's tool that reads a file, and the arguments for it.
fn reading(received: &Received, path: &str) -> Option<(String, Value)> {
    let tools = received.tools();
    let listed = |name: &str| tools.iter().any(|tool| tool.spelled() == name);
    let known = [
        ("Read", json!({"file_path": path})),
        ("exec_command", json!({"cmd": format!("cat '{path}'")})),
        ("read", json!({"filePath": path})),
        (SCRIPTS, json!(printing(path))),
        ("read_file", json!({"file_path": path})),
        ("shell", json!({"command": format!("cat '{path}'")})),
    ];
    known.into_iter().find(|(name, _)| listed(name)).map(|(name, input)| (name.to_owned(), input))
}
