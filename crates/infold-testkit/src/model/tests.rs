//! The fake model as a client sees it, over a real connection.

use serde_json::{Value, json};

use super::{Model, Script, Step};

async fn send(model: &Model, path: &str, session: &str, body: Value) -> (u16, String) {
    let request = reqwest::Client::new().post(format!("{}{path}", model.base_url()));
    let answer = request.header("x-session-id", session).json(&body).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

fn asked(text: &str) -> Value {
    json!({"model": "m", "tools": [{"name": "t"}], "messages": [{"role": "user", "content": text}]})
}

#[tokio::test]
async fn each_session_plays_the_script_from_its_start() {
    let model = Model::start(Script::new([Step::text("one"), Step::text("two")])).await.unwrap();
    let first = send(&model, "/v1/messages?beta=true", "s1", asked("a")).await;
    let second = send(&model, "/v1/messages", "s1", asked("a")).await;
    let other = send(&model, "/v1/messages", "s2", asked("a")).await;
    assert!(first.1.contains("\"one\"") && second.1.contains("\"two\"") && other.1.contains("\"one\""));
    assert_eq!(model.requests().len(), 3);
    assert_eq!(model.requests()[0].path, "/v1/messages?beta=true");
}

#[tokio::test]
async fn side_calls_and_named_asides_use_up_no_step() {
    let script = Script::new([Step::text("the step")]).aside("summarise", Step::text("the summary"));
    let model = Model::start(script).await.unwrap();
    let titled =
        send(&model, "/v1/chat/completions", "s", json!({"messages": [{"role": "user", "content": "x"}]})).await;
    let aside = send(&model, "/v1/messages", "s", asked("please summarise")).await;
    let step = send(&model, "/v1/messages", "s", asked("go")).await;
    assert!(titled.1.contains("A scripted session"));
    assert!(aside.1.contains("the summary") && step.1.contains("the step"));
}

#[tokio::test]
async fn a_stream_has_the_providers_events_in_order() {
    let script = Script::new([Step::calling("hello", [("Read", json!({"file_path": "a"}))]).reasoning("hm")]);
    let model = Model::start(script).await.unwrap();
    let mut body = asked("go");
    body["stream"] = json!(true);
    body["thinking"] = json!({"type": "adaptive"});
    let (_, text) = send(&model, "/v1/messages", "s", body).await;
    let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let block = |deltas: usize| {
        let deltas = std::iter::repeat_n("content_block_delta", deltas);
        ["content_block_start"].into_iter().chain(deltas).chain(["content_block_stop"])
    };
    let mut wanted = vec!["message_start"];
    wanted.extend(block(2).chain(block(1)).chain(block(1)));
    wanted.extend(["message_delta", "message_stop"]);
    assert_eq!(names, wanted);
}

#[tokio::test]
async fn a_broken_rule_is_refused_in_the_providers_form_and_kept() {
    let model = Model::start(Script::default()).await.unwrap();
    let orphan = json!({"type": "function_call_output", "call_id": "c", "output": "x"});
    let (status, text) = send(&model, "/v1/responses", "s", json!({"input": [orphan], "tools": [{}]})).await;
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &body["error"]["type"]), (400, &json!("invalid_request_error")));
    assert_eq!(model.broken(), ["No tool call found for function call output with call_id c."]);
}

#[tokio::test]
async fn a_request_over_the_window_is_refused_in_the_words_that_clients_know() {
    let model = Model::start(Script::default().window_tokens(10)).await.unwrap();
    let (status, text) = send(&model, "/v1/messages", "s", asked(&"x".repeat(400))).await;
    assert_eq!(status, 400);
    assert!(text.contains("prompt is too long:") && text.contains("tokens > 10 maximum"));
}

#[tokio::test]
async fn tokens_are_counted_without_being_a_turn() {
    let model = Model::start(Script::default()).await.unwrap();
    let (status, text) = send(&model, "/v1/messages/count_tokens", "s", asked("go")).await;
    assert_eq!(status, 200);
    assert!(text.contains("input_tokens"));
    assert!(model.turns().is_empty());
}
