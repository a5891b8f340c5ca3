//! The fake model as a client sees it, over a real connection.

mod recorded;

use serde_json::{Value, json};

use super::work::{self, Work};
use super::{Decision, Fault, Model, Script, Step};

async fn send(model: &Model, path: &str, session: &str, body: Value) -> (u16, String) {
    let request = reqwest::Client::new().post(format!("{}{path}", model.base_url()));
    let answer = request.header("x-session-id", session).json(&body).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

fn asked(text: &str) -> Value {
    json!({"model": "m", "tools": [{"name": "Read"}], "messages": [{"role": "user", "content": text}]})
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
    let mut wanted = vec!["message_start", "ping"];
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

#[tokio::test]
async fn a_tool_out_of_reach_is_not_called() {
    let script = Script::new([Step::calling("now", [("mcp__infold__branch_return", json!({}))])]);
    let model = Model::start(script).await.unwrap();
    let mut body = asked("go");
    body["tools"] = json!([{"name": "Read"}, {"name": "mcp__infold__branch_return", "defer_loading": true}]);
    let (status, text) = send(&model, "/v1/messages", "s", body).await;
    assert_eq!(status, 200);
    assert!(text.contains("The script cannot go on") && !text.contains("tool_use\","));
    assert!(model.broken()[0].contains("mcp__infold__branch_return, which is not within reach"));
}

#[tokio::test]
async fn steps_see_their_request_and_may_let_the_next_one_answer_it() {
    let steps = [Step::seeing(|_| Decision::Skip), work::read_file("/p/a.rs"), work::fold_branch("done")];
    let model = Model::start(Script::new(steps)).await.unwrap();
    let (_, read) = send(&model, "/v1/messages", "s", asked("go")).await;
    assert!(read.contains("\"file_path\":\"/p/a.rs\""));
    let (_, stuck) = send(&model, "/v1/messages", "s", asked("go")).await;
    assert!(stuck.contains("nothing in the request names a branch"));
    assert_eq!(work::branch_work(&Work::reading("d", [], "m")).len(), 3);
}

#[tokio::test]
async fn usage_says_what_the_cache_had() {
    let model = Model::start(Script::default()).await.unwrap();
    let mut body = asked(&"x".repeat(8_000));
    body["messages"][0]["content"] =
        json!([{"type": "text", "text": "x".repeat(8_000), "cache_control": {"type": "ephemeral"}}]);
    for _ in 0..2 {
        send(&model, "/v1/messages", "s", body.clone()).await;
    }
    let [first, second] = &model.requests()[..] else { panic!() };
    assert_eq!(first.cache.written_tokens(), second.cache.read_tokens);
    assert!(second.cache.read_tokens > 2_000 && second.cache.written_tokens() == 0);
    model.let_time_pass(std::time::Duration::from_secs(600));
    let (_, text) = send(&model, "/v1/messages", "s", body).await;
    let usage: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(usage["usage"]["cache_read_input_tokens"], 0);
    assert_eq!(usage["usage"]["cache_creation_input_tokens"], first.cache.written_tokens());
    assert!(model.repeated_writes().is_empty());
}

#[tokio::test]
async fn faults_come_when_the_script_wants_them() {
    let faults = [Fault::status_after(429, 7), Fault::status(529), Fault::ErrorEvent, Fault::CutAfter { bytes: 20 }];
    let script = Script::new(faults.map(Step::failing)).then([Step::text("whole").fault(Fault::Gzip)]);
    let model = Model::start(script).await.unwrap();
    let mut body = asked("go");
    body["stream"] = json!(true);
    let ask = || {
        let request = reqwest::Client::new().post(format!("{}/v1/messages", model.base_url()));
        request.header("x-session-id", "s").json(&body).send()
    };
    let limited = ask().await.unwrap();
    assert_eq!((limited.status().as_u16(), &limited.headers()["retry-after"]), (429, &"7".parse().unwrap()));
    let overloaded = ask().await.unwrap();
    assert_eq!(overloaded.headers().get("retry-after"), None);
    assert!(overloaded.text().await.unwrap().contains("overloaded_error"));
    let failed = ask().await.unwrap();
    assert_eq!(failed.status(), 200);
    assert!(failed.text().await.unwrap().ends_with("\"message\":\"Overloaded\"}}\n\n"));
    assert!(ask().await.unwrap().text().await.is_err());
    let packed = ask().await.unwrap();
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    assert!(packed.bytes().await.unwrap().starts_with(&[0x1f, 0x8b]));
    assert_eq!(model.requests().iter().map(|request| request.status).collect::<Vec<_>>(), [429, 529, 200, 200, 200]);
    assert!(model.broken().is_empty());
}

#[tokio::test]
async fn reasoning_that_a_provider_would_drop_in_silence_counts_as_broken() {
    let model = Model::start(Script::new([Step::calling("", [("run", json!({}))]).reasoning("hm")])).await.unwrap();
    let tools = json!([{"type": "function", "name": "run"}]);
    let asked = |text: &str| json!({"type": "message", "role": "user", "content": text});
    let (_, said) = send(&model, "/v1/responses", "s", json!({"input": [asked("go")], "tools": tools})).await;
    let said: Value = serde_json::from_str(&said).unwrap();
    let again = |text: &str| {
        let mut input = vec![asked(text)];
        input.extend(said["output"].as_array().unwrap().clone());
        let call = input.last().unwrap()["call_id"].clone();
        input.push(json!({"type": "function_call_output", "call_id": call, "output": "ran"}));
        json!({"input": input, "tools": tools})
    };
    send(&model, "/v1/responses", "s", again("go")).await;
    assert!(model.broken().is_empty());
    send(&model, "/v1/responses", "s", again("go on")).await;
    assert_eq!(model.broken(), ["1 pieces of reasoning are out of their place"]);
}

#[tokio::test]
async fn an_answer_ends_at_its_limit_or_too_early_when_the_script_wants_it() {
    let steps = [Step::text("too long").at_limit(), Step::text("cut").fault(Fault::EndsEarly)];
    let model = Model::start(Script::new(steps)).await.unwrap();
    let (_, said) = send(&model, "/v1/messages", "s", asked("go")).await;
    assert!(said.contains("\"stop_reason\":\"max_tokens\""));
    let mut body = asked("go");
    body["stream"] = json!(true);
    let (_, came) = send(&model, "/v1/messages", "s", body).await;
    assert!(came.contains("text_delta") && !came.contains("content_block_stop"), "{came}");
}

#[tokio::test]
async fn a_request_can_be_waited_for() {
    let model = Model::start(Script::default()).await.unwrap();
    let wait = model.until_sent(|request| request.holds("second"));
    let (_, _, found) = tokio::join!(
        send(&model, "/v1/messages", "s", asked("first")),
        send(&model, "/v1/messages", "s", asked("second")),
        wait
    );
    assert!(found.holds("second"));
}

#[tokio::test]
async fn an_answer_that_its_reader_gives_up_is_noticed() {
    let model = Model::start(Script::new([Step::failing(Fault::StallAfter { bytes: 30 })])).await.unwrap();
    let mut body = asked("go");
    body["stream"] = json!(true);
    let mut answer =
        reqwest::Client::new().post(format!("{}/v1/messages", model.base_url())).json(&body).send().await.unwrap();
    assert!(answer.chunk().await.unwrap().is_some());
    assert_eq!(model.abandoned(), 0);
    drop(answer);
    tokio::time::timeout(std::time::Duration::from_secs(5), model.until_abandoned(1)).await.unwrap();
}

#[tokio::test]
async fn ollama_is_answered_in_lines_and_without_ids() {
    let steps =
        [Step::calling("hello", [("Read", json!({"file_path": "a"}))]).reasoning("hm"), Step::text("no thoughts")];
    let model = Model::start(Script::new(steps)).await.unwrap();
    let function = json!({"name": "Read", "description": "Reads.", "parameters": {"type": "object"}});
    let mut body = json!({"model": "m", "think": true, "messages": [{"role": "user", "content": "go"}],
        "tools": [{"type": "function", "function": function}]});
    let (status, text) = send(&model, "/api/chat", "s", body.clone()).await;
    assert_eq!(status, 200);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["message"]["thinking"], "hm");
    assert_eq!(lines[1]["message"]["content"], "hello");
    assert_eq!(
        lines[2]["message"]["tool_calls"],
        json!([{"function": {"name": "Read", "arguments": {"file_path": "a"}}}])
    );
    assert_eq!(
        (&lines[3]["done"], &lines[3]["done_reason"], &lines[3]["eval_count"]),
        (&json!(true), &json!("stop"), &json!(50))
    );
    body["stream"] = json!(false);
    let (_, whole) = send(&model, "/api/chat", "s", body.clone()).await;
    assert!(whole.contains("no thoughts") && whole.contains("\"done\":true"));
    body["prompt_cache_key"] = json!("k");
    let (status, refused) = send(&model, "/api/chat", "s", body).await;
    assert_eq!(status, 400);
    assert!(refused.starts_with("{\"error\":\"the request has the field"), "{refused}");
}
