//! `infold show` and `infold top` after real work.

use infold_testkit::agent::Client;
use infold_testkit::model::{Fault, Script, Step};
use insta::{Settings, assert_snapshot};
use serde_json::{Value, json};

use crate::recorder::scene::{ASKED, Scene, folded_work, plain_work};

/// Filters for what differs from run to run: times, ids, infold's own latency, and our own counts, which are
/// calibrated by the provider's while the work goes on.
fn filtered() -> Settings {
    let mut settings = Settings::clone_current();
    for (pattern, replacement) in [
        (r"br_[0-9a-f]{8}", "br_xxxxxxxx"),
        (r" *\b\d+\.\d ms", "  0.0 ms"),
        // Columns are as wide as what is in them.
        (r" *\b(WHEN|LATENCY|LAST|SAVED)\b", "  $1"),
        (r" *(just now|\d+ (s|min) ago)", "  just now"),
        (r"  just now +", "  just now  "),
        (r"(active|completed) · (.*?) · \d+ (ms|s)\b", "$1 · $2 · 0 s"),
        (r"[█░]{10} [\d,]+( of |/)", "(bar) N$1"),
        (r"[\d,]+ tokens of work folded into [\d,]+", "N tokens of work folded into N"),
        (r"removed [\d,.k]+ of [\d,.k]+ input tokens( \(\d+ %\))?", "removed N of N input tokens"),
        (r"about \$[\d.]+ without", "about $$D without"),
        (r"saved about \$[\d.]+", "saved about $$D"),
        (r"counts [\d.]+× (.*), \d+ requests", "counts R× $1, N requests"),
        (r" +[\d.]+k?  just now", "  N  just now"),
    ] {
        settings.add_filter(pattern, replacement);
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
    let none = scene.prints(&["show", "show", "--requests", "0"]).await;
    assert!(none.contains("requests · ") && !none.contains("LATENCY"), "{none}");
}

#[tokio::test(flavor = "multi_thread")]
async fn top_prints_one_frame_for_scripts() {
    let scene = worked().await;
    let text = scene.prints(&["top", "--once"]).await;
    filtered().bind(|| assert_snapshot!(text));

    let frame: Value = serde_json::from_str(&scene.prints(&["top", "--json"]).await).unwrap();
    assert_eq!(frame["sessions"][0]["session_id"], "shown");
    assert_eq!(frame["sessions"][0]["window_tokens"], 1_000_000, "what Claude Code itself says of this model");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_is_no_smaller_than_what_was_answered() {
    let scene = worked().await;
    let windows = ["--set", "windows.models=[[\"claude-opus-*\", 1000, 900000]]"];
    let text = scene.prints(&[&["show", "shown"][..], &windows].concat()).await;
    assert!(text.contains(" of 900,000 tokens"), "{text}");
    let frame = scene.prints(&[&["top", "--json"][..], &windows].concat()).await;
    let frame: Value = serde_json::from_str(&frame).unwrap();
    assert_eq!(frame["sessions"][0]["window_tokens"], 900_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_asks_for_the_long_window_has_it() {
    let scene = Scene::start(Script::new([Step::text("Yes.")])).await;
    let tools = json!([{"name": "Read", "input_schema": {"type": "object"}}]);
    let messages = json!([{"role": "user", "content": "Is it?"}]);
    let body = json!({"model": "claude-opus-4-6", "max_tokens": 10, "tools": tools, "messages": messages});
    let request = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = request.post(format!("{}/anthropic/v1/messages", scene.daemon.base_url())).json(&body);
    let headers = [
        ("x-claude-code-session-id", "asked"),
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "oauth-2025-04-20,context-1m-2025-08-07"),
    ];
    let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    assert_eq!(request.send().await.unwrap().status(), 200);
    scene.requests("asked", 1).await;
    let shown: Value = serde_json::from_str(&scene.prints(&["show", "asked", "--json"]).await).unwrap();
    assert_eq!(shown["window_tokens"], 1_000_000, "{shown:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_and_metrics_tell_how_the_provider_counts() {
    let scene = worked().await;
    let metrics = scene.api.get("/metrics").await.unwrap().text;
    for name in ["infold_requests_total", "infold_request_tokens_total", "infold_request_saved_tokens"] {
        assert!(metrics.contains(name), "{name} is missing from\n{metrics}");
    }
    let ended = scene.daemon.program(&["doctor"]).env("LANG", "C.UTF-8").output().await.unwrap();
    let text = String::from_utf8(ended.stdout).unwrap();
    assert!(text.contains("token counts"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxied_session_is_headed_with_what_its_provider_reported_of_its_models_window() {
    let scene = worked().await;
    let last = scene.requests("shown", scene.model.turns().len()).await.pop().unwrap();
    let figure = |field: &str| last["usage"][field].as_u64().unwrap();
    let fields = ["fresh_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"];
    let tokens: u64 = fields.into_iter().map(figure).sum();

    // The heading is there even if no request is to be listed, and whatever the tools' own limit is.
    let settings = ["--set", "windows.models=[[\"claude-opus-*\", 123456]]", "--set", "context.context_limit=4000"];
    let text = scene.prints(&[&["show", "shown", "--requests", "0"][..], &settings].concat()).await;
    let head = text.lines().nth(2).unwrap();
    let wanted = format!("{},{:03} of 123,456 tokens · claude-opus-5-5 · healthy", tokens / 1_000, tokens % 1_000);
    assert!(head.starts_with("main  ") && head.ends_with(&wanted), "{head} instead of {wanted}");
    let shown = scene.prints(&[&["show", "shown", "--json"][..], &settings].concat()).await;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((&shown["context_tokens"], &shown["window_tokens"]), (&tokens.into(), &123_456.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_live_state_has_lapsed_is_listed_and_shown() {
    let mut scene = Scene::start(plain_work()).await;
    scene.agent(Client::ClaudeCode, "plain").await.work(ASKED).await.unwrap();
    let asked = scene.model.turns().len();
    scene.requests("plain", asked).await;
    scene.daemon.terminate().await.unwrap();
    // The daemon does the same to a session a day after its last activity.
    let database = rusqlite::Connection::open(scene.daemon.data().join("infold.db")).unwrap();
    assert_eq!(database.execute("DELETE FROM sessions", []).unwrap(), 1);

    let text = scene.prints(&["sessions"]).await;
    filtered().bind(|| assert_snapshot!("lapsed_in_the_list", text));
    let listed: Value = serde_json::from_str(&scene.prints(&["sessions", "--json"]).await).unwrap();
    let session = &listed["sessions"][0];
    assert_eq!((&session["session_id"], &session["status"]), (&"plain".into(), &"recorded".into()), "{listed:#}");
    assert_eq!(session["request_totals"]["requests"].as_u64(), Some(asked as u64));
    assert!(session["last_active_at"].is_string(), "{session:#}");

    let text = scene.prints(&["show", "plain", "--requests", "1"]).await;
    filtered().bind(|| assert_snapshot!("lapsed_and_shown", text));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_got_no_answer_is_listed_and_shown() {
    let scene = Scene::start(Script::new([Step::failing(Fault::status(401))])).await;
    let mut agent = scene.agent(Client::ClaudeCode, "refused").await;
    agent.say(ASKED);
    // The turn fails: that is what the list has to show.
    let _ = agent.turn().await;
    scene.requests("refused", 1).await;
    let text = scene.prints(&["sessions"]).await;
    filtered().bind(|| assert_snapshot!("unanswered_in_the_list", text));
    let text = scene.prints(&["show", "refused"]).await;
    assert!(
        text.starts_with("refused  recorded · Claude Code · last activity ") && text.contains("failed, status 401"),
        "{text}"
    );
    let frame = scene.prints(&["top", "--once"]).await;
    assert!(frame.starts_with("infold top  1 session · "), "{frame}");
    let frame: Value = serde_json::from_str(&scene.prints(&["top", "--json"]).await).unwrap();
    assert_eq!(frame["sessions"][0]["status"], "recorded");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_wider_than_a_narrow_terminal() {
    let scene = Scene::start(folded_work()).await;
    let name = "5b2438e4-96a7-43f7-b051-10a055bb0fbe";
    scene.agent(Client::ClaudeCode, name).await.work(ASKED).await.unwrap();
    scene.requests(name, scene.model.turns().len()).await;
    for columns in [60, 40] {
        for arguments in [&["sessions"][..], &["show", name], &["top", "--once"]] {
            let text = scene.prints_at(columns, arguments).await;
            let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
            assert!(widest.chars().count() <= columns, "{arguments:?} at {columns}: {widest:?} in\n{text}");
        }
        let text = scene.prints_at(columns, &["sessions"]).await;
        assert!(text.starts_with("5b2438e4\n"), "an id that cannot be typed:\n{text}");
    }
}

/// All places agree on what is saved, and on how large the main thread is.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_saved_and_how_large_the_main_thread_is_has_one_value_everywhere() {
    let scene = worked().await;
    let json = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    let listed = json(scene.prints(&["sessions", "--json"]).await)["sessions"][0].clone();
    let shown = json(scene.prints(&["show", "shown", "--json"]).await);
    let top = json(scene.prints(&["top", "--json"]).await);
    let api = scene.api.get("/api/v1/sessions/shown").await.unwrap().body;

    let saved_tokens = listed["saved_tokens"].as_i64().unwrap();
    assert!(saved_tokens > 0, "{listed:#}");
    for session in [&shown, &top["sessions"][0], &api] {
        for field in ["saved_tokens", "context_tokens", "window_tokens", "agent", "first_words", "request_totals"] {
            assert_eq!(session[field], listed[field], "{field}");
        }
    }
    assert_eq!(top["request_totals"]["saved_tokens"], saved_tokens);
    let rows = shown["requests"].as_array().unwrap().iter();
    assert_eq!(rows.map(|row| row["saved_tokens"].as_i64().unwrap()).sum::<i64>(), saved_tokens);
    assert_eq!(listed["first_words"], ASKED);
}
