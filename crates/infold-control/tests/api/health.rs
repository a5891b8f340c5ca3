//! The health pages and the metrics.

use http::StatusCode;
use infold_engine::ScrubFault;
use prometheus::IntCounter;
use serde_json::json;

use crate::client::{Api, bare};

#[tokio::test]
async fn whoever_asks_learns_that_infold_is_alive_and_ready() {
    let api = Api::new();
    let alive = api.send(None, bare("GET", "/healthz")).await;
    assert_eq!((alive.status, alive.json()), (StatusCode::OK, json!({ "status": "ok" })));
    let ready = api.send(None, bare("GET", "/readyz")).await;
    assert_eq!((ready.status, ready.json()), (StatusCode::OK, json!({ "status": "ready" })));
}

#[tokio::test]
async fn without_a_working_scrubber_infold_is_alive_and_not_ready() {
    for fault in [ScrubFault::Missing, ScrubFault::Panic] {
        let api = Api::with(|setup| setup.engine.scrub.fault = fault);
        let expected = "503 not_ready: infold cannot do its work: scrubber (scrubbing_failed); its log says more \
                        {\"store\":null,\"scrubber\":\"scrubbing_failed\"}";
        assert_eq!(api.send(None, bare("GET", "/readyz")).await.error(), expected);
        assert_eq!(api.send(None, bare("GET", "/healthz")).await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn without_a_store_infold_is_not_ready_and_does_not_say_where_its_store_was() {
    let api = Api::new();
    std::fs::remove_file(api.folder.path().join("infold.db")).unwrap();
    let answer = api.send(None, bare("GET", "/readyz")).await;
    let expected = "503 not_ready: infold cannot do its work: store (store_failed); its log says more \
                    {\"store\":\"store_failed\",\"scrubber\":null}";
    assert_eq!(answer.error(), expected);
}

#[tokio::test]
async fn metrics_are_what_the_registry_holds() {
    let counter = IntCounter::new("infold_tests", "Tests.").unwrap();
    let api = Api::with(|setup| setup.control.registry.register(Box::new(counter.clone())).unwrap());
    counter.inc();
    let answer = api.get("/metrics").await;
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert_eq!(answer.text, "# HELP infold_tests Tests.\n# TYPE infold_tests counter\ninfold_tests 1\n");
}

#[tokio::test]
async fn answers_are_not_for_caches_or_guesses() {
    let api = Api::new();
    for path in ["/api/v1/sessions", "/healthz", "/nowhere"] {
        let answer = api.get(path).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
}
