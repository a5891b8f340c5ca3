//! Sessions to rescue, in the shapes that Claude Code and Codex write.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::home::{Ended, Home};

/// Where Claude Code would keep a session of the project in `home`.
pub const CLAUDE_FOLDER: &str = ".claude/projects/-home-dev-work";
/// Where Codex would keep its session.
pub const CODEX_FOLDER: &str = ".codex/sessions/2026/11/15";
/// The id of every session here.
pub const ID: &str = "5b2438e4-96a7-43f7-b051-10a055bb0fbe";

/// A session that is being written.
#[derive(Default)]
pub struct Session {
    lines: Vec<Value>,
    last: Option<String>,
}

impl Session {
    /// A session of Claude Code with so many reads of long files.
    pub fn claude(reads: usize) -> Self {
        let mut session = Self::default();
        session.user(json!("read the files, and mind session 5b2438e4-96a7-43f7-b051-10a055bb0fbe"));
        for read in 0..reads {
            let (message, call) = (format!("msg_{read}"), format!("toolu_{read}"));
            let thinking = json!({"type": "thinking", "thinking": "what next?", "signature": "c2ln"});
            session.answer(&message, thinking);
            let input = json!({"file_path": format!("/home/dev/work/{read}.rs")});
            session.answer(&message, json!({"type": "tool_use", "id": call, "name": "Read", "input": input}));
            session.result(&call, &long_text(read, 400));
        }
        session.answer("msg_end", json!({"type": "text", "text": "All read."}));
        session.user(json!([{"type": "text", "text": "thanks, now fix \u{e9}\u{1f600} them"}]));
        session.answer("msg_done", json!({"type": "text", "text": "Fixed."}));
        session
    }

    /// Adds a line of the user's.
    pub fn user(&mut self, content: Value) {
        self.line("user", json!({"message": {"role": "user", "content": content}}));
    }

    /// Adds a line with one block of an answer.
    pub fn answer(&mut self, message: &str, block: Value) {
        let usage = json!({"input_tokens": 5, "cache_read_input_tokens": 190_000, "output_tokens": 9});
        let message = json!({
            "id": message, "role": "assistant", "model": "claude-opus-4-6", "content": [block], "usage": usage,
        });
        self.line("assistant", json!({"message": message}));
    }

    /// Adds a line with the result of a call.
    pub fn result(&mut self, call: &str, text: &str) {
        let content = json!([{"type": "tool_result", "tool_use_id": call, "content": text}]);
        let copy = json!({"file": {"content": text}});
        self.line("user", json!({"message": {"role": "user", "content": content}, "toolUseResult": copy}));
    }

    /// Adds a line that the client writes for itself.
    pub fn note(&mut self, more: Value) {
        self.line("attachment", more);
    }

    fn line(&mut self, kind: &str, more: Value) {
        let uuid = format!("00000000-0000-4000-8000-{:012}", self.lines.len());
        let mut line = json!({
            "parentUuid": self.last, "isSidechain": false, "type": kind, "uuid": uuid, "sessionId": ID,
            "timestamp": "2026-11-15T18:16:47.700Z", "cwd": "/home/dev/work", "version": "2.1.325",
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            line[key] = value.clone();
        }
        self.last = Some(uuid);
        self.lines.push(line);
    }

    /// A session of Codex with so many commands of long output.
    pub fn codex(commands: usize) -> Self {
        let mut session = Self::default();
        session.rollout(
            "session_meta",
            json!({"id": ID, "timestamp": "2026-11-15T18:16:47Z", "cwd": "/home/dev/work",
            "originator": "codex_exec", "cli_version": "0.166.0"}),
        );
        session.rollout("turn_context", json!({"cwd": "/home/dev/work", "model": "gpt-5.5"}));
        session.says("user", "input_text", "run the commands");
        session.rollout("event_msg", json!({"type": "user_message", "message": "run the commands"}));
        for command in 0..commands {
            let call = format!("call_{command}");
            session.item(json!({"type": "reasoning", "summary": [], "encrypted_content": "c2VhbGVk"}));
            let arguments = json!({"cmd": format!("cat {command}.txt")}).to_string();
            session.item(
                json!({"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call}),
            );
            let output = long_text(command, 400);
            session.rollout("event_msg", json!({"type": "exec_command_end", "call_id": call, "stdout": output}));
            session.item(json!({"type": "function_call_output", "call_id": call, "output": output}));
            session.rollout("event_msg", json!({"type": "token_count", "info": {"total": 300_000}}));
        }
        session.says("assistant", "output_text", "All done.");
        session.rollout("event_msg", json!({"type": "agent_message", "message": "All done."}));
        session
    }

    /// Adds a line of a rollout, as Codex calls its recordings.
    pub fn rollout(&mut self, kind: &str, payload: Value) {
        let line = json!({"timestamp": "2026-11-15T18:16:48.000Z", "type": kind, "payload": payload});
        self.lines.push(line);
    }

    fn item(&mut self, payload: Value) {
        self.rollout("response_item", payload);
    }

    fn says(&mut self, role: &str, kind: &str, text: &str) {
        self.item(json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}));
    }

    /// The content of the recording's file.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// A text of so many lines that differs by number, and ends with a newline, which could get lost.
pub fn long_text(number: usize, lines: usize) -> String {
    (0..lines)
        .map(|line| format!("file {number} line {line}: let value_{line} = compute({line}, {number});\n"))
        .collect()
}

/// A home with a session of Claude Code in it.
pub fn claude_home(reads: usize) -> (Home, PathBuf) {
    let home = Home::new();
    let path = format!("{CLAUDE_FOLDER}/{ID}.jsonl");
    home.write(&path, &Session::claude(reads).text());
    let path = home.join(&path);
    (home, path)
}

/// A home with a session of Codex in it.
pub fn codex_home(commands: usize) -> (Home, PathBuf) {
    let home = Home::new();
    let path = format!("{CODEX_FOLDER}/rollout-2026-11-15T18-16-47-{ID}.jsonl");
    home.write(&path, &Session::codex(commands).text());
    let path = home.join(&path);
    (home, path)
}

/// What a run printed as JSON.
pub fn printed(ended: &Ended) -> Value {
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// The names of the files in a folder, sorted.
pub fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The lines of a file, as JSON.
pub fn lines(path: &str, home: &Home) -> Vec<Value> {
    let path = path.replace("HOME", home.join("").to_str().unwrap().trim_end_matches('/'));
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
