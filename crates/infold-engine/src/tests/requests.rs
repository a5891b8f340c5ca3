//! The flight recorder: what is recorded of requests, and what is learnt from them.

use std::borrow::Cow;

use infold_core::record::{AnswerEnd, Cause, RequestRecord, Timing, Usage, WarningKind};
use infold_core::transcript::Voice;
use infold_core::view::{Block, BlockKey, BlockKind, CallBlock, Edit, Reason, RequestKind, ResultBlock, ViewPiece};
use infold_core::{Price, Prices, SessionId, Thread};

use super::*;

const SYSTEM: &str = "You are careful.";
const MODEL: &str = "claude-opus-4-6";
/// In these texts `call Read` and the like are calls, `Read: …` their results, `me: …` a person's words.
const TALK: [&str; 4] = ["me: fix the bug", "call Read", "Read: fn main() {}", "model: done"];

fn block<'a>(at: usize, line: &'a str) -> Block<'a> {
    let mut key = [0; 16];
    key.copy_from_slice(&blake3::hash(line.as_bytes()).as_bytes()[..16]);
    let kind = match line.split_once([' ', ':']) {
        Some(("me", _)) => BlockKind::User { voice: Voice::Person },
        Some(("model", _)) => BlockKind::Assistant,
        Some(("call", tool)) => {
            BlockKind::Call(CallBlock { id: Cow::Borrowed(tool), tool: Cow::Borrowed(tool), arguments: None })
        }
        Some((tool, _)) => BlockKind::Result(ResultBlock {
            call: Cow::Borrowed(tool),
            content: BlockKey(key),
            content_bytes: line.len(),
            text: None,
            loads: Vec::new(),
            remarks: Vec::new(),
        }),
        None => BlockKind::Reasoning,
    };
    Block { entry: at, key: BlockKey(key), kind }
}

fn parts(engine: &Engine, lines: &[&str], pieces: Option<&[ViewPiece]>) -> PromptParts {
    let blocks: Vec<Block<'_>> = lines.iter().enumerate().map(|(at, line)| block(at, line)).collect();
    let front = [PromptFront { kind: FrontKind::System, text: SYSTEM }];
    let words = |at: usize| Cow::Borrowed(lines[at]);
    engine.parts(&PromptInput { front: &front, blocks: &blocks, pieces, words: &words })
}

fn usage(cache_read_tokens: u64, cache_write_tokens: u64) -> Usage {
    Usage { fresh_tokens: 0, cache_read_tokens, cache_write_tokens, output_tokens: 10 }
}

fn seen(engine: &Engine, lines: &[&str], usage: Usage) -> RequestSeen {
    RequestSeen {
        session: SessionId::parse("s").unwrap(),
        agent: None,
        thread: Thread::Main,
        api: "messages",
        model: MODEL.to_owned(),
        window_tokens: None,
        kind: RequestKind::Turn,
        client: Some("claude-code".to_owned()),
        parts: parts(engine, lines, None),
        edits: Vec::new(),
        usage: Some(usage),
        estimated: None,
        timing: Timing { added_us: 800, first_byte_ms: Some(30), total_ms: 200 },
        status: Some(200),
        end: AnswerEnd::Completed,
        warnings: Vec::new(),
    }
}

async fn rows(bench: &Bench) -> Vec<RequestRecord> {
    let query = RequestQuery { session: None, selection: RequestSelection::After(0), limit: 100 };
    let rows = bench.engine.requests(&bench.who, query).await.unwrap();
    rows.into_iter().map(|row| row.record).collect()
}

async fn log(bench: &Bench, requests: Vec<RequestSeen>) -> Vec<RequestRecord> {
    for request in requests {
        bench.engine.record_request(&bench.who, request).await;
    }
    rows(bench).await
}

fn causes(rows: &[RequestRecord]) -> Vec<Option<String>> {
    rows.iter().map(|row| row.miss.as_ref().map(|miss| miss.cause.to_string())).collect()
}

fn priced() -> EngineSettings {
    let price =
        Price { model: "claude*".to_owned(), input: 5.0, output: 25.0, cache_read: 0.5, cache_write: Some(6.25) };
    EngineSettings { prices: Prices(vec![price]), ..settings() }
}

#[tokio::test]
async fn a_request_is_recorded_with_what_it_was_made_of() {
    let bench = Bench::new(settings());
    let mut request = seen(&bench.engine, &TALK, usage(0, 5_000));
    request.warnings = vec![(WarningKind::Loop, "the same call three times".to_owned())];
    let rows = log(&bench, vec![request]).await;
    let [row] = rows.as_slice() else { panic!("one row") };
    assert_eq!((row.model.as_str(), row.api.as_str()), (MODEL, "messages"));
    assert_eq!(row.client.as_ref().unwrap().as_str(), "claude-code");
    assert_eq!(row.at_ms, START_MS - 200);
    assert!(row.sent.system_tokens > 0 && row.sent.user_tokens > 0 && row.sent.call_tokens > 0);
    assert_eq!(row.sent.results[0].name.as_str(), "Read");
    assert_eq!(row.wanted, row.sent);
    assert_eq!(row.warnings[0].text.as_str(), "the same call three times");
    assert_eq!(row.cost_micros, None);
}

#[tokio::test]
async fn the_cause_of_a_miss_is_the_first_place_that_differs() {
    let bench = Bench::new(settings());
    let engine = &bench.engine;
    let longer = ["me: fix the bug", "call Read", "Read: fn main() {}", "model: done", "me: more"];
    let cleared = ["me: fix the bug", "call Read", "Read: [cleared]", "model: done", "me: more"];
    let back = ["me: fix the bug", "me: another way"];
    let requests = vec![
        seen(engine, &TALK, usage(0, 50_000)),
        seen(engine, &longer, usage(50_000, 100)),
        seen(engine, &cleared, usage(2_000, 48_000)),
        seen(engine, &back, usage(0, 2_000)),
        RequestSeen { model: "claude-haiku-4-5".to_owned(), ..seen(engine, &back, usage(0, 2_000)) },
    ];
    let rows = log(&bench, requests).await;
    assert_eq!(
        causes(&rows),
        [
            // The model has spoken in it, so it was sent before, by another process.
            Some("infold was started since the request before".to_owned()),
            None,
            Some("the client changed a result of Read (part 4 of 6)".to_owned()),
            // What both begin with is too short to be reported.
            None,
            Some(format!("the request before went to {MODEL}")),
        ]
    );
    assert_eq!(rows[2].miss.as_ref().unwrap().missed_tokens, 48_000);
}

#[tokio::test]
async fn a_cache_that_has_lapsed_is_distinguished_from_one_that_was_never_filled() {
    let bench = Bench::new(settings());
    let engine = &bench.engine;
    let first = ["me: fix the bug"];
    let rows = log(&bench, vec![seen(engine, &first, usage(0, 40_000)), seen(engine, &TALK, usage(0, 40_100))]).await;
    assert_eq!(rows[0].miss, None);
    assert_eq!(rows[1].miss.as_ref().unwrap().cause, Cause::NotCached);
    bench.pass(9 * 60_000);
    let rows = log(&bench, vec![seen(engine, &TALK, usage(0, 40_100))]).await;
    assert_eq!(rows[2].miss.as_ref().unwrap().cause, Cause::Lapsed { idle_ms: 9 * 60_000 });
}

#[tokio::test]
async fn side_calls_neither_miss_nor_hide_the_request_before() {
    let bench = Bench::new(settings());
    let engine = &bench.engine;
    let longer = ["me: fix the bug", "call Read", "Read: fn main() {}", "model: done", "me: more"];
    let side = RequestSeen { kind: RequestKind::Side, ..seen(engine, &["me: a title"], usage(0, 9_000)) };
    let rows =
        log(&bench, vec![seen(engine, &TALK[..1], usage(0, 50_000)), side, seen(engine, &longer, usage(50_000, 9))])
            .await;
    assert_eq!(causes(&rows), [None, None, None]);
}

#[tokio::test]
async fn what_was_not_sent_is_saved_and_priced() {
    let bench = Bench::new(priced());
    let engine = &bench.engine;
    let long = format!("Read: {}", "let it be; ".repeat(4_000));
    let work = ["me: fix the bug", "call Read", &long, "model: found"];
    let first = seen(engine, &work, usage(0, 20_000));
    let folded = ["me: fix the bug", "call Read", &long, "model: found", "me: go on"];
    let pieces = [
        ViewPiece::Keep(0),
        ViewPiece::Keep(1),
        ViewPiece::Text { block: 2, text: "found".to_owned() },
        ViewPiece::Keep(4),
    ];
    let second = RequestSeen {
        parts: parts(engine, &folded, Some(&pieces)),
        edits: vec![Edit { reason: Reason::Folded, blocks: 2 }],
        ..seen(engine, &folded, usage(400, 200))
    };
    let rows = log(&bench, vec![first, second]).await;

    assert_eq!(rows[0].cost_micros, rows[0].wanted_cost_micros);
    assert_eq!(rows[0].cost_micros, Some(20_000 * 625 / 100 + 250));
    assert!(rows[1].saved_tokens() > 10_000, "{}", rows[1].saved_tokens());
    assert_eq!(rows[1].cost_micros, Some(200 + 1_250 + 250));
    // Nearly all of what was wanted had been sent before, so most of it would have been read from the cache.
    let (cost, wanted) = (rows[1].cost_micros.unwrap(), rows[1].wanted_cost_micros.unwrap());
    assert!(wanted > cost * 3, "{wanted} against {cost}");
    let totals = engine.request_totals(&bench.who, None).await.unwrap()[0].1;
    assert_eq!((totals.requests, totals.edited, totals.priced), (2, 1, 2));
    assert!(totals.saved_micros() > 0);
}

#[tokio::test]
async fn names_with_secrets_in_them_are_scrubbed_and_bounded() {
    let bench = Bench::new(settings());
    let secret = format!("ghp_{}", "Zk3v9QmT1xR7bN5cW8yL2pD4sF6hJ0aGuEiO");
    let mut request = seen(&bench.engine, &TALK, usage(0, 5_000));
    request.model = format!("model-{secret}");
    request.agent = Some("a".repeat(500));
    request.warnings = vec![(WarningKind::Other, format!("wrote {secret} somewhere"))];
    let rows = log(&bench, vec![request]).await;
    let json = serde_json::to_string(&rows).unwrap();
    assert!(!json.contains(&secret), "{json}");
    assert_eq!(rows[0].agent.as_ref().unwrap().len_chars(), 80);
}

#[tokio::test]
async fn names_are_withheld_if_the_scrubber_is_gone() {
    let scrub = ScrubSettings { fault: ScrubFault::Missing, ..settings().scrub };
    let bench = Bench::new(EngineSettings { scrub, ..settings() });
    let mut request = seen(&bench.engine, &TALK, usage(0, 5_000));
    request.warnings = vec![(WarningKind::Other, "a text".to_owned())];
    let rows = log(&bench, vec![request]).await;
    assert_eq!(rows[0].model.as_str(), "(withheld)");
    assert_eq!(rows[0].warnings[0].text.as_str(), "(withheld: it could not be scrubbed)");
}

#[tokio::test]
async fn too_many_rows_at_once_are_dropped_and_counted() {
    let bench = Bench::new(settings());
    let request = seen(&bench.engine, &TALK[..1], usage(0, 10));
    for _ in 0..1_030 {
        bench.engine.record_request(&bench.who, request.clone()).await;
    }
    assert_eq!(bench.engine.requests_dropped(), 6);
    assert_eq!(bench.engine.request_totals(&bench.who, None).await.unwrap()[0].1.requests, 1_024);
}

#[tokio::test]
async fn our_count_follows_the_providers_and_a_stray_one_is_a_warning() {
    let bench = Bench::new(settings());
    let engine = &bench.engine;
    let long = format!("me: {}", "count these words; ".repeat(2_000));
    let ours = engine.counter_for(MODEL).count(&long) + engine.counter_for(MODEL).count(SYSTEM);
    for _ in 0..6 {
        engine.record_request(&bench.who, seen(engine, &[&long], usage(0, ours * 12 / 10))).await;
    }
    let learnt = engine.counter_for(MODEL).count(&long) as f64 / ours as f64;
    assert!((1.15..1.22).contains(&learnt), "{learnt}");
    assert_eq!(engine.counter_for("gpt-5.5").count("word"), 1);

    engine.record_request(&bench.who, seen(engine, &[&long], usage(0, ours * 2))).await;
    let rows = rows(&bench).await;
    assert_eq!(rows[5].warnings, []);
    let [warning] = rows[6].warnings.as_slice() else { panic!("a warning") };
    assert_eq!(warning.kind, WarningKind::CountDrift);
    assert!(warning.text.as_str().starts_with("the provider counted "), "{}", warning.text.as_str());

    // Another process, or this one after a restart, goes on from what was learnt.
    let again = bench.another(settings());
    assert!(again.counter_for(MODEL).count(&long) > ours * 11 / 10);
    let calibrations = again.calibrations().await.unwrap();
    assert_eq!((calibrations[0].family, calibrations[0].samples), (Family::Claude, 7));
}

#[tokio::test]
async fn a_session_learns_how_its_own_provider_counts_and_foretells_its_prompts() {
    let bench = Bench::new(settings());
    let (engine, owner) = (&bench.engine, &bench.who.owner);
    let lines: Vec<String> = (0..24).map(|at| format!("me: {at} {}", "count these words; ".repeat(400))).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let ours = |upto: usize| parts(engine, &lines[..upto], None).sent_tokens(&Counter::new(Family::Claude));
    // The provider adds 5,000 tokens that nobody sees, and counts a tenth more than infold.
    let theirs = |upto: usize| ours(upto) * 11 / 10 + 5_000;
    for upto in 1..24 {
        engine.record_request(&bench.who, seen(engine, &lines[..upto], usage(0, theirs(upto)))).await;
    }
    let session = SessionId::parse("s").unwrap();
    let plain = Counter::new(Family::Claude).count(lines[23]) as f64;
    let learnt = engine.counter_in(owner, &session).count(lines[23]) as f64 / plain;
    assert!((1.08..1.12).contains(&learnt), "{learnt}");
    let foretold = engine.calibration_in(owner, &session, MODEL).prompt_tokens(ours(24));
    assert!(foretold.abs_diff(theirs(24)) < 100, "{foretold}, {}", theirs(24));

    // Another session starts from what was seen of all; one of another family from nothing.
    let other = SessionId::parse("t").unwrap();
    assert_eq!(engine.counter_in(owner, &other), settings().counter);
    let all = engine.calibration_in(owner, &other, MODEL);
    assert_eq!(all.counter(), engine.counter_for(MODEL));
    assert_eq!(engine.calibration_in(owner, &session, "gpt-5.5").counter(), Counter::new(Family::Gpt));
}

#[tokio::test]
async fn rows_are_written_by_the_timers_and_go_when_their_time_is_over() {
    let bench = Bench::new(settings());
    let cancel = tokio_util::sync::CancellationToken::new();
    bench.engine.record_request(&bench.who, seen(&bench.engine, &TALK, usage(0, 10))).await;
    cancel.cancel();
    bench.engine.run_timers(cancel).await;
    let other = bench.another(settings());
    assert_eq!(other.request_totals(&bench.who, None).await.unwrap().len(), 1);

    bench.pass(91 * 24 * 3_600_000);
    bench.engine.sweep().await.unwrap();
    assert_eq!(other.request_totals(&bench.who, None).await.unwrap().len(), 0);
    assert_eq!(rows(&bench).await, []);
}

#[tokio::test]
async fn a_branch_is_metered_into_its_budget_and_folds_when_that_is_gone() {
    let bench = Bench::new(settings());
    let session = SessionId::parse("s").unwrap();
    assert_eq!(bench.engine.meter(&bench.who, &session, &Thread::Main, &usage(0, 900)).await.unwrap(), None);
    assert_eq!(bench.session("s").await.session.main_tokens, 10);

    let opened = bench.open("s").await.unwrap();
    let thread = Thread::Branch(opened.branch_id.clone());
    let answer = |output_tokens| Usage { output_tokens, ..Usage::default() };
    assert_eq!(bench.engine.meter(&bench.who, &session, &thread, &answer(7_000)).await.unwrap(), None);
    let folded = bench.engine.meter(&bench.who, &session, &thread, &answer(7_000)).await.unwrap().unwrap();
    assert_eq!((folded.branch_id, folded.reason.as_str()), (opened.branch_id, "budget exhausted"));
    assert_eq!(bench.engine.meter(&bench.who, &session, &thread, &answer(7_000)).await.unwrap(), None);
}

#[tokio::test]
async fn what_is_not_reported_is_estimated_as_the_provider_counts_and_nothing_is_learnt_from_it() {
    let bench = Bench::new(settings());
    let engine = &bench.engine;
    let parts = parts(engine, &TALK, None);
    let words = "the harbour is quiet ".repeat(100);
    let spoken = |text: &str, text_bytes| Spoken {
        text: text.to_owned(),
        text_bytes,
        calls: vec![("Read".to_owned(), "{}".to_owned())],
    };
    let whole = engine.estimate(MODEL, &parts, &spoken(&words, words.len()), None).unwrap();
    let counter = engine.counter_for(MODEL);
    assert_eq!(whole.fresh_tokens, parts.sent_tokens(&counter));
    assert!(whole.output_tokens > counter.count(&words), "{whole:?}");
    let cut = engine.estimate(MODEL, &parts, &spoken(&words, words.len() * 10), None).unwrap();
    assert_eq!(cut.output_tokens - whole.output_tokens, 9 * counter.count(&words), "the rest is estimated too");
    let reported = |output_tokens| Usage { fresh_tokens: 9, output_tokens, ..Usage::default() };
    let rest = engine.estimate(MODEL, &parts, &spoken(&words, words.len()), Some(&reported(1))).unwrap();
    assert_eq!((rest.prompt_tokens(), rest.output_tokens), (0, whole.output_tokens - 1));
    assert_eq!(engine.estimate(MODEL, &parts, &spoken("", 0), Some(&reported(500))), None);

    let unreported = RequestSeen { usage: None, estimated: Some(reported(90_000)), ..seen(engine, &TALK, usage(0, 1)) };
    let rows = log(&bench, vec![unreported]).await;
    assert_eq!((rows[0].usage, rows[0].estimated, rows[0].cost_micros), (None, Some(reported(90_000)), None));
    assert_eq!(bench.engine.calibrations().await.unwrap(), []);
}
