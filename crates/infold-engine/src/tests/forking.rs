//! Forks: the child, what it began with, and the parent that stays as it was.

use infold_core::fork::{ForkLimits, Profile};
use infold_core::transcript::{CallOutcome, HeldContent, Item, ItemPosition, Kind, Voice};
use infold_core::{Owner, SessionId};

use super::*;

/// A token as people have them, made here so that no scanner takes this file for a leak.
fn secret() -> String {
    format!("{}{}", "ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
}

fn item(message: u64, kind: Kind) -> Item {
    Item { place: ItemPosition { entry: message + 1, part: 0 }, message, kind }
}

fn user(message: u64, text: &str) -> Item {
    item(message, Kind::User { text: text.to_owned(), voice: Voice::Person })
}

fn call(message: u64, tool: &str, result: &str) -> [Item; 2] {
    let id = format!("c{message}");
    let (tool, text) = (tool.to_owned(), result.to_owned());
    let input = r#"{"path":"a.rs"}"#.to_owned();
    [
        item(message, Kind::Call { id: id.clone(), tool: tool.clone(), input }),
        item(message, Kind::Result { id, tool, text, outcome: CallOutcome::Unsaid, held: HeldContent::Whole }),
    ]
}

fn handed_in(items: Vec<Item>) -> ForkSession {
    ForkSession {
        source: ForkSource::Transcript { items, parent: None },
        prompt: None,
        profile: None,
        child: None,
        idempotency_key: None,
    }
}

fn of_session(session: &str) -> ForkSession {
    let source = ForkSource::Session { session: SessionRef::by_id(session).unwrap(), thread: None };
    ForkSession { source, ..handed_in(Vec::new()) }
}

fn in_main(session: &str, content: &str) -> RecordResult {
    RecordResult { thread: Some("main".to_owned()), ..result(session, content) }
}

fn named(id: &str) -> Option<SessionId> {
    Some(SessionId::parse(id).unwrap())
}

impl Bench {
    async fn fork(&self, request: ForkSession) -> Result<Forked, Error> {
        self.engine.fork(&self.who, request).await
    }

    async fn began_with(&self, forked: &Forked) -> ForkView {
        self.engine.fork_view(&self.who, &SessionRef::Id(forked.session_id.clone())).await.unwrap()
    }
}

#[tokio::test]
async fn a_stored_session_is_forked_and_stays_as_it_was() {
    let bench = Bench::new(settings());
    bench.engine.record_result(&bench.who, result("s", "make: all is well")).await.unwrap();
    let branch = bench.open("s").await.unwrap();
    bench.engine.record_result(&bench.who, result("s", "work inside the branch")).await.unwrap();
    bench.engine.fold_branch(&bench.who, fold(branch.branch_id.as_str(), "it is in parser.rs")).await.unwrap();
    let before = bench.session("s").await;

    let request = ForkSession { prompt: Some("write the tests".to_owned()), ..of_session("s") };
    let forked = bench.fork(request).await.unwrap();
    assert!(forked.session_id.as_str().starts_with("sess_"), "{forked:?}");
    assert_eq!((&forked.parent, forked.profile), (&named("s"), Profile::Seed));
    assert_eq!((forked.stats.original_count, forked.stats.final_count), (2, 2));
    assert_eq!(forked.chars, forked.stats.total_chars as u64);
    assert!(forked.preamble.starts_with("You are working with forked context"), "{}", forked.preamble);

    let view = bench.began_with(&forked).await;
    assert_eq!(view.forked, forked);
    assert_eq!(view.prompt.as_deref(), Some("write the tests"));
    assert!(view.context.contains("make: all is well") && view.context.contains("it is in parser.rs"));
    assert!(!view.context.contains("work inside the branch"), "{}", view.context);
    assert_eq!(view.context.chars().count() as u64, forked.chars);

    let child = bench.session(forked.session_id.as_str()).await.session;
    assert_eq!(child.origin.unwrap().parent, named("s"));
    assert_eq!((child.version, child.main_tokens), (2, 0));
    assert_eq!(bench.session("s").await, before);
}

#[tokio::test]
async fn a_childs_context_is_read_back_in_parts() {
    let bench = Bench::new(settings());
    let forked = bench.fork(handed_in(vec![user(0, "first line\nsecond line")])).await.unwrap();
    let read = ReadResult {
        ref_id: forked.ref_id.to_string(),
        thread: None,
        portion: Portion::Matches { pattern: "second".to_owned(), context: 0, first: 1 },
        limit_bytes: 1_000,
    };
    let part = bench.engine.read_result(&bench.who, &read).await.unwrap();
    assert!(part.content.contains("second line") && !part.content.contains("first"), "{part:?}");
    assert_eq!((part.session_id, part.tool_name.as_str()), (forked.session_id, "context_fork"));
}

#[tokio::test]
async fn a_thread_forks_what_it_sees_itself_and_main_only_when_it_is_named() {
    let bench = Bench::new(settings());
    let branch = bench.open("s").await.unwrap().branch_id;
    bench.engine.record_result(&bench.who, result("s", "work inside the branch")).await.unwrap();
    bench.engine.record_result(&bench.who, in_main("s", "seen in the main thread")).await.unwrap();
    for (thread, seen, unseen) in [
        (Some(branch.to_string()), "work inside the branch", "seen in the main thread"),
        (None, "work inside the branch", "seen in the main thread"),
        (Some("main".to_owned()), "seen in the main thread", "work inside the branch"),
    ] {
        let source = ForkSource::Session { session: SessionRef::by_id("s").unwrap(), thread };
        let forked = bench.fork(ForkSession { source, ..handed_in(Vec::new()) }).await.unwrap();
        let context = bench.began_with(&forked).await.context;
        assert!(context.contains(seen) && !context.contains(unseen), "{context}");
        assert!(context.contains("find the parser"), "{context}");
    }

    bench.open("t").await.unwrap();
    let source = ForkSource::Session { session: SessionRef::by_id("t").unwrap(), thread: Some(branch.to_string()) };
    let others = bench.fork(ForkSession { source, ..handed_in(Vec::new()) }).await;
    assert_eq!(code(others), "branch_not_found");
}

#[tokio::test]
async fn a_fork_of_a_fork_begins_with_what_the_first_began_with() {
    let bench = Bench::new(settings());
    let first = bench.fork(handed_in(vec![user(0, "the very first words")])).await.unwrap();
    let second = bench.fork(of_session(first.session_id.as_str())).await.unwrap();
    assert_eq!(second.parent.as_ref(), Some(&first.session_id));
    assert!(bench.began_with(&second).await.context.contains("the very first words"));
}

#[tokio::test]
async fn secrets_are_taken_out_before_anything_is_cut() {
    let bench = Bench::new(EngineSettings {
        fork: ForkSettings { limits: ForkLimits::with_char_budget(5_000), ..settings().fork },
        ..settings()
    });
    let secret = secret();
    // The oldest of many results is cut after 500 characters, in the middle of its secret.
    let mut items = vec![user(0, &format!("use {secret}"))];
    for at in 1..30 {
        let result = format!("{}{secret} {}", "x".repeat(480), "y".repeat(1_000));
        items.extend(call(at, "read", &result));
    }
    let forked = bench.fork(ForkSession { prompt: Some(format!("send {secret}")), ..handed_in(items) }).await.unwrap();
    let view = bench.began_with(&forked).await;
    for text in [&view.context, &view.forked.preamble, view.prompt.as_ref().unwrap()] {
        assert!(!text.contains(&secret[..12]), "{text}");
    }
    assert!(forked.stats.truncated_results > 0, "{forked:?}");
}

#[tokio::test]
async fn nothing_is_started_when_the_scrubber_fails() {
    for fault in [ScrubFault::Panic, ScrubFault::Stall, ScrubFault::Missing] {
        let scrub = ScrubSettings { timeout_ms: 100, bytes_max: 1 << 20, rules: None, fault };
        let bench = Bench::new(EngineSettings { scrub, ..settings() });
        let request = ForkSession { child: named("child"), ..handed_in(vec![user(0, "hello")]) };
        assert_eq!(code(bench.fork(request).await), "scrubbing_failed");
        assert!(bench.engine.sessions(&bench.who, 0, 10).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_name_that_is_taken_is_refused_and_nothing_changes() {
    let bench = Bench::new(settings());
    bench.open("s").await.unwrap();
    let before = bench.session("s").await;
    let request = ForkSession { child: named("s"), ..handed_in(vec![user(0, "hello")]) };
    assert_eq!(code(bench.fork(request).await), "session_exists");
    assert_eq!(bench.session("s").await, before);

    let request = ForkSession { child: named("child"), ..handed_in(vec![user(0, "hello")]) };
    assert_eq!(bench.fork(request.clone()).await.unwrap().session_id.as_str(), "child");
    assert_eq!(code(bench.fork(request).await), "session_exists");
}

#[tokio::test]
async fn the_same_key_forks_once_and_another_request_with_it_is_refused() {
    let bench = Bench::new(settings());
    let keyed = |text: &str, child: Option<SessionId>| ForkSession {
        idempotency_key: Some("k".to_owned()),
        child,
        ..handed_in(vec![user(0, text)])
    };
    let first = bench.fork(keyed("hello", None)).await.unwrap();
    assert_eq!(bench.fork(keyed("hello", None)).await.unwrap(), first);
    assert_eq!(code(bench.fork(keyed("good bye", None)).await), "idempotency_key_reused");
    let other = Principal { owner: Owner::from_stored("somebody".to_owned()), ..bench.who.clone() };
    let theirs = bench.engine.fork(&other, keyed("hello", None)).await.unwrap();
    assert_ne!(theirs.session_id, first.session_id);

    let wished = bench.fork(keyed("hello", named("child"))).await.unwrap();
    assert_eq!(bench.fork(keyed("hello", named("child"))).await.unwrap(), wished);
    assert_eq!(bench.engine.sessions(&bench.who, 0, 10).await.unwrap().len(), 2);
}

#[tokio::test]
async fn only_ones_own_sessions_are_forked() {
    let bench = Bench::new(settings());
    bench.open("s").await.unwrap();
    let other = Principal { owner: Owner::from_stored("somebody".to_owned()), ..bench.who.clone() };
    let theirs = bench.engine.fork(&other, of_session("s")).await;
    assert_eq!(code(theirs), "session_not_found");
    assert_eq!(code(bench.fork(of_session("never")).await), "session_not_found");

    let forked = bench.fork(of_session("s")).await.unwrap();
    let child = SessionRef::Id(forked.session_id);
    assert_eq!(code(bench.engine.fork_view(&other, &child).await), "session_not_found");
    assert_eq!(code(bench.engine.fork_view(&bench.who, &SessionRef::by_id("s").unwrap()).await), "not_a_fork");
}

#[tokio::test]
async fn a_transcript_remembers_what_its_caller_says_it_is_of() {
    let bench = Bench::new(settings());
    let of = |parent: SessionRef| ForkSource::Transcript { items: vec![user(0, "hello")], parent: Some(parent) };
    let outside = ForkSession { source: of(SessionRef::by_id("ses_0123").unwrap()), ..handed_in(Vec::new()) };
    assert_eq!(bench.fork(outside).await.unwrap().parent, named("ses_0123"));

    let project = SessionRef::by_project("/projects/a", None).unwrap();
    let nobody = ForkSession { source: of(project.clone()), child: named("first"), ..handed_in(Vec::new()) };
    assert_eq!(bench.fork(nobody).await.unwrap().parent, None);
    let known = ForkSession { source: of(project), ..handed_in(Vec::new()) };
    let forked = bench.fork(known).await.unwrap();
    assert_eq!(forked.parent, named("first"));
    let in_project = SessionRef::by_project("/projects/a", Some(forked.session_id.as_str())).unwrap();
    assert!(bench.engine.session(&bench.who, &in_project).await.is_ok());

    let leaky = SessionRef::by_id(&secret()).unwrap();
    let leaky = ForkSession { source: of(leaky), ..handed_in(Vec::new()) };
    assert_eq!(code(bench.fork(leaky).await), "invalid_input");
}

#[tokio::test]
async fn what_holds_nothing_cannot_be_forked() {
    let bench = Bench::new(settings());
    let empty = bench.fork(handed_in(Vec::new())).await.unwrap_err();
    assert_eq!(empty.to_string(), "transcript holds no messages, so there is nothing to fork from");
    let prompt = Some("x".repeat(10_001));
    let long = ForkSession { prompt, ..handed_in(vec![user(0, "hello")]) };
    assert_eq!(code(bench.fork(long).await), "invalid_input");
    let log_bytes_max = 10;
    let bench = Bench::new(EngineSettings { fork: ForkSettings { log_bytes_max, ..settings().fork }, ..settings() });
    bench.open("s").await.unwrap();
    assert_eq!(code(bench.fork(of_session("s")).await), "invalid_input");
}

#[tokio::test]
async fn of_two_that_want_one_name_one_gets_it() {
    let bench = Bench::new(settings());
    let other = bench.another(settings());
    let request = |text: &str| ForkSession { child: named("child"), ..handed_in(vec![user(0, text)]) };
    let (one, two) = tokio::join!(bench.fork(request("one")), other.fork(&bench.who, request("two")));
    let outcomes = [one.map_err(|error| error.code()), two.map_err(|error| error.code())];
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    assert!(outcomes.iter().any(|outcome| outcome.as_ref().err() == Some(&"session_exists")), "{outcomes:?}");
    let child = SessionRef::by_id("child").unwrap();
    let view = bench.engine.fork_view(&bench.who, &child).await.unwrap();
    assert!(outcomes.contains(&Ok(view.forked)));
}
