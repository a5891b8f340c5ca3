//! What goes out when planning fails.
#![allow(clippy::field_reassign_with_default, reason = "some of its fields are the engine's own")]

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use infold_core::fork::{ForkLimits, Profile};
use infold_core::view::{LastAnswer, RequestKind};
use infold_core::{Counter, Family, Field, Isolation, Prices, Principal, SessionId, ShapeRules, Start};
use infold_engine::{
    Clock, Engine, EngineSettings, ForkSettings, OpenBranch, ScrubFault, ScrubSettings, SessionRef, TimerSettings,
};
use infold_store::{Store, StoreSettings, Synchronous};
use infold_testkit::documented_limits;
use infold_wire::request::Api;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::*;
use crate::{Planning, ProxySettings, Shaping, Tunnels, Upstream, connect, metrics, sessions};

const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"Look."},{"role":"assistant","content":[
    {"type":"thinking","thinking":"hm","signature":"sig"},{"type":"tool_use","id":"t1","name":"Read","input":{}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ghp_16C7e42F292c6912E7710c838347Ae178B4a"}]}]}"#;

fn proxy(folder: &std::path::Path) -> Proxy {
    let synchronous = Synchronous::Normal;
    let store = StoreSettings { synchronous, busy_timeout_ms: 1_000, readers_max: 2, checkpoint_pages: 1_000 };
    let limits = ForkLimits::with_char_budget(200_000);
    let engine = EngineSettings {
        limits: documented_limits(),
        counter: Counter::new(Family::Claude),
        scrub: ScrubSettings { timeout_ms: 5_000, bytes_max: 2 << 20, fault: ScrubFault::None },
        shape: ShapeRules::USUAL,
        isolation: Isolation::Isolated,
        prices: Prices::default(),
        fork: ForkSettings { profile: Profile::Seed, limits, log_bytes_max: 64 << 20 },
        timers: TimerSettings { live_ms: 86_400_000, retention_ms: 90 * 86_400_000 },
    };
    let store = Store::open(&folder.join("test.db"), &store).expect("a database");
    let engine = Engine::new(store, engine, Clock::Set(Arc::new(AtomicU64::new(1))));
    let upstream = Upstream::parse("http://127.0.0.1:1").expect("an address");
    let settings = ProxySettings {
        anthropic: upstream.clone(),
        openai: upstream,
        planning: Planning::On,
        shaping: Shaping::On,
        shape_rules: ShapeRules::USUAL,
        body_bytes_max: 1 << 20,
        tunnels: Tunnels::none(),
        connect_timeout_ms: 1,
        silence_timeout_ms: 1,
        hold_ms: 0,
        retries_max: 0,
        retry_statuses: Vec::new(),
        retry_after_max_ms: 0,
        windows: infold_core::Windows { default_tokens: 200_000, models: Vec::new() },
        reserve_tokens: 60_000,
        sessions_max: 1,
        sessions_bytes_max: 1 << 20,
        tasks: TaskTracker::new(),
    };
    let client = connect::Client::new(&settings);
    let (sessions, metrics) = (sessions::Sessions::new(1, 1 << 20), metrics::Metrics::new());
    Proxy { engine, settings, client, sessions, metrics, shutdown: CancellationToken::new() }
}

async fn unplanned(facts: Option<&Facts>) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    unplanned_by(&proxy(folder.path()), BODY, facts).await
}

async fn unplanned_by(proxy: &Proxy, body: &str, facts: Option<&Facts>) -> String {
    let body = Bytes::copy_from_slice(body.as_bytes());
    let request = Request::read(Api::Messages, &body).expect("a request");
    let identity = Identity {
        who: Principal::local(),
        session: SessionId::parse("s").expect("a name"),
        agent: None,
        kind: RequestKind::Turn,
        client: None,
        digest: None,
    };
    let tools = request.tools_in_reach();
    let (last_answer, scope) = (LastAnswer::Ended, Scope::Lasting);
    let turn = Turn { request: &request, body: &body, identity: &identity, tools: &tools, last_answer, scope };
    let plan = proxy.unplanned(&turn, &mut State::default(), facts).await.expect("a plan");
    String::from_utf8(request.apply(&plan.pieces)).expect("text")
}

#[tokio::test]
async fn what_cannot_be_planned_goes_as_it_came_but_for_its_secrets() {
    let sent = unplanned(None).await;
    assert!(sent.contains("signature") && sent.contains("[SECRET:github-pat:"), "{sent}");
    assert!(!sent.contains("ghp_"), "{sent}");
}

#[tokio::test]
async fn what_cannot_be_planned_goes_without_reasoning_if_the_session_has_folded() {
    let mut facts = Facts::default();
    facts.has_folded = true;
    let sent = unplanned(Some(&facts)).await;
    assert!(!sent.contains("signature") && sent.contains("\"t1\""), "{sent}");
}

#[tokio::test]
async fn where_the_store_cannot_say_the_transcript_tells_whether_the_session_has_folded() {
    let folder = tempfile::tempdir().expect("a folder");
    let proxy = proxy(folder.path());
    let open = OpenBranch {
        session: SessionRef::Id(SessionId::parse("s").expect("a name")),
        parent: None,
        description: "look".to_owned(),
        description_field: Field::BRANCH_DESCRIPTION,
        prompt: None,
        budget_tokens: None,
        timeout_s: None,
        isolation: None,
        start: Start::AtOnce,
        idempotency_key: None,
    };
    let branch = proxy.engine.open_branch(&Principal::local(), open).await.expect("a branch").branch_id;
    let answered = |answer: &str| {
        BODY.replace(r#""name":"Read""#, r#""name":"branch_create""#)
            .replace("ghp_16C7e42F292c6912E7710c838347Ae178B4a", &answer.replace('"', "\\\""))
    };
    let opened = format!(r#"{{"branch_id":"{branch}"}}"#);
    let sent = unplanned_by(&proxy, &answered(&opened), None).await;
    assert!(!sent.contains("signature"), "{sent}");
    let made_up = r#"{"branch_id":"br_00000000-0000-4000-8000-000000000000"}"#;
    let sent = unplanned_by(&proxy, &answered(made_up), None).await;
    assert!(sent.contains("signature"), "{sent}");
}
