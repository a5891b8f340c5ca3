//! Every kind of bad server at once behind one daemon, with a good one beside them. Calls end within their limits in words
//! that say what to do, the good one goes on, and nothing is left behind: no memory, no open file, no process, no secret.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use infold_testkit::misbehave::{CANARY, Misbehaviour, TOOL};
use infold_testkit::{CallAnswer, Daemon, DaemonSetup, Era, McpHttp};
use serde_json::{Value, json};

use super::processes::{marked, until_gone};
use super::relaying::{echo_tools, names, said, server, setup, text_result};
use super::{MARK, mark};
use crate::support::{PATIENCE, POLL, Secret, secrets, whereabouts};

/// How long a server has that is expected to use its time up.
const SHORT_MS: u64 = 1_500;
/// How long one has that is expected to answer, on a machine that is busy.
const LONG_MS: u64 = 20_000;
/// What the daemon may have more in memory than before, in kilobytes: what the allocator has not given back yet.
const MEMORY_KB_MAX: u64 = 64 << 10;

/// What a call of a bad server gives.
enum BadEnd {
    Done,
    /// An error with these words.
    Fails(&'static str),
}

fn outcome(kind: Misbehaviour) -> BadEnd {
    match kind {
        Misbehaviour::Relists
        | Misbehaviour::Garbage
        | Misbehaviour::Endless
        | Misbehaviour::Shadows
        | Misbehaviour::Escapes
        | Misbehaviour::Forks
        | Misbehaviour::Answers
        | Misbehaviour::Asks
        | Misbehaviour::Lies
        | Misbehaviour::Noisy => BadEnd::Done,
        Misbehaviour::Floods | Misbehaviour::Hangs | Misbehaviour::Deaf | Misbehaviour::Slow => {
            BadEnd::Fails("the server did not answer tools/call within 1500 ms: raise its time limit")
        }
        Misbehaviour::Changing => BadEnd::Fails("was changed by its server since it was approved"),
        Misbehaviour::NeverStarts => BadEnd::Fails("the server did not answer initialize within"),
        Misbehaviour::Dripping => BadEnd::Fails("the server did not answer tools/list within 1500 ms"),
        Misbehaviour::Giant => BadEnd::Fails("longer than 33554432 bytes: ask for less at a time"),
        Misbehaviour::Deep | Misbehaviour::Bulky => BadEnd::Fails("is nested too deeply, or has too many parts"),
        Misbehaviour::CrashesAtStart => BadEnd::Fails("the server ended (exit code 3)"),
        Misbehaviour::CrashesInCall => BadEnd::Fails("the server ended (exit code 137)"),
    }
}

/// Settings of a bad server.
fn entry(kind: Misbehaviour, mark: &str, canary: &Secret) -> Value {
    let is_late = matches!(kind, Misbehaviour::NeverStarts | Misbehaviour::Dripping);
    let uses_up = matches!(outcome(kind), BadEnd::Fails(words) if words.contains("tools/call"));
    json!({
        "name": kind.name(), "command": "sh", "args": ["-c", kind.script()],
        "env": { MARK: mark, CANARY: canary.text },
        "start_timeout_ms": if is_late { SHORT_MS } else { LONG_MS },
        "timeout_ms": if uses_up { SHORT_MS } else { LONG_MS },
        "trust_hints": false,
    })
}

fn daemon(mark: &str, canary: &Secret) -> DaemonSetup {
    let mut servers: Vec<Value> = Misbehaviour::ALL.iter().map(|kind| entry(*kind, mark, canary)).collect();
    let mut good = server("good", &echo_tools(), &text_result("fine"));
    good["env"] = json!({ MARK: mark });
    servers.push(good);
    setup(&servers)
        .set("gateway.idle_ms", 1_000)
        .set("gateway.deferral_tokens", 50_000)
        .set("gateway.deferral_percent", 50)
        .set("telemetry.log_level", "debug")
}

/// What the daemon holds of the machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    files: usize,
    memory_kb: u64,
}

impl Held {
    pub(super) fn by(daemon: &Daemon) -> Result<Self> {
        let pid = daemon.pid()?;
        let files = std::fs::read_dir(format!("/proc/{pid}/fd"))?.count();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        Ok(Self { files, memory_kb: memory.trim().trim_end_matches(" kB").parse()? })
    }
}

/// Waits until the daemon holds as much as before, or hardly more.
pub(super) async fn until_back(daemon: &Daemon, before: Held) -> Result<()> {
    let begin = Instant::now();
    loop {
        let now = Held::by(daemon)?;
        if now.files <= before.files + 4 && now.memory_kb <= before.memory_kb + MEMORY_KB_MAX {
            return Ok(());
        }
        ensure!(begin.elapsed() < PATIENCE, "before: {before:?}, now: {now:?}");
        tokio::time::sleep(POLL).await;
    }
}

async fn gone(mark: &str) -> Result<()> {
    let mark = mark.to_owned();
    Ok(tokio::task::spawn_blocking(move || until_gone(&mark)).await?)
}

async fn call_bad(base_url: &str, kind: Misbehaviour) -> Result<CallAnswer> {
    let client = McpHttp::connect(base_url, Era::Modern).await?;
    // With progress asked for, a flood has a way to the client.
    let meta = serde_json::Map::from_iter([("progressToken".to_owned(), json!(kind.name()))]);
    Ok(client.call_with_meta(&format!("{}__{TOOL}", kind.name()), json!({}), meta).await?)
}

/// Calls every bad server at once, and the good one all the while.
async fn call_all(daemon: &Daemon) -> Result<Vec<(Misbehaviour, CallAnswer)>> {
    let is_over = Arc::new(AtomicBool::new(false));
    let good = {
        let (url, is_over) = (daemon.base_url().to_owned(), is_over.clone());
        tokio::spawn(async move {
            let client = McpHttp::connect(&url, Era::Modern).await?;
            let mut calls = 0;
            while !is_over.load(Ordering::Relaxed) || calls == 0 {
                let answer = client.call("good__read_file", json!({ "path": "a" })).await?;
                ensure!(answer.text == "fine", "call {calls} of the good server gave {}", answer.summary());
                calls += 1;
            }
            Ok(calls)
        })
    };
    let mut calling = tokio::task::JoinSet::new();
    for kind in Misbehaviour::ALL {
        let url = daemon.base_url().to_owned();
        calling.spawn(async move { (kind, call_bad(&url, kind).await) });
    }
    let answers = calling.join_all().await;
    is_over.store(true, Ordering::Relaxed);
    good.await??;
    answers.into_iter().map(|(kind, answer)| Ok((kind, answer?))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_servers_harm_neither_a_good_one_nor_the_daemon() -> Result<()> {
    let (mark, canary) = (mark(), secrets(12).swap_remove(0));
    let mut daemon = daemon(&mark, &canary).start().await?;
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    check_list(&client.list_tools().await?);
    gone(&mark).await?;
    let before = Held::by(&daemon)?;

    for (kind, answer) in call_all(&daemon).await? {
        check(kind, &answer);
    }
    gone(&mark).await?;
    until_back(&daemon, before).await?;

    // Whichever way the daemon ends, none of its servers is left.
    let lasting = [Misbehaviour::Forks, Misbehaviour::Deaf, Misbehaviour::Floods, Misbehaviour::Noisy];
    for kind in lasting {
        call_bad(daemon.base_url(), kind).await?;
    }
    assert!(!marked(&mark).is_empty());
    daemon.terminate().await?;
    assert!(marked(&mark).is_empty(), "{:?}", marked(&mark));
    daemon.restart().await?;
    for kind in lasting {
        call_bad(daemon.base_url(), kind).await?;
    }
    daemon.kill9().await?;
    gone(&mark).await?;

    let found = whereabouts(&[canary], &daemon)?;
    assert!(found.is_empty(), "{found:#?}");
    Ok(())
}

fn check(kind: Misbehaviour, answer: &CallAnswer) {
    let said = answer.summary();
    match outcome(kind) {
        BadEnd::Done => assert!(answer.is_ok(), "{kind:?}: {said}"),
        BadEnd::Fails(words) => {
            assert!(answer.is_error && said.contains(words), "{kind:?}: {said}");
            assert!(said.contains(&kind.name()), "{kind:?} is not named: {said}");
        }
    }
    if kind == Misbehaviour::Escapes {
        check_clean(&answer.result);
    }
    if kind == Misbehaviour::Floods {
        // At most twenty a second, for a second and a half.
        assert!(answer.notifications.len() < 100, "{} notices", answer.notifications.len());
    }
}

/// Nothing that a person would not see is in a value.
fn check_clean(value: &Value) {
    let text = value.to_string();
    let hides = |c: char| {
        c.is_control() || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let is_tag = |c: char| ('\u{e0000}'..='\u{e007f}').contains(&c);
    assert!(!text.contains("\\u001b") && !text.contains("aGk="), "{text}");
    assert!(!text.chars().any(|c| hides(c) || is_tag(c)), "{text:?}");
}

/// What is listed has names of its own, which say whose they are, and words without anything hidden.
fn check_list(listed: &[Value]) {
    let names = names(listed);
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), names.len(), "{names:?}");
    assert!(names.iter().all(|name| name.len() <= 64), "{names:?}");
    let of = |kind: Misbehaviour| names.iter().filter(move |name| name.starts_with(&format!("{}__", kind.name())));
    assert_eq!(of(Misbehaviour::Shadows).count(), 8, "{names:?}");
    assert_eq!(of(Misbehaviour::Escapes).count(), 1, "{names:?}");
    assert_eq!(of(Misbehaviour::Endless).count(), 100, "{names:?}");
    check_clean(&json!(listed));
    let lies = listed.iter().find(|tool| tool["name"] == format!("{}__{TOOL}", Misbehaviour::Lies.name()));
    assert_ne!(lies.map(|tool| &tool["annotations"]["readOnlyHint"]), Some(&json!(true)));
}

#[tokio::test]
async fn a_server_without_a_prefix_cannot_take_the_place_of_our_tools() -> Result<()> {
    let (mark, canary) = (mark(), secrets(13).swap_remove(0));
    let mut entry = entry(Misbehaviour::Shadows, &mark, &canary);
    entry["prefix"] = json!("");
    let daemon = setup(&[entry]).start().await?;
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    let listed = client.list_tools().await?;
    assert_eq!(names(&listed).iter().filter(|name| **name == "branch_create").count(), 1);
    let ours = client.call("branch_create", json!({ "session_id": "s", "description": "d", "prompt": "p" })).await?;
    assert!(ours.field("branch_id").is_string(), "{}", ours.summary());
    assert_eq!(said(client.call(TOOL, json!({})).await?), ("done".to_owned(), false));
    Ok(())
}

#[tokio::test]
async fn definitions_that_change_with_each_start_are_withheld() -> Result<()> {
    let (mark, canary) = (mark(), secrets(14).swap_remove(0));
    let daemon = setup(&[entry(Misbehaviour::Changing, &mark, &canary)]).start().await?;
    let first = call_bad(daemon.base_url(), Misbehaviour::Changing).await?;
    assert_eq!(said(first), ("done".to_owned(), false));
    // It ends after a call, and the next start has other words.
    let begin = Instant::now();
    loop {
        let answer = call_bad(daemon.base_url(), Misbehaviour::Changing).await?;
        if answer.is_error && answer.text.contains("was changed by its server since it was approved") {
            return Ok(());
        }
        ensure!(begin.elapsed() < PATIENCE, "{}", answer.summary());
        tokio::time::sleep(POLL).await;
    }
}

#[tokio::test]
async fn errors_of_a_server_have_neither_escapes_nor_the_users_values() -> Result<()> {
    let (mark, canary) = (mark(), secrets(15).swap_remove(0));
    let mut entry = entry(Misbehaviour::Escapes, &mark, &canary);
    // A value that no rule for secrets knows.
    entry["env"][CANARY] = json!("plain-words-of-the-user");
    let daemon = setup(&[entry]).start().await?;
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    let tool = format!("{}__{TOOL}", Misbehaviour::Escapes.name());
    let error = client.call(&tool, json!({ "how": "error" })).await?.jsonrpc_error.context("no error")?;
    assert_eq!((error.code, error.message.as_str()), (-32001, "gone [hidden]"));
    check_clean(&error.data);
    Ok(())
}

#[tokio::test]
async fn a_server_that_could_not_start_at_first_is_tried_again() -> Result<()> {
    let (mark, folder) = (mark(), infold_testkit::TempFolder::new()?);
    let flag = folder.join("may-start");
    let mut late = server("late", &echo_tools(), &text_result("here"));
    let script = late["args"][1].as_str().unwrap_or_default();
    late["args"][1] = json!(format!("[ -e {} ] || exit 4\n{script}", flag.display()));
    late["env"] = json!({ MARK: mark });
    let daemon = setup(&[late]).start().await?;
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    let call = async || client.call("late__read_file", json!({ "path": "a" })).await;
    let (why, is_error) = said(call().await?);
    assert!(is_error && why.contains("late") && why.contains("exit code 4"), "{why}");
    std::fs::write(&flag, "")?;
    let begin = Instant::now();
    while call().await?.is_error {
        ensure!(begin.elapsed() < PATIENCE, "it is not tried again");
        tokio::time::sleep(POLL).await;
    }
    assert!(names(&client.list_tools().await?).contains(&"late__read_file"));
    Ok(())
}
