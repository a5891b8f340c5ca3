//! Tests of totals, costs, curves, portions and folding, on sessions small enough to work them out by hand.

use infold_core::transcript::{Item, Subtask, Transcript};

use super::{Options, Progress, Replay};
use crate::tests::script::{item, session};
use crate::{Compactions, Policy, Portion, Price, Prices, Report};

fn options() -> Options {
    let price =
        |model: &str, input| Price { model: model.into(), input, output: 10.0, cache_read: 0.1, cache_write: None };
    Options {
        policies: vec![Policy::AsItWas, Policy::KeepLast { results: 1 }],
        compactions: Compactions::AsRecorded,
        prices: Prices(vec![price("gpt-5", 1.0), price("gpt-4*", 2.0)]),
        curves_max: 2,
        curve_points_max: 3,
    }
}

fn replayed(transcripts: &[Transcript]) -> Report {
    let mut replay = Replay::new(options());
    for (at, transcript) in transcripts.iter().enumerate() {
        replay.add(&format!("session {at}"), transcript, |_| {});
    }
    replay.finish(None)
}

#[test]
fn totals_are_the_sessions_together() {
    let one = session("gpt-5", "user the*10\nsays b\nuser the*20\nsays c\n");
    let other = session("gpt-4o", "user the*10\nsays b\n");
    let report = replayed(&[one, other]);
    let total = &report.policies[0].total.measures;
    assert_eq!(total.requests, 3);
    let peaks = report.sessions.iter().map(|session| session.outcomes[0].measures.peak_tokens);
    assert_eq!(total.peak_tokens, peaks.sum::<u64>());
    assert_eq!(report.sessions[1].model, "gpt-4o");
    assert_eq!(report.sessions[1].recorded.requests, 1);
}

#[test]
fn each_request_is_paid_at_its_own_models_price() {
    let report = replayed(&[session("gpt-5", "user the*10\nsays b\n"), session("gpt-4o", "user the*10\nsays b\n")]);
    // 5,010 tokens are written and 100 answered, once at 1 and once at 2 dollars for a million.
    let (cheap, dear) = (0.005_01 + 0.001, 0.010_02 + 0.001);
    let near = |cost: Option<f64>, expected: f64| (cost.unwrap() - expected).abs() < 1e-9;
    assert!(near(report.sessions[0].outcomes[0].cost, cheap));
    assert!(near(report.sessions[1].outcomes[0].cost, dear));
    assert!(near(report.policies[0].total.cost, cheap + dear));
    assert!(near(Some(report.policies[0].cost_at[0]), 2.0 * cheap));
    assert!(near(Some(report.policies[0].cost_at[1]), 2.0 * dear));
}

#[test]
fn a_session_without_a_price_has_no_cost_and_is_in_no_sum() {
    let report = replayed(&[session("gpt-5", "user a\nsays b\n"), session("unknown", "user a\nsays b\n")]);
    assert_eq!(report.unpriced_sessions, 1);
    assert_eq!(report.sessions[1].outcomes[0].cost, None);
    assert_eq!(report.policies[0].total.cost, report.sessions[0].outcomes[0].cost);
    let nothing = replayed(&[session("unknown", "user a\nsays b\n")]);
    assert_eq!(nothing.policies[0].total.cost, None);
}

#[test]
fn what_cannot_be_played_is_reported() {
    let report = replayed(&[session("gpt-5", "user a\n")]);
    assert!(report.sessions.is_empty());
    assert_eq!(report.skipped[0].reason, "it holds no answer of a model");
}

#[test]
fn curves_of_the_largest_bills_are_kept_with_their_peaks() {
    let long = "user the*10\nsays b\n".repeat(10) + "summary c\nuser d\nsays e\n";
    let sessions = ["user a\nsays b\n", &long, "user the*900\nsays b\n"].map(|text| session("gpt-5", text));
    let report = replayed(&sessions);
    let kept: Vec<bool> = report.sessions.iter().map(|session| session.curve.is_some()).collect();
    assert_eq!(kept, [false, true, true]);
    let curve = report.sessions[1].curve.as_ref().unwrap();
    assert_eq!(curve.requests, [4, 8, 11]);
    let peak = report.sessions[1].outcomes[0].measures.peak_tokens;
    assert_eq!(curve.prompt_tokens[0].iter().max(), Some(&peak));
}

#[test]
fn portions_say_what_was_carried() {
    let report = replayed(&[session("gpt-5", "user the*10\ncall 1 Read {}\nresult 1 the*70\nsays b\n")]);
    let of = |wanted: Portion| {
        let found = report.portions.iter().find(|portion| portion.portion == wanted).unwrap();
        (found.share.once_tokens, found.share.carried_tokens)
    };
    assert_eq!(of(Portion::Base), (5_000, 10_000));
    assert_eq!(of(Portion::User), (10, 20));
    assert_eq!(of(Portion::Results("Read".into())), (70, 70));
    assert_eq!(of(Portion::Assistant), (1, 0));
    let carried: u64 = report.portions.iter().map(|portion| portion.share.carried_tokens).sum();
    assert_eq!(carried, report.policies[0].total.measures.prompt_tokens);
}

fn with_subtask() -> Transcript {
    let mut transcript =
        session("gpt-5", "user the*10\ncall 1 Task {}\nresult 1 the*20\nsays the*5\nuser the*10\nsays c\n");
    let items: Vec<Item> = ["user the*50", "call 8 Read {}", "result 8 the*4000", "says the*20"].map(item).to_vec();
    transcript.subtasks.push(Subtask { call: "1".into(), items });
    transcript
}

#[test]
fn folding_compares_work_in_the_main_thread_with_work_in_its_own_thread() {
    let report = replayed(&[with_subtask()]);
    let folding = report.folding.unwrap();
    assert_eq!((folding.subtasks, folding.returned_tokens), (1, 20));
    // In the main thread, the sub-task's two answers take two more requests, and its work stays to the end.
    assert_eq!(folding.inline.requests, 5);
    let folded_peak = report.policies[0].total.measures.peak_tokens;
    assert_eq!(folding.folded.peak_tokens, folded_peak);
    assert_eq!(folding.inline.peak_tokens, folded_peak + 4_002);
    // With a thread of its own there are the same five requests, three of them in the main thread.
    assert_eq!(folding.folded.requests, 5);
    assert!(folding.folded.prompt_tokens < folding.inline.prompt_tokens);
}

#[test]
fn a_sub_task_without_its_work_is_none() {
    let mut transcript = with_subtask();
    transcript.subtasks[0].items.truncate(1);
    assert!(replayed(&[transcript]).folding.is_none());
}

#[test]
fn progress_comes_to_its_end() {
    let mut reported: Vec<Progress> = Vec::new();
    Replay::new(options()).add("a", &session("gpt-5", "user a\nsays b\n"), |progress| reported.push(progress));
    assert!(reported.windows(2).all(|two| two[0].done < two[1].done));
    assert_eq!(reported.last(), Some(&Progress { done: 4, steps: 4 }));
}

#[test]
fn a_report_is_read_as_it_is_written() {
    let report = replayed(&[with_subtask()]);
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
}
