//! A model that writes scripts, which call infold's tools (Codex with the model that it chooses by itself). The client
//! here sends what Codex 0.166 was recorded to send, and a test does what a script would do.

use infold_testkit::model::work::run_script;
use infold_testkit::model::{Received, Script, Step};
use infold_testkit::{Era, McpHttp};
use serde_json::{Map, Value, json};

use crate::proxy::scene::{ASKED, Scene, content, marker};

const FOUND: &str = "Both files are about harbours.";
const OPEN: &str = "const r = await tools.mcp__infold__branch_create({description: 'Read files'}); text(r);";
const QUIET: &str = "const r = await tools.mcp__infold__branch_create({description: 'Read files'});";
const READ: &str = "text((await tools.exec_command({cmd: 'cat file'})).output);";
const FOLD: &str = "text(await tools.mcp__infold__branch_return({message: 'x'}));";
/// The lines that Codex puts in front of what a script printed.
const DONE: &str = "Script completed\nWall time 0.4 seconds\nOutput:\n";

/// A client whose model writes scripts.
struct Scripting {
    url: String,
    http: reqwest::Client,
    mcp: McpHttp,
    session: String,
    input: Vec<Value>,
}

/// A call that the model made.
struct Ran {
    id: String,
    kind: &'static str,
}

impl Scripting {
    async fn start(scene: &Scene, session: &str) -> Self {
        let exec = json!({"type": "custom", "name": "exec", "description": "Runs scripts."});
        let wait = json!({"type": "function", "name": "wait", "description": "Waits for one.", "parameters": {}});
        let tools = json!([{"type": "namespace", "name": "functions", "description": "", "tools": [exec, wait]}]);
        let said = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
        let input = vec![
            json!({"type": "additional_tools", "id": "at_1", "role": "developer", "tools": tools}),
            said("developer", &"You do what you are asked, carefully. ".repeat(150)),
            said("user", "<environment_context>\n  <cwd>/p</cwd>\n</environment_context>"),
            said("user", ASKED),
        ];
        let mcp = McpHttp::connect(scene.daemon.base_url(), Era::Modern).await.unwrap();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { url: scene.daemon.base_url().to_owned(), http, mcp, session: session.to_owned(), input }
    }

    /// Connects to the daemon that was started again.
    async fn reconnect(&mut self, scene: &Scene) {
        self.url = scene.daemon.base_url().to_owned();
        self.mcp = McpHttp::connect(&self.url, Era::Modern).await.unwrap();
    }

    fn turn_metadata(&self) -> Value {
        json!({"session_id": self.session, "thread_id": self.session, "turn_id": "t1", "request_kind": "turn"})
    }

    /// Sends the whole conversation and adds the answer to it. Returns the call that the model made, if it made one.
    async fn ask(&mut self) -> Option<Ran> {
        let body = json!({"model": "gpt-6.1-sol", "input": self.input, "store": false, "stream": false,
            "include": ["reasoning.encrypted_content"], "prompt_cache_key": self.session});
        let request = self.http.post(format!("{}/openai/v1/responses", self.url)).json(&body);
        let request = request.header("session-id", &self.session).header("thread-id", &self.session);
        let request = request.header("x-codex-turn-metadata", self.turn_metadata().to_string());
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        let items = answer["output"].as_array().unwrap_or_else(|| panic!("{answer}"));
        self.input.extend(items.iter().cloned());
        let call = items.iter().find(|item| item["call_id"].is_string())?;
        let kind = if call["type"] == "custom_tool_call" { "custom_tool_call_output" } else { "function_call_output" };
        Some(Ran { id: call["call_id"].as_str().unwrap().to_owned(), kind })
    }

    /// Calls one of infold's tools, as a script does.
    async fn call(&self, tool: &str, arguments: Value) -> Result<Value, String> {
        let id = format!("exec-{:08x}-0000-4000-8000-000000000000", self.input.len());
        let meta = json!({"callId": id, "x-codex-turn-metadata": self.turn_metadata(), "sessionId": self.session});
        let meta: Map<String, Value> = meta.as_object().unwrap().clone();
        let answer = self.mcp.call_with_meta(tool, arguments, meta).await.unwrap();
        if answer.is_error { Err(answer.text) } else { Ok(answer.structured.unwrap()) }
    }

    async fn open(&self) -> Value {
        self.call("branch_create", json!({"description": "Read files", "prompt": "Look closely."})).await.unwrap()
    }

    async fn fold(&self, opened: &Value) -> Value {
        let arguments = json!({"branch_id": opened["branch_id"], "message": FOUND});
        self.call("branch_return", arguments).await.unwrap()
    }

    /// Adds the result of a script that has ended after printing these texts.
    fn printed(&mut self, ran: &Ran, texts: &[&str]) {
        let texts: Vec<&str> = [DONE].iter().chain(texts).copied().collect();
        self.add_output(ran, &texts);
    }

    fn add_output(&mut self, ran: &Ran, texts: &[&str]) {
        let parts: Vec<Value> = texts.iter().map(|text| json!({"type": "input_text", "text": text})).collect();
        self.input.push(json!({"type": ran.kind, "call_id": ran.id, "output": parts}));
    }
}

/// A tool's answer as it looks when a script prints all of it.
fn wrapped(answer: &Value) -> String {
    json!({"content": [{"type": "text", "text": answer.to_string()}], "structuredContent": answer}).to_string()
}

fn script(sources: &[&str]) -> Script {
    let steps = sources.iter().map(|source| run_script("A script.", source));
    Script::new(steps.chain([Step::text("Done."), Step::text("Yes."), Step::text("Yes.")]).collect::<Vec<_>>())
}

fn last(scene: &Scene) -> Received {
    scene.turns().pop().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_a_script_opens_works_by_itself_and_folds() {
    let mut scene = Scene::start(script(&[READ, OPEN, READ, FOLD, READ])).await;
    let mut client = Scripting::start(&scene, "codex-scripts").await;
    let ran = client.ask().await.unwrap();
    client.printed(&ran, &[&content(11)]);
    let ran = client.ask().await.unwrap();
    let opened = client.open().await;
    assert_eq!(opened["session_id"], "codex-scripts");
    client.printed(&ran, &[&wrapped(&opened)]);

    let ran = client.ask().await.unwrap();
    let inside = last(&scene);
    assert!(!inside.holds(ASKED) && !inside.holds(&marker(11)), "the branch is by itself:\n{}", inside.shape());
    assert!(inside.runs_scripts() && inside.holds("Look closely."), "{}", inside.shape());
    assert!(inside.holds("tools.mcp__infold__branch_return"), "the brief says how to return:\n{}", inside.shape());
    assert!(!inside.holds("What the script printed"), "our own answer is no work:\n{}", inside.shape());
    client.printed(&ran, &[&content(1)]);
    // What infold knows of the script outlives the daemon.
    scene.daemon.kill9().await.unwrap();
    scene.daemon.restart().await.unwrap();
    client.reconnect(&scene).await;
    let ran = client.ask().await.unwrap();
    assert!(last(&scene).holds(&marker(1)) && !last(&scene).holds(ASKED), "{}", last(&scene).shape());
    let folded = client.fold(&opened).await;
    client.printed(&ran, &[&wrapped(&folded)]);

    client.ask().await.unwrap();
    let after = last(&scene);
    assert!(after.holds(ASKED) && after.holds(FOUND) && after.holds(&marker(11)), "{}", after.shape());
    assert!(!after.holds(&marker(1)), "the branch's work is out:\n{}", after.shape());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_prints_nothing_opens_a_branch_all_the_same() {
    let scene = Scene::start(script(&[QUIET, READ, FOLD])).await;
    let mut client = Scripting::start(&scene, "quiet").await;
    let ran = client.ask().await.unwrap();
    let opened = client.open().await;
    client.printed(&ran, &[]);
    let ran = client.ask().await.unwrap();
    assert!(!last(&scene).holds(ASKED), "{}", last(&scene).shape());
    client.printed(&ran, &[&content(1)]);
    let ran = client.ask().await.unwrap();
    client.fold(&opened).await;
    client.printed(&ran, &["The tests passed."]);
    client.ask().await;
    let after = last(&scene);
    assert!(after.holds(ASKED) && after.holds(FOUND) && !after.holds(&marker(1)), "{}", after.shape());
    assert!(after.holds("The tests passed."), "what was printed beside the return is sent:\n{}", after.shape());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_script_reads_that_opens_a_branch_is_the_branchs_work() {
    let scene = Scene::start(script(&[OPEN, FOLD])).await;
    let mut client = Scripting::start(&scene, "opens-and-reads").await;
    let ran = client.ask().await.unwrap();
    let opened = client.open().await;
    client.printed(&ran, &[&wrapped(&opened), &content(1)]);
    let ran = client.ask().await.unwrap();
    let inside = last(&scene);
    assert!(!inside.holds(ASKED) && inside.holds(&marker(1)), "{}", inside.shape());
    client.fold(&opened).await;
    client.printed(&ran, &[]);
    client.ask().await;
    let after = last(&scene);
    assert!(after.holds(ASKED) && after.holds(FOUND) && !after.holds(&marker(1)), "{}", after.shape());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_opens_and_returns_keeps_what_it_printed() {
    for print in ["short", "short, and Both files are about harbours."] {
        let scene = Scene::start(script(&[OPEN])).await;
        let mut client = Scripting::start(&scene, "all-at-once").await;
        let ran = client.ask().await.unwrap();
        let opened = client.open().await;
        client.fold(&opened).await;
        client.printed(&ran, &[print]);
        client.ask().await;
        let after = last(&scene);
        assert!(after.holds(ASKED) && after.holds(print), "{}", after.shape());
        assert_eq!(after.shows_times(FOUND), 1, "what was returned is said once:\n{}", after.shape());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_that_one_script_opens_work_one_after_another() {
    let scene = Scene::start(script(&[OPEN, FOLD, FOLD])).await;
    let mut client = Scripting::start(&scene, "two").await;
    let ran = client.ask().await.unwrap();
    let opened = [client.open().await, client.open().await];
    client.printed(&ran, &[&wrapped(&opened[0]), &wrapped(&opened[1])]);
    for opened in &opened {
        let ran = client.ask().await.unwrap();
        let id = opened["branch_id"].as_str().unwrap();
        assert_eq!(last(&scene).own_branch().as_deref(), Some(id), "{}", last(&scene).shape());
        client.fold(opened).await;
        client.printed(&ran, &[]);
    }
    client.ask().await;
    let after = last(&scene);
    assert!(opened.iter().all(|opened| after.holds(opened["branch_id"].as_str().unwrap())), "{}", after.shape());
    assert!(after.holds(ASKED) && after.holds(FOUND));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_is_waited_for_opens_a_branch_where_the_model_waits() {
    let wait = Step::calling("Waiting.", [("wait", json!({"cell_id": "3"}))]);
    let steps = [run_script("A script.", OPEN), wait, run_script("A script.", FOLD), Step::text("Done.")];
    let scene = Scene::start(Script::new(steps.to_vec())).await;
    let mut client = Scripting::start(&scene, "waits").await;
    let ran = client.ask().await.unwrap();
    client.add_output(&ran, &["Script running with cell ID 3\nWall time 30.0 seconds\nOutput:\n"]);
    let ran = client.ask().await.unwrap();
    assert!(last(&scene).holds(ASKED));
    let opened = client.open().await;
    client.printed(&ran, &[&wrapped(&opened)]);
    let ran = client.ask().await.unwrap();
    assert!(!last(&scene).holds(ASKED), "{}", last(&scene).shape());
    client.fold(&opened).await;
    client.printed(&ran, &[]);
    client.ask().await;
    assert!(last(&scene).holds(ASKED) && last(&scene).holds(FOUND), "{}", last(&scene).shape());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_nobody_waits_for_learns_that_it_must_be_waited_for() {
    let scene = Scene::start(script(&[OPEN])).await;
    let mut client = Scripting::start(&scene, "left-alone").await;
    let ran = client.ask().await.unwrap();
    client.add_output(&ran, &["Script running with cell ID 3\nWall time 30.0 seconds\nOutput:\n"]);
    client.ask().await;
    let refused = client.call("branch_create", json!({"description": "Read files"})).await.unwrap_err();
    assert!(refused.contains("Call wait for its cell"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_store_is_made_up_for_by_what_the_scripts_printed() {
    let mut scene = Scene::start(script(&[OPEN, READ, FOLD])).await;
    let mut client = Scripting::start(&scene, "store-gone").await;
    let ran = client.ask().await.unwrap();
    let opened = client.open().await;
    client.printed(&ran, &[&wrapped(&opened)]);
    let ran = client.ask().await.unwrap();
    client.printed(&ran, &[&content(1)]);
    let ran = client.ask().await.unwrap();
    let folded = client.fold(&opened).await;
    client.printed(&ran, &[&wrapped(&folded)]);
    client.ask().await;
    let before = last(&scene);
    assert!(before.holds(FOUND) && !before.holds(&marker(1)), "{}", before.shape());

    scene.daemon.kill9().await.unwrap();
    for name in ["infold.db", "infold.db-wal", "infold.db-shm"] {
        let _ = std::fs::remove_file(scene.daemon.data().join(name));
    }
    scene.daemon.restart().await.unwrap();
    client.reconnect(&scene).await;
    client.ask().await;
    let after = last(&scene);
    assert!(after.holds(ASKED) && after.holds(FOUND) && !after.holds(&marker(1)), "{}", after.shape());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_session_printed_opens_nothing() {
    let scene = Scene::start(script(&[OPEN, OPEN, READ])).await;
    let mut other = Scripting::start(&scene, "other").await;
    other.ask().await.unwrap();
    let foreign = other.open().await;

    let mut client = Scripting::start(&scene, "own").await;
    let ran = client.ask().await.unwrap();
    let own = client.open().await;
    client.fold(&own).await;
    client.printed(&ran, &[&wrapped(&own), &wrapped(&foreign)]);
    let ran = client.ask().await.unwrap();
    assert!(last(&scene).holds(ASKED), "{}", last(&scene).shape());
    // A script that only prints an answer opens no branch either, whatever the answer is.
    client.printed(&ran, &[&wrapped(&foreign)]);
    client.ask().await;
    assert!(last(&scene).holds(ASKED), "{}", last(&scene).shape());
}
