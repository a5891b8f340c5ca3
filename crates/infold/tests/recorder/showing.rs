//! `infold show` and `infold top` after real work.

use infold_testkit::agent::Client;
use insta::{Settings, assert_snapshot};
use serde_json::Value;

use crate::scene::{ASKED, Scene, folded_work};

/// What differs from run to run: times, ids, what infold adds on this machine, and our own counts, which are
/// put right by the provider's while the work goes on.
fn filtered() -> Settings {
    let mut settings = Settings::clone_current();
    for (pattern, stands_for) in [
        (r"br_[0-9a-f]{8}", "br_xxxxxxxx"),
        (r" *\b\d+\.\d ms", "  0.0 ms"),
        // Columns are as wide as what stands in them.
        (r" *\b(WHEN|ADDED|LAST|SAVED)\b", "  $1"),
        (r" *(just now|\d+ (s|min) ago)", "  just now"),
        (r"(active|completed) · (.*?) · \d+ (ms|s)\b", "$1 · $2 · 0 s"),
        (r"[█░]{10} [\d,]+( of |/)", "(bar) N$1"),
        (r"[\d,]+ tokens folded away · [\d,]+ saved", "N tokens folded away · N saved"),
        (r"sent [\d,]+ of the [\d,]+ tokens", "sent N of the N tokens"),
        (r"[\d,]+ saved \(\d+ %\)", "N saved (P %)"),
        (r"about \$[\d.]+ as", "about $$D as"),
        (r"\$[\d.]+ saved", "$$D saved"),
        (r"counts [\d.]+ tokens for each of ours, by \d+ requests", "counts R tokens for each of ours, by N requests"),
        (r"[\d.]+k? tokens not sent", "N tokens not sent"),
        (r" +[\d.]+k?  just now", "  N  just now"),
    ] {
        settings.add_filter(pattern, stands_for);
    }
    settings
}

async fn worked() -> Scene {
    let scene = Scene::start(folded_work()).await;
    scene.agent(Client::ClaudeCode, "shown").await.work(ASKED).await.unwrap();
    scene.requests("shown", scene.model.turns().len()).await;
    scene
}

#[tokio::test(flavor = "multi_thread")]
async fn show_draws_the_branches_and_the_requests() {
    let scene = worked().await;
    let text = scene.prints(&["show", "shown", "--requests", "20"]).await;
    filtered().bind(|| assert_snapshot!(text));

    let shown: Value = serde_json::from_str(&scene.prints(&["show", "shown", "--json"]).await).unwrap();
    assert_eq!(shown["request_totals"]["requests"].as_u64(), Some(scene.model.turns().len() as u64));
    assert!(shown["request_totals"]["cost_usd"].as_f64() > Some(0.0), "{}", shown["request_totals"]);
    let none = scene.prints(&["show", "shown", "--requests", "0"]).await;
    assert!(none.contains("requests · ") && !none.contains("PROMPT"), "{none}");
}

#[tokio::test(flavor = "multi_thread")]
async fn top_prints_one_frame_for_scripts() {
    let scene = worked().await;
    let text = scene.prints(&["top", "--once"]).await;
    filtered().bind(|| assert_snapshot!(text));

    let frame: Value = serde_json::from_str(&scene.prints(&["top", "--json"]).await).unwrap();
    assert_eq!(frame["sessions"][0]["session_id"], "shown");
    assert_eq!(frame["sessions"][0]["window_tokens"], 200_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_and_metrics_tell_how_the_provider_counts() {
    let scene = worked().await;
    let metrics = scene.api.get("/metrics").await.unwrap().text;
    for name in ["infold_requests_total", "infold_request_tokens_total", "infold_request_saved_tokens_total"] {
        assert!(metrics.contains(name), "{name} is missing from\n{metrics}");
    }
    let ended = scene.daemon.program(&["doctor"]).env("LANG", "C.UTF-8").output().await.unwrap();
    let text = String::from_utf8(ended.stdout).unwrap();
    assert!(text.contains("token counts"), "{text}");
}
