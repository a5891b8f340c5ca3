//! Forks over the API: of stored sessions, and of transcripts that are handed in.

use http::StatusCode;
use serde_json::{Value, json};

use crate::client::{Answer, Api, bare, local, request, somebody};
use crate::scrub::secret;

const FORKS: &str = "/api/v1/forks";

/// A short conversation, as Anthropic's API takes it.
fn messages() -> Value {
    json!([
        { "role": "user", "content": "Where is the parser?" },
        { "role": "assistant", "content": [
            { "type": "text", "text": "I will look." },
            { "type": "tool_use", "id": "toolu_1", "name": "grep", "input": { "pattern": "fn parse" } },
        ] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "toolu_1", "content": "src/parse.rs:40: fn parse()" },
        ] },
        { "role": "assistant", "content": "It is in src/parse.rs." },
    ])
}

async fn fork(api: &Api, body: Value) -> Answer {
    api.post(FORKS, body).await
}

#[tokio::test]
async fn a_session_is_forked_shown_again_and_listed_with_its_parent() {
    let api = Api::new();
    let branch = api.open("look").await;
    api.fold(&branch, "it is in parse.rs").await;
    let answer = fork(&api, json!({ "parent_session_id": "s", "prompt": "write the tests" })).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    let forked = answer.json();
    assert_eq!((&forked["parent_session_id"], &forked["profile"]), (&json!("s"), &json!("seed")));
    assert_eq!((&forked["prompt"], &forked["created_at"]), (&json!("write the tests"), &json!("2025-01-17T10:30:00Z")));
    assert!(forked["context"].as_str().unwrap().contains("it is in parse.rs"), "{forked}");
    assert_eq!(forked["stats"]["originalCount"], 1);
    assert_eq!(forked["stats"]["totalChars"], forked["chars"]);
    assert_eq!(forked["stats"]["tierDistribution"], json!({ "tier1": 1, "tier2": 0, "tier3": 0 }));

    let child = forked["session_id"].as_str().unwrap();
    assert_eq!(api.get(&format!("{FORKS}/{child}")).await.json(), forked);
    let detail = api.get(&format!("/api/v1/sessions/{child}")).await.json();
    assert_eq!((&detail["parent_session_id"], &detail["fork_ref_id"]), (&json!("s"), &forked["ref_id"]));
    assert_eq!(api.get("/api/v1/sessions/s").await.json()["parent_session_id"], Value::Null);
    let list = api.get("/api/v1/sessions").await.json();
    let parents: Vec<_> = list["sessions"].as_array().unwrap().iter().map(|one| &one["parent_session_id"]).collect();
    assert!(parents.contains(&&json!("s")) && parents.contains(&&Value::Null), "{list}");
    let ref_id = forked["ref_id"].as_str().unwrap();
    let part = api.get(&format!("/api/v1/results/{ref_id}?pattern=parse")).await.json();
    assert_eq!((&part["session_id"], &part["tool_name"]), (&json!(child), &json!("context_fork")));
}

#[tokio::test]
async fn a_transcript_is_forked_whatever_form_it_has() {
    let api = Api::new();
    let lines = [
        json!({ "type": "user", "uuid": "1", "parentUuid": null, "sessionId": "x",
                "message": { "role": "user", "content": "Where is the parser?" } }),
        json!({ "type": "assistant", "uuid": "2", "parentUuid": "1", "sessionId": "x",
                "message": { "role": "assistant", "content": [{ "type": "text", "text": "It is in src/parse.rs." }] } }),
    ];
    let opencode = json!([
        { "info": { "id": "msg_1", "role": "user", "sessionID": "ses_1" },
          "parts": [{ "id": "prt_1", "type": "text", "text": "Where is the parser?" }] },
        { "info": { "id": "msg_2", "role": "assistant", "sessionID": "ses_1" },
          "parts": [{ "id": "prt_2", "type": "text", "text": "It is in src/parse.rs." }] },
    ]);
    let jsonl = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    for (what, transcript) in [
        ("messages of Anthropic's", messages()),
        ("a request", json!({ "model": "m", "max_tokens": 1, "messages": messages() })),
        ("OpenCode's messages", opencode.clone()),
        ("OpenCode's export", json!({ "info": { "id": "ses_1" }, "messages": opencode })),
        ("the text of a file of Claude Code's", json!(jsonl)),
        ("the lines of such a file", json!(lines)),
    ] {
        let answer = fork(&api, json!({ "transcript": transcript, "parent_session_id": "ses_1" })).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{what}: {}", answer.text);
        let forked = answer.json();
        let context = forked["context"].as_str().unwrap();
        assert!(context.contains("Where is the parser?") && context.contains("src/parse.rs"), "{what}: {context}");
        assert_eq!(forked["parent_session_id"], "ses_1", "{what}");
    }
}

#[tokio::test]
async fn what_cannot_be_forked_is_a_400_that_says_what_to_do() {
    let api = Api::new();
    let check = async |body: Value| fork(&api, body).await.error();
    let neither = check(json!({})).await;
    assert_eq!(
        neither,
        "400 invalid_input: parent_session_id or transcript is required: name a session, or send what was said \
         {\"field\":\"parent_session_id\"}"
    );
    for (what, transcript) in [
        ("empty", json!([])),
        ("an empty text", json!("")),
        ("no messages", json!({ "model": "m", "messages": [] })),
        ("not a conversation", json!([1, 2, 3])),
        ("an object of another kind", json!({ "colour": "red" })),
        ("plain text", json!("hello")),
        ("half a line", json!("{\"type\":\"user\",\"message\":")),
        ("an element that is none", json!([{ "role": "user", "content": "a" }, 7])),
        ("an element without a role", json!([{ "role": "user", "content": "a" }, { "content": "b" }])),
    ] {
        let error = check(json!({ "transcript": transcript })).await;
        assert!(error.starts_with("400 invalid_input: transcript "), "{what}: {error}");
    }
    let transcript = messages();
    let wrong_form = check(json!({ "transcript": transcript, "format": "codex" })).await;
    assert!(wrong_form.starts_with("400 invalid_input: transcript "), "{wrong_form}");
    let no_form = check(json!({ "transcript": transcript, "format": "telex" })).await;
    assert!(no_form.starts_with("400 invalid_input: format "), "{no_form}");
    let lonely = check(json!({ "parent_session_id": "s", "format": "codex" })).await;
    assert!(lonely.starts_with("400 invalid_input: format "), "{lonely}");
    let profile = check(json!({ "transcript": transcript, "profile": "best" })).await;
    assert!(profile.starts_with("400 invalid_input: profile "), "{profile}");
    let name = check(json!({ "transcript": transcript, "session_id": "a b" })).await;
    assert!(name.starts_with("400 invalid_input: session_id "), "{name}");
    let parent = check(json!({ "transcript": transcript, "parent_session_id": "a b" })).await;
    assert!(parent.starts_with("400 invalid_input: parent_session_id "), "{parent}");
    let prompt = check(json!({ "transcript": transcript, "prompt": "" })).await;
    assert_eq!(prompt, r#"400 invalid_input: prompt must not be empty {"field":"prompt"}"#);
    let number = check(json!({ "transcript": 7 })).await;
    assert!(number.starts_with("400 invalid_input: transcript must be "), "{number}");
    assert_eq!(check(json!({ "parent_session_id": "s" })).await.split(':').next(), Some("404 session_not_found"));
    assert_eq!(api.get("/api/v1/sessions").await.json()["sessions"], json!([]));
}

#[tokio::test]
async fn a_transcript_may_be_longer_than_other_bodies_and_has_a_bound_of_its_own() {
    let api = Api::with(|setup| setup.engine.scrub.bytes_max = 1 << 20);
    let of = |bytes: usize| json!({ "transcript": [{ "role": "user", "content": "x".repeat(bytes) }] });
    let long = fork(&api, of(300_000)).await;
    assert_eq!(long.status, StatusCode::CREATED, "{}", long.text);
    let too_long = fork(&api, of(400_000)).await.error();
    let expected = "413 body_too_large: The body is larger than 400000 bytes: send less at once {\"bytes_max\":400000}";
    assert_eq!(too_long, expected);
    let other = api.post("/api/v1/scrub", json!({ "text": "x".repeat(300_000) })).await.error();
    assert!(other.starts_with("413 body_too_large: The body is larger than 200000 bytes"), "{other}");
}

#[tokio::test]
async fn a_repeated_request_gives_the_same_fork_and_a_taken_name_is_refused() {
    let api = Api::new();
    let keyed = |text: &str| json!({ "transcript": [{ "role": "user", "content": text }], "idempotency_key": "k" });
    let first = fork(&api, keyed("hello")).await.json();
    assert_eq!(fork(&api, keyed("hello")).await.json(), first);
    assert!(fork(&api, keyed("good bye")).await.error().starts_with("409 idempotency_key_reused"));
    let named = json!({ "transcript": messages(), "session_id": "child" });
    assert_eq!(fork(&api, named.clone()).await.json()["session_id"], "child");
    assert_eq!(
        fork(&api, named).await.error(),
        "409 session_exists: Session child exists already: name another, or name none and get a new one \
         {\"session_id\":\"child\"}"
    );
}

#[tokio::test]
async fn anothers_session_is_neither_forked_nor_shown() {
    let api = Api::new();
    api.open("mine").await;
    let mine = fork(&api, json!({ "parent_session_id": "s" })).await.json();
    let body = json!({ "parent_session_id": "s" });
    let theirs = api.send(somebody("other"), request("POST", FORKS, &body)).await;
    assert_eq!(theirs.error(), "404 session_not_found: Session not found: s {\"session_id\":\"s\"}");
    let path = format!("{FORKS}/{}", mine["session_id"].as_str().unwrap());
    let shown = api.send(somebody("other"), bare("GET", &path)).await;
    assert!(shown.error().starts_with("404 session_not_found"), "{}", shown.text);
    let no_fork = api.send(local(), bare("GET", &format!("{FORKS}/s"))).await.error();
    assert!(no_fork.starts_with("404 not_a_fork: Session s did not begin as a fork"), "{no_fork}");
}

#[tokio::test]
async fn secrets_in_a_transcript_are_taken_out() {
    let api = Api::new();
    let text = format!("the key is {} and it works", secret());
    let transcript = json!([
        { "role": "user", "content": text },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "t", "name": "sh", "input": { "cmd": text } }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t", "content": text }] },
    ]);
    let answer = fork(&api, json!({ "transcript": transcript, "prompt": text })).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    assert!(!answer.text.contains(&secret()), "{}", answer.text);
    assert!(answer.json()["context"].as_str().unwrap().matches("[SECRET:").count() >= 3, "{}", answer.text);
}
