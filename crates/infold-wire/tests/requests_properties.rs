//! What must hold of any conversation in any of the three forms, however its client writes JSON.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::requests_support::conversation::{Turn, body, turns};
use crate::requests_support::{MARKS_MAX, check_apply, check_pairs, check_reads_back, count_marks, loosely};
use infold_core::view::{BlockKind, ViewPiece};
use infold_wire::request::{Api, Request};
use proptest::prelude::*;

fn any_api() -> impl Strategy<Value = Api> {
    prop_oneof![Just(Api::Messages), Just(Api::Responses), Just(Api::Chat)]
}

/// A plan that leaves out whole exchanges, some words and some reasoning, and puts other things in.
fn edits(request: &Request<'_>, choices: &[u8]) -> Vec<ViewPiece> {
    let choice = |index: usize| choices[index % choices.len()];
    let mut gone = BTreeSet::new();
    let mut pieces = Vec::new();
    for (index, block) in request.blocks().iter().enumerate() {
        let is_kept = choice(index) % 3 > 0;
        match &block.kind {
            BlockKind::Call(call) if !is_kept => {
                gone.insert(call.id.clone().into_owned());
            }
            BlockKind::Result(result) if gone.contains(result.call.as_ref()) => {}
            BlockKind::Result(_) => pieces.push(match choice(index) % 5 {
                0 => ViewPiece::Text { block: index, text: "folded \"\n".to_owned() },
                1 => ViewPiece::Content { block: index, json: Arc::from(*b"[{\"type\":\"text\",\"text\":\"x\"}]") },
                _ => ViewPiece::Keep(index),
            }),
            BlockKind::Call(_) => pieces.push(ViewPiece::Keep(index)),
            _ if is_kept => pieces.push(ViewPiece::Keep(index)),
            _ if choice(index) % 7 == 0 => {
                pieces.push(ViewPiece::Say { entry: Some(block.entry), text: "brief".to_owned() })
            }
            _ => {}
        }
        if choice(index) % 11 == 0 {
            pieces.push(ViewPiece::Say { entry: None, text: "note".to_owned() });
        }
    }
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_body_is_given_back_byte_for_byte(api in any_api(), turns in turns(), style in any::<u64>()) {
        let body = loosely(&body(api, &turns), style);
        let request = Request::read(api, body.as_bytes()).unwrap();
        let all: Vec<ViewPiece> = (0..request.blocks().len()).map(ViewPiece::Keep).collect();
        prop_assert_eq!(String::from_utf8(request.apply(&all)).unwrap(), body.clone());
        check_reads_back(&request);
        check_pairs(&request);
        // One more piece has every entry written again: each as it was.
        let more = [all, vec![ViewPiece::Say { entry: None, text: "x".to_owned() }]].concat();
        let edited = request.apply(&more);
        let [sent, marks] = [body.as_bytes(), &edited].map(|body| count_marks(&serde_json::from_slice(body).unwrap()));
        if sent > MARKS_MAX {
            // A provider refuses such a request as it came. An edited one keeps as many marks as a request may have.
            prop_assert_eq!(marks, MARKS_MAX);
            return Ok(());
        }
        let common = edited.iter().zip(body.as_bytes()).take_while(|(new, old)| new == old).count();
        let said = edited.len() - body.len();
        prop_assert!(edited[common + said..] == body.as_bytes()[common..], "more than one place changed");
    }

    #[test]
    fn a_plan_changes_only_what_it_names(
        api in any_api(),
        turns in turns(),
        style in any::<u64>(),
        choices in prop::collection::vec(any::<u8>(), 1..60),
    ) {
        let body = loosely(&body(api, &turns), style);
        let request = Request::read(api, body.as_bytes()).unwrap();
        let edited = check_apply(&request, &edits(&request, &choices));
        check_pairs(&Request::read(api, &edited).unwrap());
        prop_assert!(Request::read(api, &request.without_reasoning()).unwrap().blocks().iter().all(
            |block| !matches!(block.kind, BlockKind::Reasoning)
        ));
    }

    #[test]
    fn the_same_text_has_the_same_key_however_it_is_written_around(api in any_api(), turns in turns(), style in any::<u64>()) {
        let value = body(api, &turns);
        let [plain, loose] = [value.to_string(), crate::requests_support::spaced(&value, style)];
        let [plain, loose] = [&plain, &loose].map(|body| Request::read(api, body.as_bytes()).unwrap());
        let texts = |request: &Request<'_>| -> Vec<String> {
            (0..request.blocks().len()).map(|block| request.words(block).into_owned()).collect()
        };
        prop_assert_eq!(plain.blocks().len(), loose.blocks().len());
        for (one, other) in plain.blocks().iter().zip(loose.blocks()) {
            if let BlockKind::User { .. } | BlockKind::Assistant = one.kind {
                prop_assert_eq!(one.key, other.key);
            }
        }
        prop_assert_eq!(texts(&plain).len(), texts(&loose).len());
    }

    #[test]
    fn bytes_that_went_wrong_are_refused_or_given_back(
        api in any_api(),
        turns in turns(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        choices in prop::collection::vec(any::<u8>(), 1..20),
    ) {
        let mut body = body(api, &turns).to_string().into_bytes();
        let place = place.index(body.len());
        body[place] = byte;
        if let Ok(request) = Request::read(api, &body) {
            let all: Vec<ViewPiece> = (0..request.blocks().len()).map(ViewPiece::Keep).collect();
            prop_assert!(request.apply(&all) == body);
            let edited = request.apply(&edits(&request, &choices));
            prop_assert!(serde_json::from_slice::<&serde_json::value::RawValue>(&edited).is_ok());
        }
    }
}

#[test]
fn a_conversation_of_every_kind_of_turn_is_read_whole() {
    let turns = [Turn::words("hi"), Turn::exchange(2)];
    for api in [Api::Messages, Api::Responses, Api::Chat] {
        let body = body(api, &turns).to_string();
        let request = Request::read(api, body.as_bytes()).unwrap();
        let calls = request.blocks().iter().filter(|block| matches!(block.kind, BlockKind::Call(_))).count();
        assert_eq!(calls, 2, "{api:?}");
        check_pairs(&request);
    }
}
