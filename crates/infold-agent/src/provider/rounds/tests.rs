//! What is sent of odd threads.

use serde_json::json;

use super::{Said, SentIds, close_open_calls, rounds};
use crate::image::KnownImages;
use crate::provider::{Effort, Prompt};
use crate::{ResultOutcome, SpokenBy, ThreadEntry};

fn user(text: &str) -> ThreadEntry {
    ThreadEntry::user(text, SpokenBy::Person)
}

fn call(id: &str) -> ThreadEntry {
    ThreadEntry::Call { id: id.to_owned(), tool: "run".to_owned(), arguments: json!({}) }
}

fn result(id: &str, text: &str) -> ThreadEntry {
    let (call, tool) = (id.to_owned(), "run".to_owned());
    ThreadEntry::Result { call, tool, text: text.to_owned(), outcome: ResultOutcome::Succeeded }
}

/// One line a round: results, words, and what the model said.
fn drawn(entries: &[ThreadEntry]) -> Vec<String> {
    let prompt = Prompt {
        model: "m",
        session: "",
        system: "",
        breakpoints: &[],
        tools: &[],
        entries,
        images: &KnownImages::new(),
        max_output_tokens: 1,
        reasoning: Effort::Off,
    };
    let line = |round: &super::Round<'_>| {
        let results: Vec<String> =
            round.results.iter().map(|result| format!("{}={}", result.id, result.text)).collect();
        let said: Vec<String> = round
            .said
            .iter()
            .map(|said| match said {
                Said::Words(text) => (*text).to_owned(),
                Said::Thought(_) => "(thought)".to_owned(),
                Said::Call(call) => format!("{}()", call.id),
            })
            .collect();
        let words: Vec<&str> = round.words.iter().map(|words| words.text).collect();
        format!("{} | {} | {}", results.join(" "), words.join(" "), said.join(" "))
    };
    rounds(&prompt, &["thinking"]).iter().map(line).collect()
}

#[test]
fn results_come_in_the_order_of_their_calls_and_before_all_words() {
    let entries = [user("go"), call("a"), call("b"), user("hurry"), result("b", "B"), result("a", "A")];
    assert_eq!(drawn(&entries), [" | go | a() b()", "a=A b=B | hurry | "]);
}

#[test]
fn results_without_a_call_and_second_results_are_not_sent() {
    let entries = [user("go"), result("x", "X"), call("a"), result("a", "A"), result("a", "again"), result("b", "B")];
    assert_eq!(drawn(&entries), [" | go | a()", "a=A |  | "]);
}

#[test]
fn a_call_without_a_result_is_closed_once_and_in_place() {
    let entries = vec![user("go"), call("a"), call("b"), result("a", "A")];
    let closing = close_open_calls(&entries);
    assert!(matches!(
        &closing[..],
        [ThreadEntry::Result { call, outcome: ResultOutcome::Failed, text, .. }] if call == "b" && text.starts_with("interrupted")
    ));
    let closed = [entries.clone(), closing].concat();
    assert_eq!(close_open_calls(&closed), []);
    assert_eq!(drawn(&closed), drawn(&entries));
}

#[test]
fn an_id_that_comes_again_is_another_one() {
    let entries = [user("go"), call("a"), result("a", "1"), call("a"), result("a", "2"), call("a.b"), call("a_b")];
    let drawn = drawn(&entries);
    assert_eq!(drawn[..3], [" | go | a()", "a=1 |  | a_2()", "a_2=2 |  | a_b() a_b_2()"]);
    let entries = [user("go"), call("a"), call("a"), result("a", "1"), result("a", "2")];
    assert_eq!(self::drawn(&entries), [" | go | a() a_2()", "a=1 a_2=2 |  | "]);
    let mut ids = SentIds::default();
    let long = "x".repeat(200);
    let given: Vec<String> = ["a_2", "a", "a", "", &long, &long].iter().map(|id| ids.of(id)).collect();
    assert_eq!(given[..4], ["a_2", "a", "a_3", "unnamed"]);
    assert!(given[4] != given[5] && given.iter().all(|id| id.len() <= 64));
}

#[test]
fn reasoning_is_sent_to_its_own_model_in_front_of_what_it_led_to() {
    let thought =
        |model: &str, kind: &str| ThreadEntry::Reasoning { sealed: json!({"type": kind}), model: model.to_owned() };
    let said = ThreadEntry::Assistant { text: "yes".to_owned() };
    let blank = ThreadEntry::Assistant { text: " ".to_owned() };
    let entries =
        [user("go"), thought("m", "thinking"), thought("other", "thinking"), thought("m", "reasoning"), blank, said];
    assert_eq!(drawn(&entries), [" | go | (thought) yes"]);
    let entries = [user("go"), thought("m", "thinking"), user("on"), thought("m", "thinking")];
    assert_eq!(drawn(&entries), [" | go on | "]);
}
