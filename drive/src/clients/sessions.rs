//! What the agents do when they are recorded: short sessions of real work, each with what makes
//! transcripts hard to read: parallel calls, a failing command, an edit, a compaction, a long result.

use std::path::Path;

use infold_testkit::model::{Script, Step};
use serde_json::json;

/// How agents begin the request in which they have their own history summarised.
const COMPACTION_WORDS: [&str; 3] =
    ["CRITICAL: Respond with TEXT ONLY", "CONTEXT CHECKPOINT COMPACTION", "Here is the conversation so far"];

/// The summary that the model answers that request with.
const SUMMARY: &str = "<summary>\nThe user asked for a polite greeting. notes.md says which. \
                       greeting.txt still says hi.\n</summary>";

/// A usage over every window, after which an agent compacts by itself.
const FULL_TOKENS: u64 = 400_000;

/// Prints a numbered log of this many lines.
fn log_command(lines: usize) -> String {
    format!("seq -f 'line %05g of the log' 1 {lines}")
}

/// A session of an agent, scripted on both ends.
pub struct Session {
    /// The name of the fixture that it is recorded as.
    pub name: &'static str,
    /// What the model says.
    pub script: Script,
    /// What the user says, in order. Each is a run of its own that continues the one before.
    pub prompts: Vec<&'static str>,
}

fn with_compaction(script: Script) -> Script {
    COMPACTION_WORDS.iter().fold(script, |script, words| script.aside(words, Step::text(SUMMARY)))
}

/// What Claude Code is recorded doing in `project`.
pub fn claude(project: &Path) -> Vec<Session> {
    let at = |name: &str| project.join(name).to_string_lossy().into_owned();
    let bash = |command: &str, why: &str| ("Bash", json!({"command": command, "description": why}));
    let read = |name: &str| ("Read", json!({"file_path": at(name)}));
    let edit = json!({"file_path": at("greeting.txt"), "old_string": "hi\n", "new_string": "Grüße\n"});
    let tools = vec![
        Step::calling("I will look at the notes and the folder.", [read("notes.md"), bash("ls -1", "List files")])
            .reasoning("Notes first, then the folder."),
        Step::calling("Now the greeting.", [read("greeting.txt"), bash("sh check.sh", "Run the check")]),
        Step::calling("It is not polite yet.", [("Edit", edit)]).reasoning("The check says which line."),
        Step::calling("Checking again.", [bash("sh check.sh && echo passed", "Run the check again")]),
        Step::text("The greeting is polite now: Grüße."),
        Step::text("I changed line 1 of greeting.txt."),
    ];
    let compacted = vec![
        Step::calling("Reading.", [read("notes.md"), bash("cat greeting.txt", "Show the greeting")])
            .reasoning("Two things at once."),
        Step::text("The notes ask for a polite greeting."),
        Step::calling("Looking again.", [bash("cat greeting.txt", "Show the greeting")]),
        Step::text("It still says hi."),
    ];
    let large = vec![
        Step::calling("The short log.", [bash(&log_command(1_000), "Print a log")]),
        Step::calling("The long log.", [bash(&log_command(3_000), "Print a longer log")]),
        Step::text("Both logs end without an error."),
    ];
    vec![
        Session {
            name: "tools",
            script: Script::new(tools),
            prompts: vec!["Make the greeting polite, as the notes say.", "What did you change?"],
        },
        Session {
            name: "compacted",
            script: with_compaction(Script::new(compacted)),
            prompts: vec!["What do the notes ask for?", "/compact", "And what does the greeting say?"],
        },
        Session { name: "large-result", script: Script::new(large), prompts: vec!["Look at the logs."] },
    ]
}

/// What Codex is recorded doing.
pub fn codex() -> Vec<Session> {
    let shell = |command: &str| ("exec_command", json!({"cmd": command}));
    let patch = "*** Begin Patch\n*** Update File: greeting.txt\n@@\n-hi\n+Grüße\n there\n*** End Patch\n";
    let tools = vec![
        Step::calling("I will look at the notes and the folder.", [shell("cat notes.md"), shell("ls -1")])
            .reasoning("Notes first, then the folder."),
        Step::calling("Now the check.", [shell("sh check.sh")]),
        Step::calling("It is not polite yet.", [("apply_patch", json!(patch))]).reasoning("The check says which line."),
        Step::calling("Checking again.", [shell("sh check.sh && echo passed")]),
        Step::text("The greeting is polite now: Grüße."),
        Step::text("I changed line 1 of greeting.txt."),
    ];
    let compacted = vec![
        Step::calling("Reading.", [shell("cat notes.md"), shell("cat greeting.txt")]).reasoning("Two things at once."),
        Step::text("The notes ask for a polite greeting.").input_tokens(FULL_TOKENS),
        Step::calling("Looking again.", [shell("cat greeting.txt")]),
        Step::text("It still says hi."),
    ];
    let large = vec![
        Step::calling("The short log.", [shell(&log_command(1_000))]),
        Step::calling("The long log.", [shell(&log_command(6_000))]),
        Step::text("Both logs end without an error."),
    ];
    vec![
        Session {
            name: "tools",
            script: Script::new(tools),
            prompts: vec!["Make the greeting polite, as the notes say.", "What did you change?"],
        },
        Session {
            name: "compacted",
            script: with_compaction(Script::new(compacted)),
            prompts: vec!["What do the notes ask for?", "And what does the greeting say?"],
        },
        Session { name: "large-result", script: Script::new(large), prompts: vec!["Look at the logs."] },
    ]
}

/// What OpenCode is recorded doing in `project`.
pub fn opencode(project: &Path) -> Vec<Session> {
    let at = |name: &str| project.join(name).to_string_lossy().into_owned();
    let bash = |command: &str, why: &str| ("bash", json!({"command": command, "description": why}));
    let read = |name: &str| ("read", json!({"filePath": at(name)}));
    let edit = json!({"filePath": at("greeting.txt"), "oldString": "hi\n", "newString": "Grüße\n"});
    let tools = vec![
        Step::calling("I will look at the notes and the folder.", [read("notes.md"), bash("ls -1", "List files")])
            .reasoning("Notes first, then the folder."),
        Step::calling("Now the greeting.", [read("greeting.txt"), bash("sh check.sh", "Run the check")]),
        Step::calling("It is not polite yet.", [("edit", edit)]),
        Step::calling("Checking again.", [bash("sh check.sh && echo passed", "Run the check again")]),
        Step::text("The greeting is polite now: Grüße."),
        Step::text("I changed line 1 of greeting.txt."),
    ];
    let compacted = vec![
        Step::calling("Reading.", [read("notes.md"), bash("cat greeting.txt", "Show the greeting")]),
        Step::text("The notes ask for a polite greeting.").input_tokens(FULL_TOKENS),
        Step::calling("Looking again.", [bash("cat greeting.txt", "Show the greeting")]),
        Step::text("It still says hi."),
    ];
    let large = vec![
        Step::calling("The short log.", [bash(&log_command(1_000), "Print a log")]),
        Step::calling("The long log.", [bash(&log_command(4_000), "Print a longer log")]),
        Step::text("Both logs end without an error."),
    ];
    vec![
        Session {
            name: "tools",
            script: Script::new(tools),
            prompts: vec!["Make the greeting polite, as the notes say.", "What did you change?"],
        },
        Session {
            name: "compacted",
            script: with_compaction(Script::new(compacted)),
            prompts: vec!["What do the notes ask for?", "And what does the greeting say?"],
        },
        Session { name: "large-result", script: Script::new(large), prompts: vec!["Look at the logs."] },
    ]
}
