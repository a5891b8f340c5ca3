//! One rich thread, as each provider gets it.

use serde_json::{Value, json};

use super::threads::{prompt, rich, sent_json, thoughts, user};
use crate::provider::{Effort, ProviderApi, request_body};
use crate::{SpokenBy, ThreadEntry};

#[test]
fn a_rich_thread_in_the_form_of_each_api() {
    for (name, api) in [
        ("anthropic", ProviderApi::Anthropic),
        ("responses", ProviderApi::Responses),
        ("chat", ProviderApi::Chat),
        ("ollama", ProviderApi::Ollama),
    ] {
        insta::assert_json_snapshot!(name, sent_json(api, &rich(api)));
    }
}

#[test]
fn without_reasoning_and_tools_nothing_is_said_of_them() {
    let entries = [user("hi")];
    for api in super::threads::APIS {
        let mut asked = prompt(&entries, &[]);
        asked.reasoning = Effort::Off;
        let body: Value = serde_json::from_slice(&request_body(api, &asked)).unwrap();
        for field in ["thinking", "output_config", "reasoning", "include", "reasoning_effort", "tools"] {
            assert!(body[field].is_null(), "{field} in {body}");
        }
    }
}

#[test]
fn instructions_are_cut_at_breakpoints_and_never_into_blank_parts() {
    let entries = [user("hi")];
    let mut asked = prompt(&entries, &[]);
    asked.system = "aé \n b c d e";
    // Inside of a character, before white space alone, twice the same, and behind the end.
    asked.breakpoints = &[2, 5, 7, 7, 9, 11, 900];
    let body: Value = serde_json::from_slice(&request_body(ProviderApi::Anthropic, &asked)).unwrap();
    let system = body["system"].as_array().unwrap();
    let texts: Vec<&str> = system.iter().map(|block| block["text"].as_str().unwrap()).collect();
    assert_eq!(texts.concat(), asked.system);
    assert!(texts.iter().all(|text| !text.trim().is_empty()), "{texts:?}");
    let marked = system.iter().filter(|block| block["cache_control"] == json!({"type": "ephemeral"})).count();
    assert_eq!(marked, 3, "{system:?}");
    assert_eq!(body["messages"][0]["content"][0]["cache_control"], json!({"type": "ephemeral"}));
}

#[test]
fn reasoning_alone_is_left_out_and_the_users_words_meet() {
    for api in super::threads::APIS {
        let mut entries = vec![user("one")];
        entries.extend(thoughts(api));
        entries.push(ThreadEntry::User { text: "two".to_owned(), by: SpokenBy::Agent });
        let text = sent_json(api, &entries).to_string();
        assert!(!text.contains("Two files") && text.contains("one") && text.contains("two"), "{text}");
    }
}
