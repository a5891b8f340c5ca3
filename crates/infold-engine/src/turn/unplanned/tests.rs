//! What is sent when planning fails.
#![allow(clippy::field_reassign_with_default, reason = "some of its fields are the engine's own")]

use std::time::Instant;

use bytes::Bytes;
use infold_core::view::{LastAnswer, RequestKind, ThreadSource};
use infold_core::{Field, Principal, SessionId, Start};
use infold_wire::request::{Api, Request};

use super::*;
use crate::tests::{Bench, settings};
use crate::turn::identify::Identity;
use crate::{ModelRequest, OpenBranch, Purpose, SessionRef};

const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"Look."},{"role":"assistant","content":[
    {"type":"thinking","thinking":"hm","signature":"sig"},{"type":"tool_use","id":"t1","name":"Read","input":{}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ghp_16C7e42F292c6912E7710c838347Ae178B4a"}]}]}"#;

async fn unplanned(known: Option<&KnownSession>) -> String {
    let bench = Bench::new(settings());
    unplanned_by(&bench.engine, BODY, known).await
}

async fn unplanned_by(engine: &Engine, body: &str, known: Option<&KnownSession>) -> String {
    let asked = ModelRequest {
        who: Principal::local(),
        api: Api::Messages,
        headers: Vec::new(),
        body: Bytes::copy_from_slice(body.as_bytes()),
        arrived: Instant::now(),
        purpose: Purpose::Send,
        searched: crate::SearchedBody::default(),
        thread: None,
    };
    let request = Request::read(Api::Messages, &asked.body).expect("a request");
    let identity = Identity {
        who: Principal::local(),
        session: SessionId::parse("s").expect("a name"),
        agent: None,
        kind: RequestKind::Turn,
        client: None,
        thread: ThreadSource::Transcript,
        digest: None,
        window_tokens: None,
    };
    let turn = AgentTurn::new(&asked, request, identity, LastAnswer::Ended);
    let plan = engine.unplanned(&turn, &mut SessionCache::default(), known).await.expect("a plan");
    String::from_utf8(turn.request.apply(&plan.pieces)).expect("text")
}

#[tokio::test]
async fn what_cannot_be_planned_goes_as_it_came_but_for_its_secrets() {
    let sent = unplanned(None).await;
    assert!(sent.contains("signature") && sent.contains("[SECRET:github-pat:"), "{sent}");
    assert!(!sent.contains("ghp_"), "{sent}");
}

#[tokio::test]
async fn what_cannot_be_planned_goes_without_reasoning_if_the_session_has_folded() {
    let mut known = KnownSession::default();
    known.has_edited = true;
    let sent = unplanned(Some(&known)).await;
    assert!(!sent.contains("signature") && sent.contains("\"t1\""), "{sent}");
}

#[tokio::test]
async fn where_the_store_cannot_say_the_transcript_tells_whether_the_session_has_folded() {
    let bench = Bench::new(settings());
    let engine = &bench.engine;
    let open = OpenBranch {
        session: SessionRef::Id(SessionId::parse("s").expect("a name")),
        parent: None,
        description: "look".to_owned(),
        description_field: Field::BRANCH_DESCRIPTION,
        prompt: None,
        budget_tokens: None,
        timeout_s: None,
        isolation: None,
        memories: crate::MemoryWish::Fitting,
        folder: None,
        start: Start::AtOnce,
        idempotency_key: None,
    };
    let branch = engine.open_branch(&Principal::local(), open).await.expect("a branch").branch_id;
    let answered = |answer: &str| {
        BODY.replace(r#""name":"Read""#, r#""name":"branch_create""#)
            .replace("ghp_16C7e42F292c6912E7710c838347Ae178B4a", &answer.replace('"', "\\\""))
    };
    let opened = format!(r#"{{"branch_id":"{branch}"}}"#);
    let sent = unplanned_by(engine, &answered(&opened), None).await;
    assert!(!sent.contains("signature"), "{sent}");
    let made_up = r#"{"branch_id":"br_00000000-0000-4000-8000-000000000000"}"#;
    let sent = unplanned_by(engine, &answered(made_up), None).await;
    assert!(sent.contains("signature"), "{sent}");
}
