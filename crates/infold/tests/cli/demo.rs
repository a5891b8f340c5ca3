//! `infold demo`: it goes all the way through the real daemon, needs no key, and leaves no trace.

use std::collections::BTreeSet;

use serde_json::Value;

use super::home::Home;

/// Words that are in a file that is read in the demonstration, and nowhere else.
const IN_A_FILE: &str = "fn partial_result";

fn holds(body: &Value, text: &str) -> bool {
    body["messages"].to_string().contains(text)
}

#[test]
fn the_demonstration_folds_what_the_agent_read() {
    let home = Home::new();
    let run = home.run(&["demo", "--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let (sent, got) = (report["sent"].as_array().unwrap(), report["got"].as_array().unwrap());
    assert_eq!(sent.len(), got.len());

    let last = sent.len() - 1;
    assert!(holds(&sent[last], IN_A_FILE), "the agent sends all that it has read");
    assert!(!holds(&got[last], IN_A_FILE), "the model no longer gets it");
    assert!(got.iter().any(|body| holds(body, IN_A_FILE)), "it did get it once, in the branch");
    assert!(holds(&got[last], "where the item is that did not fit"), "what the branch returned is there");

    let story = &report["story"];
    let tokens = |side: &str| story[side]["prompt_tokens"].as_u64().unwrap();
    assert!(tokens("with") * 2 < tokens("without"), "{story}");
    let threads: BTreeSet<&str> =
        story["requests"].as_array().unwrap().iter().filter_map(|row| row["thread"].as_str()).collect();
    assert_eq!(threads, BTreeSet::from(["branch", "main"]));
}

#[test]
fn the_demonstration_is_drawn_and_leaves_nothing() {
    let home = Home::new();
    let run = home.run(&["demo"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let drawn = run.stdout;
    for part in ["sent by the agent", "received by the model", "in full", "Cost, with a prompt cache"] {
        assert!(drawn.contains(part), "{drawn}");
    }
    assert!(!home.data().exists(), "it has a folder of its own, for as long as it runs");
}
