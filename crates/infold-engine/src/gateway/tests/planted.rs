//! Errors planted in long results of other servers: the reference shows nearly all of them, and `read_result` finds the others
//! by the pattern that the reference suggests. `cargo xtask measure --only planted` says more, also on recorded results.

use infold_testkit::planted::{Carrier, PlantedError, PlantedText, TrialHalf, random_place};
use infold_testkit::{Rng, planted};

use super::server;
use crate::tests::{Bench, result, settings};
use crate::{CallPlace, EngineSettings, Portion, ReadResult, RelayedCall, RelayedResult, RelayedShown, ScrubSettings};

const SEED: u64 = 7;
const VISIBLE_PERCENT_MIN: usize = 90;

/// A bench whose scrubber has time enough for long results in a build that is not optimised.
fn bench() -> Bench {
    let scrub = ScrubSettings { timeout_ms: 60_000, ..settings().scrub };
    Bench::new(EngineSettings { scrub, ..settings() })
}

async fn shown(bench: &Bench, text: &str) -> RelayedShown {
    let call = RelayedCall {
        place: CallPlace::Meta { session: infold_core::SessionId::parse("s").unwrap(), branch: None },
        server: server(),
        tool: "tracker__query".to_owned(),
        arguments: "{}".to_owned(),
        call_id: None,
    };
    let result = RelayedResult { texts: vec![text.to_owned()], structured: None };
    let begun = bench.engine.begin_relayed(call).await;
    bench.engine.take_in_relayed(&bench.who, begun, result).await.unwrap()
}

/// Whether `read_result` finds a fact by the pattern that a reference suggests.
async fn is_found(bench: &Bench, shown: &RelayedShown, fact: &str) -> bool {
    let last = shown.texts[0].lines().last().unwrap_or_default();
    let Some((pattern, _)) = last.strip_prefix("Try pattern \"").and_then(|rest| rest.rsplit_once('"')) else {
        return false;
    };
    let matches = |first| Portion::Matches { pattern: pattern.to_owned(), context: 0, first };
    let mut next = Some(matches(1));
    while let Some(portion) = next {
        let is_search = matches!(portion, Portion::Matches { .. });
        let ref_id = shown.ref_id.as_ref().unwrap().to_string();
        let request = ReadResult { ref_id, thread: Some("main".to_owned()), portion, limit_bytes: 65_536 };
        let part = bench.engine.read_result(&bench.who, &request).await.unwrap();
        if part.content.contains(fact) {
            return true;
        }
        next = match part.content.rsplit_once("the next is at offset ") {
            Some((_, offset)) => Some(Portion::Bytes { offset: offset.split(']').next().unwrap().parse().unwrap() }),
            None if is_search => part.next_offset.map(matches),
            None => part.next_offset.map(|offset| Portion::Bytes { offset }),
        };
    }
    false
}

async fn hold(half: TrialHalf) {
    let bench = bench();
    bench.engine.record_result(&bench.who, result("s", "so that there is a session")).await.unwrap();
    let (carriers, mut rng) = (Carrier::all(half), Rng::new(SEED));
    let (mut all, mut visible) = (0, 0);
    for (at, error) in PlantedError::all(half).iter().enumerate() {
        let place = random_place(&mut rng);
        let PlantedText { text, fact } = carriers[at % carriers.len()].plant(error, place, &mut rng);
        let shown = shown(&bench, &text).await;
        assert!(shown.texts[0].len() * 10 < text.len(), "{}: a reference is short", error.name);
        all += 1;
        if shown.texts[0].contains(&fact) {
            visible += 1;
        } else {
            assert!(is_found(&bench, &shown, &fact).await, "{}: {fact}\n{}", error.name, shown.texts[0]);
        }
    }
    assert!(visible * 100 >= all * VISIBLE_PERCENT_MIN, "{visible} of {all}");
}

#[tokio::test]
async fn errors_in_results_of_the_half_that_shaping_was_chosen_on_are_visible_or_found() {
    hold(TrialHalf::Chosen).await;
}

#[tokio::test]
async fn errors_in_results_of_the_half_that_shaping_is_checked_on_are_visible_or_found() {
    hold(TrialHalf::Checked).await;
}

/// Among thousands of errors like it one cannot be shown, but it can be found; and the reference stays short.
#[tokio::test]
async fn an_error_among_thousands_is_found_by_the_suggested_pattern() {
    let bench = bench();
    bench.engine.record_result(&bench.who, result("s", "so that there is a session")).await.unwrap();
    let line = |at: usize| match at {
        1_700 => "ERROR lease 48231 of shard page was lost".to_owned(),
        at => format!("ERROR lease {at} of shard {} was lost", ["page", "cache", "batch", "index"][at % 4]),
    };
    let lines = (0..3_000).map(line).collect::<Vec<_>>().join("\n");
    let records: Vec<String> = (0..3_000).map(|at| format!("{{\"id\":{at},\"error\":\"{}\"}}", line(at))).collect();
    for text in [lines, format!("[{}]", records.join(","))] {
        let text = planted::plant_in_lines(&text, &PlantedError::all(TrialHalf::Chosen)[0], 500, &mut Rng::new(1));
        let shown = shown(&bench, &text.text).await;
        assert!(shown.texts[0].contains(&text.fact), "one of another kind is shown: {}", shown.texts[0]);
        assert!(shown.texts[0].len() < 8_000 && !shown.texts[0].contains("48231"), "{}", shown.texts[0]);
        assert!(is_found(&bench, &shown, "lease 48231 of shard page").await, "{}", shown.texts[0]);
    }
}
