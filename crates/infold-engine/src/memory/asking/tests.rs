//! Asking by a clock that the test sets: what fails is asked again later, and a day's budget is a day's.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::*;
use crate::tests::{Bench, fold, open, settings};
use crate::{AskModel, EngineSettings, MemoryModels, ModelReply, OpenBranch};

const ANSWER: &str =
    r#"[{"title": "Uploads", "lesson": "The limit of uploads is in config/upload.toml.", "kind": "fact"}]"#;
const HOUR_MS: u64 = 3_600_000;

type Replies = Vec<Result<ModelReply, AskFault>>;

/// A model that gives these replies, and the last of them for ever. Returns how often it was asked, too.
fn distiller(replies: Replies, tokens_per_day: u64) -> (Distiller, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, replies) = (Arc::clone(&asked), Arc::new(Mutex::new(replies)));
    let ask = AskModel::new(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        let mut replies = replies.lock().unwrap();
        let reply = if replies.len() > 1 { replies.remove(0) } else { replies[0].clone() };
        async move { reply }
    });
    let distiller = Distiller {
        model: "small-1".to_owned(),
        ask,
        tokens_per_day,
        record_bytes_max: 8_000,
        answer_tokens_max: 100,
        pause_ms: HOUR_MS / 60,
    };
    (distiller, asked)
}

fn answer(tokens: u64) -> Result<ModelReply, AskFault> {
    Ok(ModelReply { words: ANSWER.to_owned(), tokens: Some(tokens) })
}

fn bench(distiller: &Distiller) -> Bench {
    let memory_models = MemoryModels { distiller: Some(distiller.clone()), ..MemoryModels::none() };
    Bench::new(EngineSettings { memory_models, ..settings() })
}

/// Has a branch return without lessons, and learns from it.
async fn folded(bench: &Bench, session: &str, subject: &str) {
    let opening = OpenBranch { description: format!("Find the limit of {subject}"), ..open(session) };
    let branch = bench.engine.open_branch(&bench.who, opening).await.unwrap().branch_id;
    let message = format!(
        "The limit of {subject} is max_{subject} in config/{subject}.toml, and it must stay at 3 because the server of \
         {subject} bans clients after 5."
    );
    bench.engine.fold_branch(&bench.who, fold(branch.as_str(), &message)).await.unwrap();
    bench.engine.learn().await.unwrap();
}

async fn waiting(bench: &Bench) -> u64 {
    bench.engine.ask_status().await.unwrap().unwrap().spending.waiting
}

#[tokio::test]
async fn a_request_that_failed_is_made_again_after_a_pause_that_grows() {
    let busy = || Err(AskFault::Busy { after_ms: None, problem: "busy".to_owned() });
    let (distiller, asked) = distiller(vec![busy(), busy(), answer(50)], 100_000);
    let bench = bench(&distiller);
    folded(&bench, "s", "uploads").await;
    let mut pace = AskPace::default();
    for (times, minutes) in [(1, 1), (2, 2)] {
        bench.engine.ask_next(&distiller, &mut pace).await;
        assert_eq!(asked.load(Ordering::SeqCst), times);
        bench.now_ms.fetch_add(minutes * 60_000 - 1, Ordering::SeqCst);
        bench.engine.ask_next(&distiller, &mut pace).await;
        assert_eq!(asked.load(Ordering::SeqCst), times, "the pause is not over");
        bench.now_ms.fetch_add(1, Ordering::SeqCst);
    }
    bench.engine.ask_next(&distiller, &mut pace).await;
    assert_eq!((asked.load(Ordering::SeqCst), waiting(&bench).await), (3, 0));
}

#[tokio::test]
async fn a_provider_that_says_when_is_not_asked_before_and_an_hour_is_the_longest_pause() {
    let busy = |after_ms| Err(AskFault::Busy { after_ms: Some(after_ms), problem: "busy".to_owned() });
    let (distiller, asked) = distiller(vec![busy(600_000), busy(90 * HOUR_MS), answer(50)], 100_000);
    let bench = bench(&distiller);
    folded(&bench, "s", "uploads").await;
    let mut pace = AskPace::default();
    for (wait_ms, times) in [(0, 1), (599_999, 1), (1, 2), (HOUR_MS - 1, 2), (1, 3)] {
        bench.now_ms.fetch_add(wait_ms, Ordering::SeqCst);
        bench.engine.ask_next(&distiller, &mut pace).await;
        assert_eq!(asked.load(Ordering::SeqCst), times);
    }
}

#[tokio::test]
async fn what_does_not_fit_into_a_day_is_asked_on_the_next() {
    let (distiller, asked) = distiller(vec![answer(1_900)], 2_000);
    let bench = bench(&distiller);
    folded(&bench, "s", "uploads").await;
    folded(&bench, "t", "downloads").await;
    let mut pace = AskPace::default();
    for _ in 0..5 {
        bench.engine.ask_next(&distiller, &mut pace).await;
    }
    assert_eq!((asked.load(Ordering::SeqCst), waiting(&bench).await), (1, 1));
    bench.now_ms.fetch_add(24 * HOUR_MS, Ordering::SeqCst);
    bench.engine.ask_next(&distiller, &mut pace).await;
    assert_eq!((asked.load(Ordering::SeqCst), waiting(&bench).await), (2, 0));
}

#[tokio::test]
async fn an_end_that_cannot_be_answered_lets_others_go_first_and_is_given_up() {
    let lost = || Err(AskFault::Lost("nothing".to_owned()));
    let (distiller, asked) = distiller(vec![lost(), answer(50), lost()], 1_000_000);
    let bench = bench(&distiller);
    folded(&bench, "s", "uploads").await;
    folded(&bench, "t", "downloads").await;
    let mut pace = AskPace::default();
    bench.engine.ask_next(&distiller, &mut pace).await;
    pace.paused_until_ms = 0;
    bench.engine.ask_next(&distiller, &mut pace).await;
    assert_eq!(waiting(&bench).await, 1, "the second was answered before the first was asked again");
    for _ in 0..10 {
        bench.now_ms.fetch_add(2 * HOUR_MS, Ordering::SeqCst);
        bench.engine.ask_next(&distiller, &mut pace).await;
    }
    assert_eq!((asked.load(Ordering::SeqCst), waiting(&bench).await), (6, 0), "five times in vain");
}
