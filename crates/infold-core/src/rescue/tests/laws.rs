//! What must hold for every plan, whatever the session.

use proptest::prelude::*;

use super::super::*;

/// A session: turns of a person, with exchanges between them; some calls go unanswered.
fn sessions() -> impl Strategy<Value = Vec<RescuePiece>> {
    let part = prop_oneof![
        2 => Just(0_u8), // the person
        1 => Just(1),    // the client
        2 => Just(2),    // the model
        2 => Just(3),    // reasoning
        6 => Just(4),    // a call with its result
        2 => Just(5),    // two calls at once
        1 => Just(6),    // a call without a result
        1 => Just(7),    // a result without a call
    ];
    let step = (part, 0_u64..2_000, proptest::option::of(0_u64..300));
    proptest::collection::vec(step, 0..60).prop_map(|steps| {
        let mut pieces = Vec::new();
        let mut put = |part, tokens| {
            let place = ItemPosition { entry: pieces.len() as u64 + 1, part: 0 };
            pieces.push(RescuePiece { place, message: place.entry, tokens, part });
        };
        for (at, (kind, tokens, short_tokens)) in steps.into_iter().enumerate() {
            let call = |n: usize| RescuePart::Call { id: format!("{at}.{n}"), tool: "Read".into(), short_tokens };
            let speaks = Speaks::Tool;
            let result =
                |n: usize| RescuePart::Result { id: format!("{at}.{n}"), tool: "Read".into(), short_tokens, speaks };
            match kind {
                0 => put(RescuePart::Person, tokens / 10),
                1 => put(RescuePart::Client, tokens / 4),
                2 => put(RescuePart::Model, tokens / 4),
                3 => put(RescuePart::Reasoning, tokens / 4),
                4 => {
                    put(call(0), tokens / 4);
                    put(result(0), tokens);
                }
                5 => {
                    put(call(0), tokens / 4);
                    put(call(1), tokens / 8);
                    put(result(1), tokens);
                    put(result(0), tokens / 2);
                }
                6 => put(call(0), tokens / 4),
                _ => put(result(0), tokens),
            }
        }
        pieces
    })
}

fn is_gone(fate: Fate) -> bool {
    matches!(fate, Fate::Dropped(_))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_plan_fits_or_says_what_does_not(pieces in sessions(), tokens in 0_u64..20_000, receipt_tokens in 0_u64..500) {
        match plan(&pieces, RescueRoom { tokens, receipt_tokens }) {
            Ok(plan) => {
                prop_assert!(plan.after_tokens + receipt_tokens <= tokens);
                let counted: u64 = pieces.iter().zip(&plan.fates).map(|(piece, fate)| match fate {
                    Fate::Kept => piece.tokens,
                    Fate::Offloaded | Fate::Shortened => piece.least_tokens(),
                    Fate::Dropped(_) => 0,
                }).sum();
                prop_assert_eq!(plan.after_tokens, counted);
            }
            Err(refused) => prop_assert!(refused.floor_tokens() > tokens),
        }
    }

    #[test]
    fn the_persons_words_and_pairs_stay(pieces in sessions(), tokens in 500_u64..20_000) {
        let Ok(plan) = plan(&pieces, RescueRoom { tokens, receipt_tokens: 0 }) else { return Ok(()) };
        let mut calls = std::collections::BTreeSet::new();
        let mut results = std::collections::BTreeSet::new();
        for (piece, fate) in pieces.iter().zip(&plan.fates) {
            match &piece.part {
                RescuePart::Person | RescuePart::Summary => prop_assert_eq!(*fate, Fate::Kept),
                RescuePart::Reasoning => prop_assert_eq!(*fate, Fate::Dropped(DropReason::Reasoning)),
                RescuePart::Call { id, .. } if !is_gone(*fate) => prop_assert!(calls.insert(id)),
                RescuePart::Result { id, .. } if !is_gone(*fate) => {
                    prop_assert!(calls.contains(id));
                    prop_assert!(results.insert(id));
                }
                RescuePart::Client | RescuePart::Model | RescuePart::Call { .. } | RescuePart::Result { .. } => {}
            }
        }
        prop_assert_eq!(calls, results);
    }

    #[test]
    fn what_a_person_answers_stays_as_it_is(mut pieces in sessions(), tokens in 500_u64..20_000, every in 1_usize..5) {
        let mut results = 0;
        for piece in &mut pieces {
            if let RescuePart::Result { speaks, short_tokens, .. } = &mut piece.part {
                results += 1;
                (*speaks, *short_tokens) =
                    if results % every == 0 { (Speaks::Person, None) } else { (Speaks::Tool, *short_tokens) };
            }
        }
        let Ok(plan) = plan(&pieces, RescueRoom { tokens, receipt_tokens: 0 }) else { return Ok(()) };
        prop_assert!(plan.after_tokens <= tokens);
        for (piece, fate) in pieces.iter().zip(&plan.fates) {
            if matches!(piece.part, RescuePart::Result { speaks: Speaks::Person, .. }) {
                prop_assert!(matches!(fate, Fate::Kept | Fate::Dropped(DropReason::Unpaired)));
            }
        }
    }

    #[test]
    fn nothing_that_was_shrunk_would_fit_whole(pieces in sessions(), tokens in 500_u64..20_000) {
        let Ok(plan) = plan(&pieces, RescueRoom { tokens, receipt_tokens: 0 }) else { return Ok(()) };
        for (piece, fate) in pieces.iter().zip(&plan.fates) {
            if matches!(fate, Fate::Offloaded | Fate::Shortened) {
                prop_assert!(plan.after_tokens - piece.least_tokens() + piece.tokens > tokens);
            }
        }
    }

    #[test]
    fn exchanges_go_only_when_everything_that_can_shrink_has_and_from_the_oldest(
        pieces in sessions(),
        tokens in 500_u64..20_000,
    ) {
        let room = RescueRoom { tokens, receipt_tokens: 0 };
        let Ok(plan) = plan(&pieces, room) else { return Ok(()) };
        let again = super::super::plan(&pieces, room);
        prop_assert_eq!(Ok(&plan), again.as_ref());
        let exchanges = |wanted: fn(Fate) -> bool| {
            let found = plan.fates.iter().zip(&plan.exchanges).filter(move |(fate, _)| wanted(**fate));
            found.filter_map(|(_, exchange)| *exchange)
        };
        let last_gone = exchanges(|fate| fate == Fate::Dropped(DropReason::Exchange)).max();
        let first_left = exchanges(|fate| !is_gone(fate)).min();
        prop_assert!(last_gone.zip(first_left).is_none_or(|(gone, left)| gone < left));
        let smallest: u64 = pieces.iter().zip(&plan.fates).map(|(piece, fate)| match fate {
            Fate::Dropped(DropReason::Reasoning | DropReason::Unpaired) => 0,
            _ => piece.least_tokens(),
        }).sum();
        let has_left_out = last_gone.is_some() || plan.fates.contains(&Fate::Dropped(DropReason::Client));
        prop_assert_eq!(has_left_out, smallest > tokens);
        if let Some(gone) = last_gone {
            let members = pieces.iter().zip(&plan.fates).zip(&plan.exchanges);
            let members = members.filter(|((_, fate), exchange)| {
                **exchange == Some(gone) && **fate == Fate::Dropped(DropReason::Exchange)
            });
            let least: u64 = members.map(|((piece, _), _)| piece.least_tokens()).sum();
            let shrunk: u64 = pieces.iter().zip(&plan.fates).filter(|(_, fate)| !is_gone(**fate))
                .map(|(piece, _)| piece.least_tokens()).sum();
            prop_assert!(shrunk + least > tokens, "the newest exchange that was left out would have fitted");
        }
    }
}
