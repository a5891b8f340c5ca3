//! Placeholders that a model writes over secrets, in each client's own way of writing: infold notes it in the same
//! turn, once, and only for what was carried out.

use infold_testkit::agent::{Agent, Client, ToolOutput};
use infold_testkit::model::work::read_file;
use infold_testkit::model::{Decision, Received, Script, Step};
use serde_json::{Value, json};

use crate::proxy::scene::{ASKED, Scene};
use crate::support::secrets;

/// Words that are in the note about a placeholder, and nowhere else.
const NOTE: &str = "stands for a secret";

/// A way to write, and what its client answers.
struct Writing {
    client: Client,
    tool: &'static str,
    input: fn(&str) -> Value,
    answer: &'static str,
}

const CODEX_RAN: &str = "Chunk ID: a1b2c3\nWall time: 0.0514 seconds\nProcess exited with code 0\nOutput:\n";
const CODEX_FAILED: &str =
    "Chunk ID: a1b2c3\nWall time: 0.0514 seconds\nProcess exited with code 1\nOutput:\nbash: a: Permission denied\n";
const CODEX_PATCHED: &str =
    "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess. Updated the following files:\nM /p/env.txt\n";

fn heredoc(mask: &str) -> String {
    format!("cat > /q/config.env <<'EOF'\nTOKEN={mask}\nLEVEL=2\nEOF")
}

fn patch(mask: &str) -> Value {
    json!(format!("*** Begin Patch\n*** Update File: /q/env.txt\n@@\n-LEVEL=1\n+TOKEN={mask}\n+LEVEL=2\n*** End Patch"))
}

fn whole_file(mask: &str) -> Value {
    json!({"file_path": "/q/env.txt", "content": format!("TOKEN={mask}")})
}

/// Calls that write, by client.
fn writings() -> Vec<Writing> {
    let bash = |mask: &str| json!({"command": heredoc(mask)});
    let exec = |mask: &str| json!({"cmd": heredoc(mask)});
    let writing = |client, tool, input, answer| Writing { client, tool, input, answer };
    vec![
        writing(Client::ClaudeCode, "Write", whole_file, "The file /q/env.txt has been updated."),
        writing(Client::ClaudeCode, "Bash", bash, "(no output)"),
        writing(Client::Codex, "exec_command", exec, CODEX_RAN),
        writing(Client::Codex, "apply_patch", patch, CODEX_PATCHED),
        writing(Client::OpenCode, "write", whole_file, "Wrote file successfully."),
        writing(Client::OpenCode, "bash", bash, "(no output)"),
    ]
}

/// Calls that write nothing: they failed, were refused, or only look.
fn others() -> Vec<Writing> {
    let exec = |mask: &str| json!({"cmd": heredoc(mask)});
    let look = |mask: &str| json!({"cmd": format!("grep -rnF '{mask}' /q")});
    let bash_look = |mask: &str| json!({"command": format!("grep -rnF '{mask}' /q; echo '{mask}'")});
    let edit = |mask: &str| json!({"filePath": "/q/env.txt", "oldString": "LEVEL=1", "newString": format!("T={mask}")});
    let writing = |client, tool, input, answer| Writing { client, tool, input, answer };
    vec![
        writing(Client::ClaudeCode, "Bash", bash_look, "/q/env.txt:1: nothing"),
        writing(Client::Codex, "exec_command", exec, CODEX_FAILED),
        writing(Client::Codex, "exec_command", look, CODEX_RAN),
        writing(Client::Codex, "apply_patch", patch, "apply_patch verification failed: Failed to find expected lines"),
        writing(Client::Codex, "exec_command", exec, "Command blocked by PreToolUse hook: infold refused this command"),
        writing(Client::OpenCode, "edit", edit, "Could not find oldString in the file. It must match exactly."),
        writing(Client::OpenCode, "write", whole_file, "infold refused this write: it holds"),
    ]
}

/// The model writes the placeholder that it was shown.
fn writes_back(tool: &'static str, input: fn(&str) -> Value) -> Step {
    Step::seeing(move |received: &Received| {
        let text = String::from_utf8_lossy(&received.bytes).into_owned();
        let inner = text.split("[SECRET:").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
        let input = input(&format!("[SECRET:{inner}]"));
        Decision::Say(Step::calling_one("I write it back.", tool.to_owned(), input))
    })
}

/// Works until the model's call that writes, and adds the client's answer to it.
async fn answered(agent: &mut Agent, writing: &Writing) {
    let said =
        agent.until(|said| said.calls.iter().any(|call| call.arguments.to_string().contains("SECRET"))).await.unwrap();
    let call = said.calls[0].clone();
    if writing.tool == "apply_patch" {
        let output = json!({"type": "custom_tool_call_output", "call_id": call.id, "output": writing.answer});
        agent.transcript.push(output);
    } else {
        agent.add_results(&[(call, ToolOutput::Text(writing.answer.to_owned()))]);
    }
}

/// How often each turn of a session shows the note, and whether the recorder says that a placeholder was written.
async fn notes_shown(seed: u64, writing: &Writing) -> (Vec<usize>, bool) {
    let planted = secrets(seed);
    let steps =
        [read_file("/p/env.txt"), writes_back(writing.tool, writing.input), Step::text("Done."), Step::text("I see.")];
    let scene = Scene::start(Script::new(steps)).await;
    let mut agent = scene.agent(writing.client, "written").await;
    agent.file("/p/env.txt", &format!("TOKEN={}\nLEVEL=1\n", planted[0].text));
    agent.say(ASKED);
    answered(&mut agent, writing).await;
    agent.go_on().await.unwrap();
    agent.work("Is it still there?").await.unwrap();

    let notes = scene.turns().iter().map(|turn| turn.shows_times(NOTE)).collect();
    let list = scene.api().get("/api/v1/requests?session_id=written").await.unwrap().with_status(200).unwrap();
    (notes, list.to_string().contains("where a secret was"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_placeholder_that_was_written_is_noted_in_the_same_turn_once_and_the_note_stays() {
    for (seed, writing) in (11..).zip(writings()) {
        let outcome = notes_shown(seed, &writing).await;
        assert_eq!(outcome, (vec![0, 0, 1, 1], true), "{:?} {}", writing.client, writing.tool);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_failed_was_refused_or_only_looks_is_not_noted() {
    for (seed, writing) in (31..).zip(others()) {
        let outcome = notes_shown(seed, &writing).await;
        assert_eq!(outcome, (vec![0, 0, 0, 0], false), "{:?} {} {}", writing.client, writing.tool, writing.answer);
    }
}
