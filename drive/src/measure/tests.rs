//! Claims.

use infold_replay::{ForkRow, ForkTable, Measures};

use super::claims::of_forks;
use super::*;

fn table(gain: f64) -> ForkTable {
    let row = |recall_percent: f64, line_recall_percent: f64| ForkRow {
        label: "a way".to_owned(),
        tokens: 30_000.0,
        recall_percent,
        line_recall_percent,
    };
    let (tail, recall) = (row(80.0, 70.0), row(80.0 + gain, 70.0 + 2.0 * gain));
    ForkTable { cuts: 100, rows: vec![row(70.0, 40.0), row(70.0, 40.0), recall.clone(), tail.clone(), recall, tail] }
}

#[test]
fn a_gain_that_is_too_small_is_a_claim_missed() {
    assert!(of_forks("all", &table(5.0), &PAIRS).is_empty());
    assert_eq!(
        of_forks("all", &table(2.5), &PAIRS),
        ["all, a way against a way: recall gains 2.5 points, 3 are claimed"; 2]
    );
    assert!(of_forks("codex", &ForkTable { cuts: 10, ..table(2.5) }, &PAIRS).is_empty(), "few cuts say little");
}

fn recording(name: &str, source: &str, agent: &str) -> RecordedSession {
    let transcript = Transcript {
        client: infold_core::transcript::Client::Normalized,
        session: None,
        items: Vec::new(),
        calls: Vec::new(),
        subtasks: Vec::new(),
    };
    RecordedSession { name: name.to_owned(), source: source.to_owned(), agent: agent.to_owned(), transcript }
}

fn came_to(adjusted: f64, strict_atoms_seen: u64) -> (Measures, Measures) {
    let was = Measures { billed: 100.0, ..Measures::default() };
    let (atoms_needed, atoms_seen, lines_needed, lines_seen) = (100, 100, 100, 97);
    let now =
        Measures { adjusted, atoms_needed, atoms_seen, strict_atoms_seen, lines_needed, lines_seen, ..was.clone() };
    (was, now)
}

#[test]
fn a_part_that_falls_short_or_a_session_that_costs_more_is_a_claim_missed() {
    let all = [recording("a", "one", "claude-code"), recording("b", "two", "claude-code")];
    let all: Vec<&RecordedSession> = all.iter().collect();
    let parts = |adjusted: f64, strict: u64| {
        let missed =
            parts::parts(&all, |name| Some(if name == "a" { came_to(60.0, 99) } else { came_to(adjusted, strict) }));
        claims::of_shaping(claims::ShapingMeasured::OnPaper, &missed)
    };
    assert!(parts(80.0, 99).is_empty());
    assert_eq!(parts(101.5, 99), ["on paper: a session's adjusted bill is 101.5 %, 101 are claimed"]);
    assert!(parts(80.0, 90).iter().any(|missed| missed.starts_with("on paper, all: strict RR is 94.5 %")));
    let names = parts::all_names(&all);
    assert!(names.first().is_some_and(|name| name == "all") && names.ends_with(&["one".to_owned(), "two".to_owned()]));
}
