//! Ends that a model is asked about come to an outcome once, within a day's budget.

use super::learning::{ended, keep};
use super::*;
use crate::tests::branch_id;

const DAY_MS: u64 = 86_400_000;
const NOW_MS: u64 = 20_000 * DAY_MS + 5;

fn ask(number: u64) -> NewAsk {
    NewAsk {
        owner: Owner::local(),
        session: SessionId::parse("s").unwrap(),
        branch: (branch_id(number), 1),
        event: number,
        at_ms: 20,
    }
}

async fn listed(store: &Store, writes: Vec<LearnWrite>) {
    let batch = store.outbox(32).await.unwrap();
    let step = LearnStep { from: batch.from, to: batch.to, writes, memories_max: 100, at_ms: 50 };
    assert!(matches!(store.learn(step).await.unwrap(), LearnAnswer::Learnt { .. }));
}

fn claim(process: &str, from: Option<&str>, tokens: u64) -> AskClaim {
    AskClaim {
        turn: AskTurn { branch: (branch_id(1), 1), process: process.to_owned() },
        from_process: from.map(str::to_owned),
        tokens,
        tokens_per_day: 1_000,
        at_ms: NOW_MS,
    }
}

fn end(claim: &AskClaim, tokens: u64, outcome: AskOutcome) -> AskEnd {
    AskEnd { turn: claim.turn.clone(), at_ms: claim.at_ms, counted_tokens: claim.tokens, tokens, outcome }
}

async fn answered(store: &Store, waiting: &WaitingAsk, process: &str) -> AnswerLearnt {
    let from = store.outbox(0).await.unwrap().from;
    let writes = vec![keep(kept(3, "by a model", ""))];
    let step = LearnStep { from, to: from, writes, memories_max: 100, at_ms: 60 };
    store.learn_answer(waiting.clone(), process.to_owned(), step).await.unwrap()
}

#[tokio::test]
async fn a_turn_is_taken_once_and_by_another_process_only_when_the_first_is_known_to_be_gone() {
    let folder = TempDir::new().unwrap();
    let (store, other) = (open_store(&folder), open_store(&folder));
    ended(&store).await;
    listed(&store, vec![LearnWrite::Ask(ask(1))]).await;
    assert_eq!(store.claim_ask(claim("a", None, 300)).await.unwrap(), ClaimAnswer::Taken);
    assert_eq!(other.claim_ask(claim("b", None, 300)).await.unwrap(), ClaimAnswer::Overtaken);
    assert_eq!(other.claim_ask(claim("b", Some("a"), 300)).await.unwrap(), ClaimAnswer::Taken);
    let waiting = store.waiting_asks(9).await.unwrap().remove(0);
    assert_eq!((waiting.process.as_deref(), waiting.project.clone()), (Some("b"), Some(project("p"))));
    assert_eq!(waiting.shown, [memory_id(9)]);

    assert_eq!(answered(&store, &waiting, "a").await, AnswerLearnt::Gone, "its turn is another's");
    assert_eq!(answered(&other, &waiting, "b").await, AnswerLearnt::Done(1));
    assert_eq!(answered(&other, &waiting, "b").await, AnswerLearnt::Gone, "once");
    assert_eq!(store.ask_spending(NOW_MS).await.unwrap().tokens, 600, "what both may have taken counts");
}

#[tokio::test]
async fn what_a_request_may_take_is_counted_first_and_then_what_it_took_day_by_day() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    ended(&store).await;
    listed(&store, vec![LearnWrite::Ask(ask(1))]).await;
    let first = claim("a", None, 900);
    assert_eq!(store.claim_ask(first.clone()).await.unwrap(), ClaimAnswer::Taken);
    assert_eq!(store.claim_ask(claim("a", Some("a"), 101)).await.unwrap(), ClaimAnswer::NoTokens);
    let again = AskOutcome::Again { problem: "busy".to_owned(), attempts: 1, not_before_ms: 77 };
    store.end_ask(end(&first, 250, again)).await.unwrap();
    let spending = store.ask_spending(NOW_MS).await.unwrap();
    assert_eq!((spending.tokens, spending.requests, spending.problem.as_deref()), (250, 1, Some("busy")));
    let waiting = store.waiting_asks(9).await.unwrap().remove(0);
    assert_eq!((waiting.attempts, waiting.not_before_ms, waiting.process), (1, 77, None));

    assert_eq!(store.claim_ask(claim("a", None, 800)).await.unwrap(), ClaimAnswer::NoTokens);
    let tomorrow = AskClaim { at_ms: NOW_MS + DAY_MS, ..claim("a", None, 800) };
    assert_eq!(store.claim_ask(tomorrow.clone()).await.unwrap(), ClaimAnswer::Taken);
    store.end_ask(end(&tomorrow, 0, AskOutcome::GivenUp { problem: "no".to_owned() })).await.unwrap();
    assert_eq!(store.ask_spending(NOW_MS + DAY_MS).await.unwrap().waiting, 0);
    assert_eq!(store.ask_spending(NOW_MS).await.unwrap().tokens, 250);
}

#[tokio::test]
async fn an_answer_is_decided_again_when_something_was_learnt_meanwhile_and_not_kept_when_its_end_is_gone() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    ended(&store).await;
    let of_branch = LearnWrite::Keep {
        kept: Box::new(kept(1, "mechanical", "")),
        evidence: NewEvidence { branch: Some((branch_id(1), 1)), ..learning::evidence(EvidenceKind::Made) },
    };
    listed(&store, vec![of_branch, LearnWrite::Ask(ask(1))]).await;
    assert_eq!(store.claim_ask(claim("a", None, 10)).await.unwrap(), ClaimAnswer::Taken);
    let waiting = store.waiting_asks(9).await.unwrap().remove(0);
    let old = LearnStep { from: 1, to: 1, writes: Vec::new(), memories_max: 100, at_ms: 60 };
    let overtaken = store.learn_answer(waiting.clone(), "a".to_owned(), old).await.unwrap();
    assert_eq!(overtaken, AnswerLearnt::Overtaken);

    store.forget_memories(Owner::local(), ForgetSource::Memories(vec![memory_id(1)]), 70).await.unwrap();
    assert_eq!(answered(&store, &waiting, "a").await, AnswerLearnt::Gone);
    assert_eq!(store.memories(all()).await.unwrap().len(), 0);
}

#[tokio::test]
async fn the_list_has_a_bound_and_a_branch_that_does_not_count_is_taken_off() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    ended(&store).await;
    let unasked = LearnWrite::LeaveUnasked { owner: Owner::local(), branch: branch_id(1_200) };
    let writes = (1..=1_200).map(|number| LearnWrite::Ask(ask(number))).chain([unasked]).collect();
    listed(&store, writes).await;
    let waiting = store.waiting_asks(5_000).await.unwrap();
    assert_eq!(waiting.len(), 999);
    assert_eq!(waiting[0].ask.event, 201, "the oldest go first");
}

#[tokio::test]
async fn a_memory_has_a_vector_of_each_model_in_use_until_its_text_is_another_one() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    add(&store, vec![kept(1, "one", ""), kept(2, "two", "")]).await;
    let waiting = store.unembedded_memories("m".to_owned(), 9).await.unwrap();
    assert_eq!(waiting.len(), 2);
    let embedded = |model: &str, beside: &str| {
        let made =
            waiting.iter().map(|(id, text)| EmbeddedMemory { id: id.clone(), text: text.clone(), bytes: vec![1, 2] });
        store.embed_memories(model.to_owned(), beside.to_owned(), made.collect())
    };
    let left = async |model: &str| store.unembedded_memories(model.to_owned(), 9).await.unwrap().len();
    embedded("built-in", "m").await.unwrap();
    embedded("m", "built-in").await.unwrap();
    assert_eq!((left("m").await, left("built-in").await, left("other").await), (0, 0, 2));
    let found = store.find_memories(search(&["one"])).await.unwrap().candidates.remove(0);
    assert_eq!(found.vector.map(|vector| vector.model).as_deref(), Some("m"));
    embedded("other", "built-in").await.unwrap();
    assert_eq!((left("m").await, left("built-in").await, left("other").await), (2, 0, 0), "the old one's are gone");

    let other_text = |memory: &Memory| {
        let mut memory = memory.clone();
        memory.lesson.title = scrubbed("another");
        (Some(MemoryUpdate { memory, words: None, moved: None }), ())
    };
    store.change_memory(Owner::local(), memory_id(1), "edited", 9, other_text).await.unwrap();
    assert_eq!((left("other").await, left("built-in").await), (1, 1));
    embedded("other", "built-in").await.unwrap();
    assert_eq!(left("other").await, 1, "a vector of the old text is not written");
}
