//! Tests of one transcript in several forms: as messages to Anthropic, as items for OpenAI, as an export of OpenCode.

use super::write_anthropic;
use crate::testing::everything;
use crate::write::{write_openai, write_opencode};

fn losses(written: &crate::write::Written) -> String {
    written.losses.iter().map(|loss| format!("{} {}", loss.count, loss.what)).collect::<Vec<_>>().join("\n")
}

#[test]
fn as_anthropic_messages() {
    let written = write_anthropic(&everything());
    let shown = written.text.replace("},{\"role\"", "},\n{\"role\"");
    assert_eq!(
        shown,
        r#"{"system":[{"type":"text","text":"rules"}],"messages":[{"role":"user","content":[{"type":"text","text":"go"}]},
{"role":"assistant","content":[{"type":"text","text":"yes"},{"type":"tool_use","id":"c1","name":"Read","input":{"path": "a"}},{"type":"tool_use","id":"c2","name":"patch","input":{"input":"*** Begin"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"whole"}],"is_error":false},{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"[Old tool result content cleared]"}],"is_error":true},{"type":"text","text":"what was"},{"type":"image","source":{}}]}]}"#
    );
    assert_eq!(
        losses(&written),
        "1 calls without a result\n1 reasoning\n1 marks of when results were cleared\n\
         1 that a summary is one: it is written as a user message\n1 input that is no object: it is wrapped in one\n\
         1 text of results that were cleared"
    );
}

#[test]
fn as_openai_items() {
    let written = write_openai(&everything());
    assert_eq!(
        written.text.replace("},{\"type\"", "},\n{\"type\""),
        r#"{"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]},
{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yes"}]},
{"type":"function_call","call_id":"c1","name":"Read","arguments":"{\"path\": \"a\"}"},
{"type":"custom_tool_call","call_id":"c2","name":"patch","input":"*** Begin"},
{"type":"function_call_output","call_id":"c1","output":"whole"},
{"type":"custom_tool_call_output","call_id":"c2","output":"[Old tool result content cleared]"},
{"type":"message","role":"user","content":[{"type":"input_text","text":"what was"}]}]}"#
    );
    assert!(losses(&written).contains("2 how calls went, where their text does not say"), "{}", losses(&written));
    assert!(losses(&written).contains("1 content of the kind \"image\""), "{}", losses(&written));
}

#[test]
fn as_an_opencode_export() {
    let written = write_opencode(&everything());
    let export: serde_json::Value = serde_json::from_str(&written.text).unwrap();
    assert_eq!(export["info"]["id"], "ses_s");
    let shapes: Vec<String> = export["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| {
            let parts = message["parts"].as_array().unwrap().iter();
            let parts: Vec<String> = parts
                .map(|part| match part["state"]["status"].as_str() {
                    Some(status) => format!("{} {status}", part["callID"].as_str().unwrap()),
                    None => part["type"].as_str().unwrap().to_owned(),
                })
                .collect();
            let is_summary = if message["info"]["summary"] == true { " summary" } else { "" };
            format!("{}{is_summary}: {}", message["info"]["role"].as_str().unwrap(), parts.join(", "))
        })
        .collect();
    assert_eq!(
        shapes,
        [
            "user: text",
            "assistant: reasoning, text, c1 completed, c2 error",
            "user: compaction",
            "assistant summary: text",
            "assistant: c3 pending",
        ]
    );
    let cleared = &export["messages"][1]["parts"][3]["state"];
    assert_eq!((&cleared["error"], &cleared["time"]["compacted"]), (&"old".into(), &0.into()));
    assert_eq!(export["messages"][1]["info"]["parentID"], export["messages"][0]["info"]["id"]);
}

#[test]
fn messages_of_two_opencode_exports_have_ids_of_their_own() {
    let mut other = everything();
    other.session = None;
    let ids = |transcript: &infold_core::transcript::Transcript| {
        let export: serde_json::Value = serde_json::from_str(&write_opencode(transcript).text).unwrap();
        let messages = export["messages"].as_array().unwrap().clone();
        messages.iter().map(|message| message["info"]["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(ids(&everything()).is_sorted());
    assert!(ids(&everything()).iter().all(|id| !ids(&other).contains(id)));
}

#[test]
fn a_conversation_that_begins_with_the_model_gets_an_opening() {
    let mut transcript = everything();
    transcript.items.drain(..3);
    let text = write_anthropic(&transcript).text;
    assert!(
        text.starts_with(r#"{"messages":[{"role":"user","content":[{"type":"text","text":"[The session began"#),
        "{text}"
    );
}
