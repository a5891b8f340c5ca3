//! Tests with requests to both providers, as documents, as lists and as lines.

use crate::form::Format;
use crate::testing::{as_lines, transcript};

const ANTHROPIC: &str = r#"[{"role":"user","content":"go"},
 {"role":"assistant","content":[{"type":"text","text":"yes"},{"type":"tool_use","id":"t1","name":"Read","input":{"p": 1}}]},
 {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"out"},{"type":"image","source":{}}],"is_error":true},{"type":"text","text":"<system-reminder>x"}]},
 {"role":"system","content":"note"}]"#;

const SAID: &str = r#" person "go"
 model "yes"
 call t1 Read {"p":1}
 result t1 Read failed "out"
 other image {"type":"image","source":{}}
 client "<system-reminder>x"
 system "note""#;

/// The items as lines, without their positions.
fn item_texts(text: &str, format: Format) -> String {
    let lines = as_lines(&transcript(text, format));
    lines.lines().map(|line| &line[line.find(" m").unwrap() + 3..]).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_list_of_anthropic_messages_is_read() {
    assert_eq!(item_texts(ANTHROPIC, Format::Anthropic), SAID);
}

#[test]
fn an_anthropic_request_has_its_instructions_in_front() {
    let text =
        format!(r#"{{"model":"m","messages":{ANTHROPIC},"system":[{{"type":"text","text":"rules"}}],"tools":[]}}"#);
    assert_eq!(item_texts(&text, Format::Anthropic), format!(" system \"rules\"\n{SAID}"));
    let text = text.replace(r#"[{"type":"text","text":"rules"}]"#, r#""rules""#);
    assert_eq!(item_texts(&text, Format::Anthropic), format!(" system \"rules\"\n{SAID}"));
}

#[test]
fn of_recorded_requests_the_last_with_tools_is_the_session() {
    let messages = ANTHROPIC.replace('\n', " ");
    let line = |path: &str, body: &str| format!("{{\"method\":\"POST\",\"path\":\"{path}\",\"body\":{body}}}\n");
    let text = [
        line("/v1/messages", r#"{"messages":[{"role":"user","content":"first"}],"tools":[{"name":"x"}]}"#),
        line("/v1/messages", &format!(r#"{{"messages":{messages},"system":"rules","tools":[{{"name":"x"}}]}}"#)),
        line("/v1/messages", r#"{"messages":[{"role":"user","content":"a title?"}]}"#),
        line("/v1/messages/count_tokens", r#"{"messages":[{"role":"user","content":"?"}],"tools":[{"name":"x"}]}"#),
        line("/v1/other", "null"),
    ]
    .concat();
    assert_eq!(item_texts(&text, Format::Anthropic), format!(" system \"rules\"\n{SAID}"));
}

#[test]
fn responses_and_chat_are_both_openais() {
    let responses = r#"{"model":"m","instructions":"rules","input":[
      {"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},
      {"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
      {"type":"function_call_output","call_id":"c","output":"out"},
      {"type":"compaction","encrypted_content":"x"}]}"#;
    let common = " system \"rules\"\n person \"go\"\n call c f {}\n result c f \"out\"";
    let sealed = r#" other compaction {"type":"compaction","encrypted_content":"x"}"#;
    assert_eq!(item_texts(responses, Format::OpenAi), format!("{common}\n{sealed}"));
    let chat = r#"{"messages":[{"role":"system","content":"rules"},{"role":"user","content":[{"type":"text","text":"go"}]},
      {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
      {"role":"tool","tool_call_id":"c","content":"out"}]}"#;
    assert_eq!(item_texts(chat, Format::OpenAi), common);
    assert_eq!(item_texts(r#"{"model":"m","input":"go"}"#, Format::OpenAi), " person \"go\"");
}

#[test]
fn the_provider_is_found_out() {
    let format = |text: &str| {
        let limits = crate::reader::ReadLimits::with_entry_bytes_max(1 << 20);
        crate::reader::Reader::new(text.as_bytes(), None, limits).unwrap().format()
    };
    assert_eq!(format(ANTHROPIC), Format::Anthropic);
    assert_eq!(format(r#"{"model":"m","input":"go"}"#), Format::OpenAi);
    assert_eq!(format(r#"{"messages":[{"role":"user","content":"x"}],"system":"y"}"#), Format::Anthropic);
    assert_eq!(format(r#"{"messages":[{"role":"system","content":"x"}]}"#), Format::OpenAi);
    assert_eq!(format(r#"[{"type":"function_call","call_id":"c"}]"#), Format::OpenAi);
}
