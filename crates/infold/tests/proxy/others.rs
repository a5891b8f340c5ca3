//! Clients that nobody wrote a stand-in for, played by hand in the shapes that they were seen to send: goose, which
//! moves a note of its own through the conversation, and Qwen Code, which calls other servers' tools through one of
//! its own.

use infold_testkit::model::work::{Work, fold_branch, open_branch, read_file};
use infold_testkit::model::{Decision, Received, Script, Step};
use infold_testkit::{Era, McpHttp};
use serde_json::{Value, json};

use crate::proxy::scene::{ASKED, Scene, content, marker, path};

const FOUND: &str = "All of them define harbour functions.";
const NOTE: &str = "<info-msg>\nIt is currently 2026-11-16 18:41:00\nWorking directory: /p\n</info-msg>";

/// A conversation in Chat Completions, as a client keeps it.
struct Chat<'s> {
    scene: &'s Scene,
    http: reqwest::Client,
    mcp: McpHttp,
    tools: Vec<&'static str>,
    headers: Vec<(&'static str, &'static str)>,
}

impl<'s> Chat<'s> {
    async fn new(scene: &'s Scene, tools: &[&'static str], headers: &[(&'static str, &'static str)]) -> Self {
        let mcp = McpHttp::connect(scene.daemon.base_url(), Era::Legacy).await.unwrap();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { scene, http, mcp, tools: tools.to_vec(), headers: headers.to_vec() }
    }

    /// Sends the conversation, and returns the model's message.
    async fn asked(&self, messages: &[Value]) -> Value {
        let parameters = json!({"type": "object", "properties": {}});
        let tool = |name: &&str| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
        let tools: Vec<Value> = self.tools.iter().map(tool).collect();
        let body = json!({"model": "scripted", "messages": messages, "tools": tools});
        let request = self.http.post(format!("{}/openai/v1/chat/completions", self.scene.daemon.base_url()));
        let request = self.headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let answer: Value = request.json(&body).send().await.unwrap().json().await.unwrap();
        assert!(answer["error"].is_null(), "{answer}");
        answer["choices"][0]["message"].clone()
    }

    /// Calls the tool that this message calls, and returns its result.
    async fn result(&self, message: &Value) -> Value {
        let call = &message["tool_calls"][0];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut name = text(&call["function"]["name"]);
        let mut arguments: Value = serde_json::from_str(&text(&call["function"]["arguments"])).unwrap();
        if name == "tool_call" {
            (name, arguments) = (text(&arguments["name"]), arguments["arguments"].clone());
        }
        let said = match name.rsplit_once("__") {
            Some((_, ours)) => self.mcp.call(ours, arguments).await.unwrap().text,
            None => content(1),
        };
        json!({"role": "tool", "tool_call_id": call["id"], "content": said})
    }
}

/// Checks that the branch saw only its own work, and that its parent has what it returned and nothing else.
async fn folded(scene: &Scene) {
    assert_eq!(scene.model.broken(), Vec::<String>::new());
    let (main, branch): (Vec<Received>, Vec<Received>) =
        scene.model.turns().into_iter().partition(|turn| turn.holds(ASKED));
    assert_eq!(branch.len(), 2, "turns of the branch: {:#?}", branch.iter().map(Received::shape).collect::<Vec<_>>());
    assert!(branch[1].holds(&marker(1)), "{}", branch[1].shape());
    let end = main.last().unwrap();
    assert!(end.holds(FOUND) && !end.holds(&marker(1)), "{}", end.shape());
    let status = scene.status(&branch[0].own_branch().unwrap()).await;
    assert_eq!(status["status"], "completed", "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_note_that_goose_moves_through_a_conversation_is_not_the_user_speaking() {
    let work = Work::reading("Read the file", [], FOUND);
    let steps = [open_branch(&work), read_file(&path(1)), fold_branch(FOUND), Step::text("Done.")];
    let scene = Scene::start(Script::new(steps)).await;
    let tools = ["infold__branch_create", "infold__branch_return", "infold__read_result", "read"];
    let goose = Chat::new(&scene, &tools, &[("agent-session-id", "20261116_1")]).await;

    let first = json!({"role": "user", "content": format!("{NOTE}\n{ASKED}")});
    let mut said = goose.asked(&[first]).await;
    // From now on the client sends what the person said without the note.
    let mut messages = vec![json!({"role": "user", "content": ASKED})];
    while said["tool_calls"].is_array() {
        let result = goose.result(&said).await;
        // goose separates the model's words from its call, and puts its note between them, until the next request.
        let words = json!({"role": "assistant", "content": said["content"]});
        let call = json!({"role": "assistant", "content": null, "tool_calls": said["tool_calls"]});
        let note = json!({"role": "user", "content": NOTE});
        let sent: Vec<Value> = messages.iter().cloned().chain([words, note, call, result.clone()]).collect();
        messages.extend([
            json!({"role": "assistant", "content": said["content"], "tool_calls": said["tool_calls"]}),
            result,
        ]);
        said = goose.asked(&sent).await;
    }
    assert_eq!(said["content"], "Done.");
    folded(&scene).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_ours_are_known_inside_those_of_qwen_code() {
    let called = |tool: &str, arguments: Value| {
        let input = json!({"name": format!("mcp__infold__{tool}"), "arguments": arguments});
        Decision::Say(Step::calling_one("So be it.", "tool_call".to_owned(), input))
    };
    let steps = [
        Step::seeing(move |_| called("branch_create", json!({"session_id": "s", "description": "Read the file"}))),
        read_file(&path(1)),
        Step::seeing(move |received| match received.own_branch() {
            Some(branch) => called("branch_return", json!({"branch_id": branch, "message": FOUND})),
            None => Decision::Stuck("nothing names a branch".to_owned()),
        }),
        Step::text("Done."),
    ];
    let scene = Scene::start(Script::new(steps)).await;
    let qwen = Chat::new(&scene, &["tool_search", "tool_call", "read"], &[("user-agent", "QwenCode/0.24.4")]).await;

    let mut messages = vec![json!({"role": "user", "content": ASKED})];
    let mut said = qwen.asked(&messages).await;
    while said["tool_calls"].is_array() {
        let result = qwen.result(&said).await;
        messages.extend([
            json!({"role": "assistant", "content": said["content"], "tool_calls": said["tool_calls"]}),
            result,
        ]);
        said = qwen.asked(&messages).await;
    }
    assert_eq!(said["content"], "Done.");
    folded(&scene).await;
}
