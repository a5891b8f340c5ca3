//! A server of the older era asks a client of the newer one: its call waits under a handle, and goes on when the client
//! makes the call once more with its answer.

use std::time::Instant;

use anyhow::ensure;
use infold_testkit::{CallAnswer, DaemonSetup};

use super::*;
use crate::gateway::processes::until_gone;
use crate::support::{PATIENCE, POLL};

/// The name of the question in an answer.
const QUESTION: &str = "question";

struct AskingScene {
    daemon: Daemon,
    client: McpHttp,
    folder: TempFolder,
    mark: String,
}

impl AskingScene {
    async fn with(more: impl FnOnce(DaemonSetup) -> DaemonSetup) -> Result<Self> {
        let (mark, folder) = (mark(), TempFolder::new()?);
        let setup = setup(&[asking_server(&mark, &folder.join("cancelled"))]);
        let daemon = more(setup).start().await?;
        let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
        Ok(Self { daemon, client, folder, mark })
    }

    async fn new() -> Result<Self> {
        Self::with(|setup| setup).await
    }

    /// The call of `path`, with these answers and this handle.
    async fn call(&self, path: &str, answers: Option<Value>, state: Option<&str>) -> Result<CallAnswer> {
        let mut params = json!({ "name": "asks__read_file", "arguments": { "path": path } });
        if let Some(answers) = answers {
            params["inputResponses"] = json!({ QUESTION: answers });
        }
        if let Some(state) = state {
            params["requestState"] = json!(state);
        }
        Ok(self.client.request("tools/call", params, can_be_asked()).await?)
    }

    /// Makes a call that is answered with a question, and returns its handle.
    async fn ask(&self, path: &str) -> Result<String> {
        let asked = self.call(path, None, None).await?;
        let question = &asked.result["inputRequests"][QUESTION];
        ensure!(question["params"].to_string().contains(&format!("about {path}")), "{}", asked.result);
        assert_eq!(asked.result["resultType"], "input_required");
        Ok(asked.result["requestState"].as_str().context("no handle")?.to_owned())
    }

    /// Waits until the server has received the word that a call is given up.
    async fn until_cancelled(&self) -> Result<()> {
        let begin = Instant::now();
        while !self.folder.join("cancelled").exists() {
            ensure!(begin.elapsed() < PATIENCE, "the server got no word of it");
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }
}

fn can_be_asked() -> Map<String, Value> {
    let capabilities = json!({ "elicitation": {}, "sampling": {} });
    Map::from_iter([("io.modelcontextprotocol/clientCapabilities".to_owned(), capabilities)])
}

fn refusal(answer: CallAnswer) -> String {
    answer.jsonrpc_error.map(|error| error.message).unwrap_or_default()
}

#[tokio::test]
async fn a_form_is_answered_declined_or_left_unanswered() -> Result<()> {
    let scene = AskingScene::new().await?;
    let cases = [
        ("a", Some(accepted("seven")), "a seven"),
        ("b", Some(json!({ "action": "decline" })), "b decline"),
        ("c", None, "c cancel"),
        (
            "s",
            Some(json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "x" } })),
            "s sampled",
        ),
    ];
    for (path, answer, expected) in cases {
        let state = scene.ask(path).await?;
        assert_eq!(said(scene.call(path, answer, Some(&state)).await?), (expected.to_owned(), false));
    }
    // A client that does not say that it can be asked is not asked.
    let unasked = scene.client.call("asks__read_file", json!({ "path": "d" })).await?;
    assert_eq!(said(unasked), ("d cancel".to_owned(), false));
    Ok(())
}

#[tokio::test]
async fn a_handle_is_good_for_one_call_of_one_caller() -> Result<()> {
    let issuer = Issuer::new()?;
    let scene = AskingScene::with(|setup| issuer.believed_by(setup)).await?;
    let state = scene.ask("a").await?;
    let yes = || Some(accepted("yes"));
    let tampered = state.replacen("\"seal\":\"", "\"seal\":\"0", 1);
    assert_ne!(tampered, state);
    let refused = refusal(scene.call("a", yes(), Some(&tampered)).await?);
    assert_eq!(refused, "requestState is not of this call: make the call anew");
    let refused = refusal(scene.call("b", yes(), Some(&state)).await?);
    assert!(refused.contains("is of a call that is over, or of another one"), "{refused}");

    let mut eve = McpHttp::connect(scene.daemon.base_url(), Era::Modern).await?;
    eve.set_header("authorization", HeaderValue::from_str(&format!("Bearer {}", issuer.token("eve")?))?);
    let params = json!({
        "name": "asks__read_file", "arguments": { "path": "a" }, "requestState": state,
        "inputResponses": { QUESTION: accepted("from eve") },
    });
    let of_eve = eve.request("tools/call", params, can_be_asked()).await?;
    assert!(of_eve.jsonrpc_error.is_some(), "{}", of_eve.result);

    assert_eq!(said(scene.call("a", yes(), Some(&state)).await?), ("a yes".to_owned(), false));
    let again = refusal(scene.call("a", yes(), Some(&state)).await?);
    assert!(again.contains("make the call anew"), "{again}");
    Ok(())
}

#[tokio::test]
async fn a_client_that_never_comes_back_leaves_no_call_behind() -> Result<()> {
    let scene =
        AskingScene::with(|setup| setup.set("gateway.question_wait_ms", 300).set("gateway.idle_ms", 1_000)).await?;
    let state = scene.ask("a").await?;
    scene.until_cancelled().await?;
    let late = refusal(scene.call("a", Some(accepted("late")), Some(&state)).await?);
    assert!(late.contains("is of a call that is over"), "{late}");
    // Nothing holds the server any more, so it is stopped when nobody uses it.
    let mark = scene.mark.clone();
    tokio::task::spawn_blocking(move || until_gone(&mark)).await?;
    Ok(())
}

#[tokio::test]
async fn only_so_many_calls_wait() -> Result<()> {
    let scene = AskingScene::with(|setup| setup.set("gateway.questions_max", 0)).await?;
    let unasked = scene.call("a", None, None).await?;
    assert_eq!(said(unasked), ("a cancel".to_owned(), false));

    let scene = AskingScene::with(|setup| setup.set("gateway.questions_max", 1)).await?;
    let state = scene.ask("a").await?;
    // The server's words could be about either call now.
    assert_eq!(said(scene.call("b", None, None).await?), ("b cancel".to_owned(), false));
    assert_eq!(said(scene.call("a", Some(accepted("one")), Some(&state)).await?), ("a one".to_owned(), false));
    scene.ask("c").await?;
    Ok(())
}

#[tokio::test]
async fn a_server_that_dies_meanwhile_is_named() -> Result<()> {
    let scene = AskingScene::new().await?;
    let state = scene.ask("die").await?;
    let mark = scene.mark.clone();
    tokio::task::spawn_blocking(move || until_gone(&mark)).await?;
    let (why, is_error) = said(scene.call("die", Some(accepted("too late")), Some(&state)).await?);
    assert!(is_error && why.contains("asks: the server ended (exit code 137)"), "{why}");
    Ok(())
}
