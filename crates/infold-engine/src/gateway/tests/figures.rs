//! Figures of servers: counted in memory, written together, read from both.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{is_on_disk, secret, server};
use crate::tests::{Bench, settings};
use crate::{ServerCall, ServerNote};

fn call(millis: u64, is_error: bool) -> ServerCall {
    ServerCall {
        server: server(),
        tool: "read".to_owned(),
        latency: Duration::from_millis(millis),
        is_error,
        tokens_in: 10,
        tokens_out: 20,
        bytes: 100,
        offloaded: is_error,
    }
}

#[tokio::test]
async fn figures_are_read_from_memory_and_from_the_store_and_outlive_a_normal_end() {
    let bench = Bench::new(settings());
    for _ in 0..19 {
        bench.engine.count_server_call(&bench.who, call(3, false));
    }
    let cancel = CancellationToken::new();
    cancel.cancel();
    bench.engine.write_gateway(&cancel).await;
    bench.engine.count_server_call(&bench.who, call(3_000, true));
    let mine = bench.engine.server_figures(&bench.who).await.unwrap().remove(0);
    assert_eq!((mine.calls, mine.errors, mine.tokens_in, mine.tokens_out, mine.offloaded), (20, 1, 200, 400, 1));
    assert_eq!(mine.bytes, 2_000);
    assert!((2.0..=4.1).contains(&mine.p50_ms.unwrap()) && mine.p95_ms.unwrap() <= 4.1, "{mine:?}");
    assert_eq!(mine.last_at_ms, Some(crate::tests::START_MS));

    bench.engine.flush_gateway().await;
    assert_eq!(bench.another(settings()).server_figures(&bench.who).await.unwrap(), [mine]);
}

#[tokio::test]
async fn notes_about_a_server_are_scrubbed_and_its_era_stays_known() {
    let bench = Bench::new(settings());
    let note = ServerNote { state: "ready", detail: None, era: Some("2025-11-25") };
    bench.engine.note_server(&server(), note).await.unwrap();
    let detail = Some(format!("exit status 1: \u{1b}[31mtoken {}", secret()));
    bench.engine.note_server(&server(), ServerNote { state: "failing", detail, era: None }).await.unwrap();
    let figures = bench.engine.server_figures(&bench.who).await.unwrap().remove(0);
    assert_eq!((figures.state.as_deref(), figures.era.as_deref()), (Some("failing"), Some("2025-11-25")));
    assert!(figures.detail.unwrap().starts_with("exit status 1: token [SECRET:"));
    assert!(!is_on_disk(&bench, &secret()));
}
