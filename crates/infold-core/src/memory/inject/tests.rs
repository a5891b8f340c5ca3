//! Memories fit their room, and say the same for ever.

use proptest::prelude::*;

use super::{Injection, OpeningMemories, ShownMemory};
use crate::memory::quote::QuoteKey;
use crate::memory::{InjectionRules, MemoryId};
use crate::{BranchId, Counter, Family, IdKey, Scrubbed};

fn branch() -> BranchId {
    BranchId::mint([7; 8], &IdKey::derive(&[1; 32]))
}

fn injection(lessons: &[String], tokens_max: u64) -> OpeningMemories {
    let shown = lessons.iter().zip(0..).map(|(lesson, number): (_, u8)| {
        let id = MemoryId::mint([number; 10]);
        let header = format!("{id} · works · confidence 0.80");
        ShownMemory { id, header, title: Scrubbed::fixed("a title"), lesson: Scrubbed::composed(lesson.clone()) }
    });
    let rules = InjectionRules {
        is_on: true,
        budget_ratio: 0.2,
        tokens_max,
        items_max: 10,
        confidence_min: 0.7,
        relevance_min: 0.4,
    };
    OpeningMemories::Fitting(Injection { memories: shown.collect(), rules, key: QuoteKey::derive(&[1; 32]) })
}

proptest! {
    #[test]
    fn memories_keep_to_their_room_and_leave_the_brief_its_own(
        lessons in prop::collection::vec("[a-z \n|<>/]{0,400}", 0..20),
        budget_tokens in 1..20_000u64,
        brief_tokens in 0..2_000u64,
        tokens_max in 0..3_000u64,
    ) {
        let counter = Counter::new(Family::Claude);
        let given = injection(&lessons, tokens_max).given(&branch(), budget_tokens, brief_tokens, &counter);
        if let Some(given) = given {
            prop_assert!(given.tokens <= tokens_max && given.tokens <= budget_tokens / 5);
            prop_assert!(brief_tokens + given.tokens < budget_tokens);
            prop_assert!(!given.memories.is_empty() && given.memories.len() <= 10);
            prop_assert_eq!(given.tokens, counter.count(given.text.as_str()));
            let again = OpeningMemories::Given(given.text.clone()).given(&branch(), 1, 0, &counter);
            prop_assert_eq!(again, Some(given), "what was given is read back from its text");
        }
    }
}

#[test]
fn with_room_for_all_the_best_ten_are_given_and_with_less_the_best_few() {
    let counter = Counter::new(Family::Claude);
    let lessons: Vec<String> = (0..12).map(|number| format!("lesson number {number}")).collect();
    let given = |budget_tokens, tokens_max| {
        injection(&lessons, tokens_max).given(&branch(), budget_tokens, 100, &counter).map(|given| given.memories.len())
    };
    assert_eq!(given(100_000, 2_048), Some(10));
    assert!(given(100_000, 200).is_some_and(|few| (1..10).contains(&few)));
    assert_eq!(given(100_000, 20), None);
    assert_eq!(given(101, 2_048), None, "the brief takes it all");
}
