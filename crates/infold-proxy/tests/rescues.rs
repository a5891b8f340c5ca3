//! Rescues: what they can offload, and what they leave as it was.

use crate::common::client::{exchange, post};
use crate::common::upstream::{Act, Upstream, whole};
use crate::common::{Running, settings, start_unshaped};
use infold_core::Principal;
use infold_engine::{Lighten, LighteningPlan, Portion, ReadResult, SessionRef};
use serde_json::{Value, json};

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const REFUSAL: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9000 tokens > 4000 maximum"}}"#;
const ANSWER: &str = r#"{"type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":2}}"#;

fn long() -> String {
    (0..600).map(|line| format!("{line}: the harbour is quiet\n")).collect()
}

fn read(id: &str, text: &str) -> [Value; 2] {
    let call = json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": "/p/a"}});
    [
        json!({"role": "assistant", "content": [call]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}),
    ]
}

fn request(entries: &[Value]) -> Vec<u8> {
    let tool = |name: &str| json!({"name": name, "description": "d", "input_schema": {"type": "object"}});
    let tools = ["Read", "mcp__infold__read_result"].map(tool);
    let mut talk = vec![json!({"role": "user", "content": "Look."})];
    talk.extend_from_slice(entries);
    let metadata = json!({"user_id": "{\"session_id\":\"s1\"}"});
    let body = json!({"model": "claude-x", "max_tokens": 9, "metadata": metadata, "tools": tools, "messages": talk});
    post("/anthropic/v1/messages", &body.to_string())
}

/// An upstream that finds the request with this number too long.
async fn refusing(which: usize) -> Upstream {
    let json = "Content-Type: application/json\r\n";
    let play = move |number| -> Vec<Act> {
        if number == which {
            vec![whole("400 Bad Request", json, REFUSAL)]
        } else {
            vec![whole("200 OK", json, ANSWER)]
        }
    };
    Upstream::start(play).await
}

async fn proxy(upstream: &Upstream) -> Running {
    start_unshaped(settings(upstream.address)).await
}

/// The handle in a text.
fn handle(text: &str) -> String {
    let at = text.find("res_").expect("a handle");
    text[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || "_-".contains(*c)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_was_scrubbed_when_first_seen_can_be_offloaded() {
    let upstream = refusing(1).await;
    let proxy = proxy(&upstream).await;
    let mut entries = read("toolu_1", &format!("TOKEN={TOKEN}\n{}", long())).to_vec();
    exchange(proxy.address, &request(&entries)).await;
    entries.extend(read("toolu_2", "short"));

    assert_eq!(exchange(proxy.address, &request(&entries)).await.text(), ANSWER);
    assert_eq!(exchange(proxy.address, &request(&entries)).await.text(), ANSWER);

    let texts = upstream.texts();
    assert_eq!(texts.len(), 4);
    assert!(texts[0].contains("[SECRET:github-pat:") && texts[0].contains("599: the harbour"), "{}", texts[0]);
    assert!(texts[2].len() < texts[1].len() / 2, "{}", texts[2]);
    assert_eq!(texts[2], texts[3], "it stays so");
    assert!(texts.iter().all(|text| !text.contains(TOKEN)));
    let ask = ReadResult {
        ref_id: handle(&texts[2]),
        thread: None,
        portion: Portion::Bytes { offset: 0 },
        limit_bytes: 65_536,
    };
    let kept = proxy.engine.read_result(&Principal::local(), &ask).await.expect("what was offloaded").content;
    assert!(kept.starts_with("TOKEN=[SECRET:github-pat:") && kept.contains("599: the harbour"), "{kept}");
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn space_that_cannot_be_made_is_asked_for_once() {
    let upstream = refusing(usize::MAX).await;
    let proxy = proxy(&upstream).await;
    let lighten = Lighten { session: SessionRef::by_id("s1").expect("a name"), thread: Some("main".to_owned()) };
    let ask = async || proxy.engine.lighten(&Principal::local(), &lighten).await.expect("an answer").plan;
    // A result with a picture in it is never offloaded, whatever its size promises.
    let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}});
    let mut entries = Vec::new();
    for id in ["toolu_1", "toolu_2", "toolu_3"] {
        let [call, mut result] = read(id, "");
        result["content"][0]["content"] = json!([{"type": "text", "text": long().repeat(2)}, picture]);
        entries.extend([call, result]);
    }
    exchange(proxy.address, &request(&entries)).await;
    assert_eq!(ask().await, LighteningPlan::Offload { drops_reasoning: false });
    entries.extend(read("toolu_4", "short"));
    exchange(proxy.address, &request(&entries)).await;
    assert_eq!(ask().await, LighteningPlan::Nothing, "it was found out");
    for id in ["toolu_5", "toolu_6", "toolu_7"] {
        entries.extend(read(id, &long().repeat(2)));
    }
    exchange(proxy.address, &request(&entries)).await;
    assert_eq!(ask().await, LighteningPlan::Offload { drops_reasoning: false }, "there is more than before");
    entries.extend(read("toolu_8", "short"));
    exchange(proxy.address, &request(&entries)).await;

    let texts = upstream.texts();
    assert!(texts[1].starts_with(&texts[0][..texts[0].len() / 2]) && !texts[1].contains("[infold]"), "{}", texts[1]);
    assert!(texts[3].contains("[infold] You asked for space") && texts[3].len() < texts[2].len(), "{}", texts[3]);
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rescue_counts_nothing() {
    for which in [1, usize::MAX] {
        let upstream = refusing(which).await;
        let proxy = proxy(&upstream).await;
        let mut entries = read("toolu_1", &long()).to_vec();
        exchange(proxy.address, &request(&entries)).await;
        entries.extend(read("toolu_2", "short"));
        exchange(proxy.address, &request(&entries)).await;
        let engine = proxy.engine.clone();
        proxy.close().await;
        let session = SessionRef::by_id("s1").expect("a name");
        let view = engine.session_with_branches(&Principal::local(), &session).await.expect("a session");
        assert_eq!(view.session.main_tokens, 4, "two answers, and nothing else: rescued after {which}");
        assert_eq!(upstream.texts().len(), if which == 1 { 3 } else { 2 });
    }
}
