//! Laws for any thread: no request is refused, and one that grows keeps what its provider has cached.

use infold_testkit::model::{Api, broken_rule};
use proptest::prelude::*;
use serde_json::Value;

use super::threads::{APIS, any_entry, any_round, rich, sent, sent_json, user};
use crate::ThreadEntry;
use crate::provider::{ProviderApi, close_open_calls};

fn strict(api: ProviderApi) -> Api {
    match api {
        ProviderApi::Anthropic => Api::Messages,
        ProviderApi::Responses => Api::Responses,
        ProviderApi::Chat => Api::Chat,
        ProviderApi::Ollama => Api::Ollama,
    }
}

/// The list of messages or items of a body.
fn said(body: &Value) -> &[Value] {
    body["messages"].as_array().or_else(|| body["input"].as_array()).unwrap()
}

fn without_marks(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(without_marks),
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(without_marks);
        }
        _ => {}
    }
}

/// The bytes up to the end of what a provider keeps for the next request: everything but the brackets that close the
/// last message and the list. Where marks are is no part of it.
fn kept_bytes(api: ProviderApi, entries: &[ThreadEntry]) -> String {
    let mut body = sent_json(api, entries);
    if api == ProviderApi::Anthropic {
        without_marks(&mut body);
        return body.to_string().strip_suffix("]}]}").unwrap().to_owned();
    }
    String::from_utf8(sent(api, entries)).unwrap().strip_suffix("]}").unwrap().to_owned()
}

/// Where a thread can be sent: behind the user's words or results, with nothing open.
fn is_sendable(entries: &[ThreadEntry]) -> bool {
    let is_user = match entries.last() {
        Some(ThreadEntry::User { text, .. }) => !text.trim().is_empty(),
        Some(ThreadEntry::Result { .. }) => true,
        Some(ThreadEntry::Assistant { .. } | ThreadEntry::Reasoning { .. } | ThreadEntry::Call { .. }) | None => false,
    };
    is_user && close_open_calls(entries).is_empty()
}

fn assert_grows(api: ProviderApi, entries: &[ThreadEntry]) {
    let mut before: Option<String> = None;
    for end in (1..=entries.len()).filter(|end| is_sendable(&entries[..*end])) {
        let now = kept_bytes(api, &entries[..end]);
        if let Some(before) = before {
            assert!(now.starts_with(&before), "{api:?} at {end}:\n{before}\n{now}");
        }
        before = Some(now);
    }
    assert!(before.is_some());
}

#[test]
fn the_rich_thread_keeps_its_bytes_while_it_grows() {
    for api in APIS {
        assert_grows(api, &rich(api));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_thread_that_grows_keeps_the_bytes_in_front(
        (api, rounds) in prop::sample::select(APIS.to_vec())
            .prop_flat_map(|api| (Just(api), prop::collection::vec(any_round(api), 1..6))),
    ) {
        let mut entries = rounds.concat();
        entries.push(user("last"));
        assert_grows(api, &entries);
    }

    #[test]
    fn no_thread_makes_a_request_that_is_refused(mut entries in prop::collection::vec(any_entry(), 0..24)) {
        entries.push(user("last"));
        for api in APIS {
            let body = sent_json(api, &entries);
            prop_assert_eq!(broken_rule(strict(api), &body), None, "{:?}: {}", api, body);
            // What a stop left open is closed in the same words, whether or not that was appended.
            let mut closed = entries[..entries.len() - 1].to_vec();
            closed.extend(close_open_calls(&closed));
            prop_assert!(close_open_calls(&closed).is_empty());
            closed.push(user("last"));
            let closed = sent_json(api, &closed);
            prop_assert_eq!(said(&closed), said(&body));
        }
    }

    #[test]
    fn each_request_has_a_mark_from_which_the_provider_finds_the_one_before(
        rounds in prop::collection::vec(any_round(ProviderApi::Anthropic), 2..6),
    ) {
        let mut entries = rounds.concat();
        entries.push(user("last"));
        let mut before: Option<usize> = None;
        for end in (1..=entries.len()).filter(|end| is_sendable(&entries[..*end])) {
            let marks = marks(&entries[..end]);
            prop_assert!(marks.len() <= 2);
            if let Some(before) = before {
                prop_assert!(marks.iter().any(|mark| *mark >= before && mark - before < 20), "{} {:?}", before, marks);
            }
            before = marks.last().copied();
        }
    }
}

/// The places of the marked blocks among all blocks of an Anthropic request's messages. The last one is marked.
fn marks(entries: &[ThreadEntry]) -> Vec<usize> {
    let body = sent_json(ProviderApi::Anthropic, entries);
    let blocks = said(&body).iter().flat_map(|message| message["content"].as_array().unwrap());
    let is_marked: Vec<bool> = blocks.map(|block| !block["cache_control"].is_null()).collect();
    assert_eq!(is_marked.last(), Some(&true));
    (0..is_marked.len()).filter(|at| is_marked[*at]).collect()
}
