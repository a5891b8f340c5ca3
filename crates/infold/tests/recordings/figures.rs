//! Figures that are true: images count what providers bill for them, and what a person undid counts nowhere.

use serde_json::{Value, json};

use super::home::{Ended, Home};

/// A session as Claude Code writes one, line by line.
#[derive(Default)]
struct Session {
    lines: Vec<Value>,
}

impl Session {
    /// Adds a line that follows another.
    fn line(&mut self, id: &str, parent: &str, more: Value) {
        let parent = if parent.is_empty() { Value::Null } else { json!(parent) };
        let mut line = json!({
            "uuid": id, "parentUuid": parent, "sessionId": "s", "isSidechain": false, "version": "2.1.325",
            "timestamp": "2026-11-15T18:16:47.700Z", "cwd": "/home/dev/work",
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            line[key] = value.clone();
        }
        self.lines.push(line);
    }

    fn user(&mut self, id: &str, parent: &str, content: Value) {
        self.line(id, parent, json!({"type": "user", "message": {"role": "user", "content": content}}));
    }

    fn answer(&mut self, id: &str, parent: &str, block: Value) {
        let usage = json!({"input_tokens": 5_000, "output_tokens": 9});
        let message = json!({
            "id": format!("msg_{id}"), "role": "assistant", "model": "claude-opus-4-6", "content": [block], "usage": usage,
        });
        self.line(id, parent, json!({"type": "assistant", "message": message}));
    }

    fn says(&mut self, id: &str, parent: &str) {
        self.answer(id, parent, json!({"type": "text", "text": format!("said in {id}")}));
    }

    /// Adds a call that starts another agent, that agent's work, and its result.
    fn subagent(&mut self, call: &str, parent: &str) {
        let input = json!({"description": "look", "prompt": format!("look for {call}")});
        self.answer(
            &format!("{call}-call"),
            parent,
            json!({"type": "tool_use", "id": call, "name": "Task", "input": input}),
        );
        let side = |kind: &str, message: Value| json!({"type": kind, "isSidechain": true, "agentId": call, "message": message});
        let asked = json!({"role": "user", "content": format!("look for {call}")});
        self.line(&format!("{call}-1"), "", side("user", asked));
        let done = json!({"id": format!("side_{call}"), "role": "assistant", "content": [{"type": "text", "text": "found it"}]});
        self.line(&format!("{call}-2"), &format!("{call}-1"), side("assistant", done));
        let result = json!([{"type": "tool_result", "tool_use_id": call, "content": "found it"}]);
        self.user(&format!("{call}-result"), &format!("{call}-call"), result);
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

fn run(command: &[&str], text: &str) -> Ended {
    let home = Home::new();
    home.write("session.jsonl", text);
    let file = home.join("session.jsonl");
    let ended = home.run(&[&[command[0], file.to_str().unwrap()], &command[1..]].concat());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    ended
}

fn replayed(text: &str) -> Value {
    let report: Value = serde_json::from_str(&run(&["replay", "--json"], text).stdout).unwrap();
    report["sessions"][0].clone()
}

/// An image of 1,000 x 750 pixels, and a file of 300 KB.
fn image() -> Value {
    let data = format!("iVBORw0KGgoAAAANSUhEUgAAA+gAAALuCAIAAAA{}", "kJ8x".repeat(100_000));
    json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})
}

#[test]
fn an_image_takes_what_a_provider_bills_for_it() {
    let peak = |content: Value| {
        let mut session = Session::default();
        session.user("u1", "", json!("look at this"));
        session.says("a1", "u1");
        session.user("u2", "a1", content);
        session.says("a2", "u2");
        replayed(&session.text())["outcomes"][0]["measures"]["peak_tokens"].as_u64().unwrap()
    };
    let text = json!({"type": "text", "text": "what is it?"});
    assert_eq!(peak(json!([text, image()])) - peak(json!([text])), 1_000);
    let result = |inner: Value| json!([{"type": "tool_result", "tool_use_id": "none", "content": inner}]);
    assert_eq!(peak(result(json!([text, image()]))) - peak(result(json!([text]))), 1_000);
}

fn with_undone_turn() -> String {
    let mut session = Session::default();
    session.user("u1", "", json!("the first task"));
    session.subagent("one", "u1");
    session.says("a1", "one-result");
    session.user("u2", "a1", json!("a task that was undone"));
    session.subagent("two", "u2");
    session.says("a2", "two-result");
    session.user("u3", "a1", json!("the task instead"));
    session.says("a3", "u3");
    session.text()
}

#[test]
fn turns_that_were_undone_count_for_nothing_nor_do_the_agents_that_they_started() {
    let session = replayed(&with_undone_turn());
    assert_eq!(session["outcomes"][0]["measures"]["requests"], 3, "{session}");
    assert_eq!(session["folding"]["subtasks"], 1, "{session}");
}

#[test]
fn a_fork_of_a_file_leaves_out_turns_that_were_undone() {
    for profile in ["seed", "recall"] {
        let text = run(&["fork", "--profile", profile], &with_undone_turn()).stdout;
        assert!(text.contains("the first task") && text.contains("the task instead"), "{profile}: {text}");
        assert!(!text.contains("undone") && !text.contains("said in a2"), "{profile}: {text}");
    }
}

#[test]
fn a_compaction_that_was_undone_takes_nothing_away() {
    let mut session = Session::default();
    session.user("u1", "", json!("the first task"));
    session.says("a1", "u1");
    session.user("u2", "a1", json!("the second task"));
    session.says("a2", "u2");
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "logicalParentUuid": "a2", "content": "Conversation compacted"});
    session.line("b", "", boundary);
    let summary = json!({"role": "user", "content": "what was done"});
    session.line("s", "b", json!({"type": "user", "isCompactSummary": true, "message": summary}));
    session.user("u3", "a1", json!("the task instead"));
    session.says("a3", "u3");
    let text = run(&["fork"], &session.text()).stdout;
    assert!(text.contains("the first task") && !text.contains("what was done"), "{text}");
}

/// A session as Codex writes one.
fn rollout(lines: &[(&str, Value)]) -> String {
    let meta = ("session_meta", json!({"id": "s", "cwd": "/home/dev/work", "cli_version": "0.166.0"}));
    let all = std::iter::once(&meta).chain(lines);
    all.map(|(kind, payload)| {
        format!("{}\n", json!({"timestamp": "2026-11-15T18:16:48.000Z", "type": kind, "payload": payload}))
    })
    .collect()
}

fn user_words(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

#[test]
fn a_fork_starts_from_a_summary_that_is_in_what_codex_lists() {
    let summary = "Another language model started to solve this problem and produced a summary: half is done";
    let compacted = json!({"message": "", "replacement_history": [user_words("the first task"), user_words(summary)]});
    let work = json!({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"});
    let output = json!({"type": "function_call_output", "call_id": "c1", "output": "work before"});
    let lines = [
        ("response_item", user_words("the first task")),
        ("response_item", work),
        ("response_item", output),
        ("compacted", compacted),
        ("response_item", user_words("the second task")),
    ];
    let report: Value = serde_json::from_str(&run(&["fork", "--json"], &rollout(&lines)).stdout).unwrap();
    assert_eq!(report["stats"]["compactionDetected"], true, "{report}");
    let context = report["context"].as_str().unwrap();
    assert!(context.contains("half is done") && !context.contains("work before"), "{context}");
    assert_eq!(context.matches("the first task").count(), 1, "{context}");

    let later = ("compacted", json!({"message": "all of it is done"}));
    let lines = [&lines[..], &[later, ("response_item", user_words("the third task"))]].concat();
    let context = run(&["fork"], &rollout(&lines)).stdout;
    for task in ["the first task", "the second task", "all of it is done", "the third task"] {
        assert_eq!(context.matches(task).count(), 1, "{task}: {context}");
    }
}

#[test]
fn a_replay_gives_out_no_handle_that_nobody_could_read() {
    let home = Home::new();
    home.write("session.jsonl", &with_undone_turn());
    let (file, page) = (home.join("session.jsonl"), home.join("replay.html"));
    let ended = home.run(&["replay", file.to_str().unwrap(), "--html", page.to_str().unwrap()]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(!ended.stdout.contains("res_") && !std::fs::read_to_string(page).unwrap().contains("res_"));
}
