//! Records: sums, the words for causes, and where two prompts stop being the same.

use super::*;
use crate::view::{BlockKey, Reason};
use crate::{Counter, Family, Price, Prices, Scrubber, TextSize};

fn part(kind: PartKind, name: Option<&str>, key: u8, tokens: u32) -> Part {
    let size = TextSize { written_tokens: tokens, read_tokens: tokens, ..TextSize::default() };
    Part { kind, name: name.map(Into::into), key: BlockKey([key; 16]), size, by: PartAuthor::Client }
}

fn words(keys: &[u8]) -> Vec<Part> {
    keys.iter().map(|key| part(PartKind::User, None, *key, 10)).collect()
}

fn marks(keys: &[u8]) -> Vec<u64> {
    words(keys).iter().map(Part::mark).collect()
}

fn scrubbed(text: &str) -> Scrubbed {
    Scrubber::new([7; 32]).scrub(text).unwrap()
}

fn record() -> RequestRecord {
    let parts = [part(PartKind::System, None, 1, 100), part(PartKind::Result, Some("Read"), 2, 900)];
    let counter = Counter::new(Family::Gpt);
    RequestRecord {
        session: SessionId::parse("s").unwrap(),
        agent: None,
        thread: Thread::Main,
        at_ms: 7,
        api: Scrubbed::fixed("messages"),
        model: Scrubbed::fixed("m"),
        window_tokens: None,
        kind: RequestKind::Turn,
        client: None,
        wanted: TokenBreakdown::of(&parts, &counter, scrubbed),
        sent: TokenBreakdown::of(&parts[..1], &counter, scrubbed),
        edits: vec![Edit { reason: Reason::Folded, blocks: 3 }],
        usage: Some(Usage { fresh_tokens: 1, cache_read_tokens: 60, cache_write_tokens: 39, output_tokens: 5 }),
        estimated: None,
        miss: None,
        cost_micros: Some(10),
        wanted_cost_micros: Some(30),
        timing: Timing { added_us: 900, first_byte_ms: Some(4), total_ms: 9 },
        status: Some(200),
        end: AnswerEnd::Completed,
        warnings: Vec::new(),
    }
}

#[test]
fn a_prompt_extends_cuts_back_or_is_changed_in_the_middle() {
    let before = marks(&[1, 2, 3, 4]);
    assert_eq!(diverge(&before, &words(&[1, 2, 3, 4, 5])), Divergence::Extends);
    assert_eq!(diverge(&before, &words(&[1, 2, 3, 4])), Divergence::Extends);
    assert_eq!(diverge(&before, &words(&[1, 2, 9])), Divergence::CutBack { shared: 2 });
    assert_eq!(diverge(&before, &words(&[1, 2])), Divergence::CutBack { shared: 2 });
    assert_eq!(diverge(&before, &words(&[1, 9, 3, 4, 5])), Divergence::Changed { shared: 1 });
    assert_eq!(diverge(&before, &words(&[1, 3, 4])), Divergence::Changed { shared: 1 });
    assert_eq!(diverge(&[], &words(&[1])), Divergence::Extends);
    assert_eq!(Divergence::Extends.shared(4), 4);
}

#[test]
fn a_breakdown_names_tools_and_adds_up() {
    let counter = Counter::new(Family::Gpt);
    let parts = [
        part(PartKind::System, None, 1, 100),
        part(PartKind::Tool, Some("github"), 2, 50),
        part(PartKind::Tool, None, 3, 70),
        part(PartKind::User, None, 4, 10),
        part(PartKind::Assistant, None, 5, 20),
        part(PartKind::Reasoning, None, 6, 30),
        part(PartKind::Call, Some("Read"), 7, 5),
        part(PartKind::Result, Some("Read"), 8, 400),
        part(PartKind::Result, Some("Bash"), 9, 300),
        part(PartKind::Result, Some("Read"), 10, 200),
        part(PartKind::Other, None, 11, 1),
    ];
    let made = TokenBreakdown::of(&parts, &counter, scrubbed);
    let named = |shares: &[NamedTokens]| {
        shares.iter().map(|share| format!("{} {}", share.name.as_str(), share.tokens)).collect::<Vec<_>>()
    };
    assert_eq!(named(&made.tools), ["client 70", "github 50"]);
    assert_eq!(named(&made.results), ["Read 600", "Bash 300"]);
    assert_eq!(made.call_tokens, 5);
    let size = parts.iter().map(|part| part.size).sum();
    assert_eq!(made.total_tokens(), counter.tokens(&size));
}

#[test]
fn a_list_of_tools_is_bounded_and_loses_no_token() {
    let parts: Vec<Part> =
        (0..100).map(|at| part(PartKind::Result, Some(&format!("tool_{at:03}")), at, u32::from(at) + 1)).collect();
    let made = TokenBreakdown::of(&parts, &Counter::new(Family::Gpt), scrubbed);
    assert!(made.results.len() <= 25, "{}", made.results.len());
    assert_eq!(made.results.last().unwrap().name.as_str(), "others");
    assert_eq!(made.result_tokens(), 5_050);
}

#[test]
fn every_cause_has_its_words() {
    let place = Whereabouts { part: 12, parts: 40, what: PartKind::Result, name: Some(Scrubbed::fixed("Bash")) };
    let causes = [
        Cause::FirstOfThread,
        Cause::NotSeen,
        Cause::ModelChanged { from: Scrubbed::fixed("gpt-5.5") },
        Cause::Lapsed { idle_ms: 7 * 60_000 },
        Cause::CutBack { place: place.clone() },
        Cause::Changed { place: place.clone(), by: PartAuthor::Client },
        Cause::Changed { place: Whereabouts { what: PartKind::System, name: None, ..place }, by: PartAuthor::Infold },
        Cause::NotCached,
    ];
    let words: Vec<String> = causes.iter().map(ToString::to_string).collect();
    assert_eq!(
        words,
        [
            "first request of its thread",
            "infold was started since the request before",
            "the request before went to gpt-5.5",
            "the request before was 7 min ago: the cache has lapsed",
            "went back to a result of Bash (part 12 of 40)",
            "the client changed a result of Bash (part 12 of 40)",
            "infold changed the system prompt (part 12 of 40)",
            "the previous request was not cached by the provider",
        ]
    );
}

#[test]
fn totals_add_up_one_by_one_or_in_groups() {
    let mut one_by_one = RequestTotals::default();
    (0..4).for_each(|_| one_by_one.add(&record()));
    let mut pair = RequestTotals::default();
    (0..2).for_each(|_| pair.add(&record()));
    let mut grouped = pair;
    grouped.merge(&pair);
    assert_eq!(one_by_one, grouped);
    assert_eq!((grouped.requests, grouped.edited, grouped.saved_tokens()), (4, 4, 3_600));
    assert_eq!((grouped.saved_micros(), grouped.cache_hit_percent()), (80, Some(60)));
    assert_eq!(RequestTotals::default().cache_hit_percent(), None);
}

#[test]
fn a_record_reads_back_as_it_was_written() {
    let json = serde_json::to_string(&record()).unwrap();
    assert_eq!(serde_json::from_str::<RequestRecord>(&json).unwrap(), record());
}

#[test]
fn a_request_costs_what_its_models_price_says() {
    let price = |model: &str, cache_write| Price {
        model: model.to_owned(),
        input: 5.0,
        output: 25.0,
        cache_read: 0.5,
        cache_write,
    };
    let prices = Prices(vec![price("claude-*-4*", Some(6.25)), price("gpt*", None)]);
    let usage = Usage { fresh_tokens: 100, cache_read_tokens: 1_000, cache_write_tokens: 200, output_tokens: 10 };
    assert_eq!(prices.of("claude-opus-4-6").unwrap().cost_micros(&usage), 500 + 500 + 1_250 + 250);
    assert_eq!(prices.of("gpt-5.5").unwrap().cost_micros(&usage), 500 + 500 + 1_000 + 250);
    assert!(prices.of("llama").is_none());
}

#[test]
fn estimates_stay_apart_from_what_was_reported() {
    let usage = |fresh_tokens, output_tokens| Usage { fresh_tokens, output_tokens, ..Usage::default() };
    let unreported = RequestRecord { usage: None, estimated: Some(usage(100, 7)), ..record() };
    let broken_off = RequestRecord { usage: Some(usage(50, 1)), estimated: Some(usage(0, 9)), ..record() };
    assert_eq!(unreported.used(), Some(usage(100, 7)));
    assert_eq!(broken_off.used(), Some(usage(50, 10)));
    assert_eq!(RequestRecord { usage: None, ..record() }.used(), None);
    let mut totals = RequestTotals::default();
    [&unreported, &broken_off].into_iter().for_each(|record| totals.add(record));
    let mut twice = totals;
    twice.merge(&totals);
    assert_eq!((totals.unreported, totals.usage, totals.estimated), (2, usage(50, 1), usage(100, 16)));
    assert_eq!((twice.unreported, twice.usage, twice.estimated), (4, usage(100, 2), usage(200, 32)));
    let read: RequestRecord = serde_json::from_str(&serde_json::to_string(&broken_off).unwrap()).unwrap();
    assert_eq!(read, broken_off);
}

#[test]
fn a_session_is_known_by_its_first_words_and_is_as_full_as_its_latest_turn() {
    let windows = crate::ModelWindows { default_tokens: 50, models: Vec::new() };
    let mut overview = SessionOverview::default();
    assert_eq!(overview.main(&windows), None);

    let label = |words: &str| SessionLabel { folder: None, first_words: Some(scrubbed(words)) };
    let turn = RequestRecord { client: Some(scrubbed("codex")), ..record() };
    overview.add(&turn, &label("fix it"));
    let side = RequestRecord { kind: RequestKind::Side, usage: Some(Usage::default()), ..record() };
    overview.add(&side, &label("a title"));
    let unanswered = RequestRecord { usage: None, ..record() };
    overview.add(&unanswered, &SessionLabel::default());

    assert_eq!(overview.first_words.as_ref().unwrap().as_str(), "fix it");
    assert_eq!(overview.client.as_ref().unwrap().as_str(), "codex");
    let fill = overview.main(&windows).unwrap();
    assert_eq!((fill.tokens, fill.window_tokens, fill.model.as_str()), (105, 105, "m"), "what was answered has fitted");
    let stored = serde_json::to_string(&overview).unwrap();
    assert_eq!(serde_json::from_str::<SessionOverview>(&stored).unwrap(), overview);
}

#[test]
fn the_folder_is_found_in_what_clients_tell_their_models() {
    for (text, folder) in [
        ("<env>\nWorking directory: /home/dev/project\nPlatform: linux", Some("/home/dev/project")),
        ("# Environment\n - Primary working directory: /work/a b\n", Some("/work/a b")),
        ("<environment_context>\n  <cwd>/home/dev</cwd>\n", Some("/home/dev")),
        ("Working directory: C:\\code\\x\n", Some("C:\\code\\x")),
        ("the working directory: it is somewhere", None),
        ("", None),
    ] {
        assert_eq!(folder_in(text), folder, "{text}");
    }
}
