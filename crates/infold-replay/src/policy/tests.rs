//! Tests of what each policy changes, and when.

use infold_core::fork::Tier;
use infold_core::{Counter, Family};

use super::{Arrival, Policy, PolicyChange, PolicyRun};
use crate::forms::PromptForm;
use crate::thread::{EntryRole, ThreadEntry};

/// Lets an entry arrive at this index, after results without text.
fn arrive(policy_run: &mut PolicyRun, at: usize, entry: ThreadEntry<'_>) -> Arrival {
    let mut entries: Vec<ThreadEntry<'_>> = (0..at).map(|_| result("")).collect();
    entries.push(entry);
    policy_run.arrive(at, &entries, Counter::new(Family::Gpt))
}

fn result(text: &str) -> ThreadEntry<'_> {
    ThreadEntry { role: EntryRole::Result, tool: "Read", text, call: None, cleared: Vec::new() }
}

/// The changes after each of `results` results, with one result in each request.
fn changes(policy: Policy, results: usize) -> Vec<Vec<PolicyChange>> {
    let mut policy_run = PolicyRun::new(policy);
    (0..results)
        .map(|at| {
            arrive(&mut policy_run, at, result("text"));
            policy_run.decide_changes(0)
        })
        .collect()
}

#[test]
fn the_sixth_result_from_the_end_goes_to_the_second_tier_and_the_sixteenth_to_the_third() {
    let changes = changes(Policy::Tiers, 17);
    let aged = |at, tier| PolicyChange { at, form: PromptForm::Aged(tier) };
    assert!(changes[..5].iter().all(Vec::is_empty));
    assert_eq!(changes[5], [aged(0, Tier::Two)]);
    assert_eq!(changes[14], [aged(9, Tier::Two)]);
    assert_eq!(changes[15], [aged(0, Tier::Three), aged(10, Tier::Two)]);
    assert_eq!(changes[16], [aged(1, Tier::Three), aged(11, Tier::Two)]);
}

#[test]
fn results_that_come_together_go_to_their_tier_at_once() {
    let mut policy_run = PolicyRun::new(Policy::Tiers);
    for at in 0..17 {
        arrive(&mut policy_run, at, result("text"));
    }
    let changes = policy_run.decide_changes(0);
    let tiers = |tier| changes.iter().filter(|change| change.form == PromptForm::Aged(tier)).count();
    assert_eq!((tiers(Tier::Three), tiers(Tier::Two), changes.len()), (2, 10, 12));
}

#[test]
fn a_client_that_clears_old_results_does_not_disturb_the_tiers() {
    let mut policy_run = PolicyRun::new(Policy::Tiers);
    for at in 0..16 {
        arrive(&mut policy_run, at, result("text"));
        policy_run.decide_changes(0);
    }
    let clearing = ThreadEntry { role: EntryRole::Clearing, tool: "", text: "", call: None, cleared: vec![0, 3, 14] };
    arrive(&mut policy_run, 16, clearing);
    assert_eq!(policy_run.decide_changes(0).len(), 3);
    arrive(&mut policy_run, 17, result("text"));
    // Thirteen results are left, and one more makes fourteen, so that none of them is past the second tier.
    for change in policy_run.decide_changes(0) {
        assert_eq!(change.form, PromptForm::Aged(Tier::Two));
    }
}

#[test]
fn keeping_the_last_clears_one_at_a_time_and_batches_many() {
    let counts = |policy| -> Vec<usize> { changes(policy, 6).iter().map(Vec::len).collect() };
    assert_eq!(counts(Policy::KeepLast { results: 2 }), [0, 0, 1, 1, 1, 1]);
    assert_eq!(counts(Policy::ClearInBatches { results_max: 5, keep: 2 }), [0, 0, 0, 0, 3, 0]);
    assert_eq!(counts(Policy::AsItWas), [0; 6]);
}

#[test]
fn only_results_over_the_bound_are_offloaded() {
    let mut policy_run = PolicyRun::new(Policy::Offload { bytes_max: 4, preview_chars: 2 });
    assert_eq!(arrive(&mut policy_run, 0, result("four")), Arrival::In(PromptForm::Whole));
    assert_eq!(arrive(&mut policy_run, 1, result("fiver")), Arrival::In(PromptForm::Preview { preview_chars: 2 }));
}

#[test]
fn policies_are_read_as_they_are_written() {
    for policy in Policy::USUAL {
        let json = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<Policy>(&json).unwrap(), policy);
    }
}
