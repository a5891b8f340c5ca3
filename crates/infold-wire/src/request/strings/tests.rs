//! Which strings of a body are searched, and what is left of the body when some are replaced.

use super::*;
use crate::request::Api;

const SECRET: &str = "s3cret";

/// The body with every string in it replaced that holds the secret.
fn cleaned(strings: &JsonStrings<'_, '_>) -> String {
    let texts = strings.texts();
    let replaced = texts.iter().map(|text| text.contains(SECRET).then(|| text.replace(SECRET, "***")));
    String::from_utf8(strings.replaced(&replaced.collect::<Vec<_>>())).unwrap()
}

fn beside(api: Api, body: &str) -> String {
    cleaned(&Request::read(api, body.as_bytes()).unwrap().strings_beside_texts())
}

fn in_results(place: ConversationPlace, body: &str) -> String {
    cleaned(&JsonBody::read(body.as_bytes()).unwrap().strings_in_results(place))
}

#[test]
fn a_plain_result_has_nothing_beside_its_text() {
    let messages = r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":false,
        "content":[{"type":"text","text":"words"}],"cache_control":{"type":"ephemeral"}}]}]}"#;
    let responses =
        r#"{"input":[{"type":"function_call_output","call_id":"c1","output":"words","status":"completed"}]}"#;
    let chat = r#"{"messages":[{"role":"tool","tool_call_id":"c1","content":"words"}]}"#;
    for (api, body) in [(Api::Messages, messages), (Api::Responses, responses), (Api::Chat, chat)] {
        let request = Request::read(api, body.as_bytes()).unwrap();
        assert_eq!(request.strings_beside_texts().texts(), Vec::<Cow<'_, str>>::new(), "{body}");
    }
}

#[test]
fn fields_that_nobody_knows_are_searched_and_the_rest_keeps_its_bytes() {
    let body = r#"{ "messages" : [{"role":"user","content":[{"type":"tool_result","tool_use_id":"s3cret-id","content":
        [{"type":"search_result","source":"https://x/?t=s3\u0063ret","title":"s3cret","content":[{"type":"text","text":"s3cret"}]},
         {"type":"new","deep":{"er":["s3cret", 1.50]}, "s3cret":1}],"extra":"s3cret"},{"type":"text","text":"s3cret"}]}]}"#;
    let wanted = r#"{ "messages" : [{"role":"user","content":[{"type":"tool_result","tool_use_id":"s3cret-id","content":
        [{"type":"search_result","source":"https://x/?t=***","title":"s3cret","content":[{"type":"text","text":"s3cret"}]},
         {"type":"new","deep":{"er":["***", 1.50]}, "***":1}],"extra":"***"},{"type":"text","text":"s3cret"}]}]}"#;
    assert_eq!(beside(Api::Messages, body), wanted, "texts are the plan's, words are a person's");
}

#[test]
fn results_that_are_no_blocks_are_searched_too() {
    for (api, body) in [
        (Api::Chat, r#"{"messages":[{"role":"function","name":"read","content":"s3cret"}]}"#),
        (Api::Chat, r#"{"messages":[{"role":"tool","content":"s3cret"}]}"#),
        (Api::Messages, r#"{"messages":[{"role":"user","content":[{"type":"tool_result","content":"s3cret"}]}]}"#),
        (Api::Messages, r#"{"messages":[{"role":"user","content":{"type":"tool_result","content":"s3cret"}}]}"#),
        (Api::Responses, r#"{"input":[{"type":"function_call_output","output":"s3cret"}]}"#),
        (Api::Responses, r#"{"input":[{"type":"mcp_call","id":"m","name":"n","output":"s3cret"}]}"#),
        (Api::Responses, r#"{"input":[{"type":"code_interpreter_call","id":"m","outputs":[{"logs":"s3cret"}]}]}"#),
    ] {
        assert_eq!(beside(api, body), body.replace(SECRET, "***"));
    }
}

#[test]
fn pictures_pass_by_their_type_and_what_is_no_picture_does_not() {
    let body = r#"{"messages":[{"role":"tool","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"s3cret"}},
        {"type":"image","mimeType":"image/png","data":"s3cret"},{"input_audio":{"format":"wav","data":"s3cret"}},
        {"image_url":"data:image\/png;base64,s3cret"}]}]}"#;
    assert_eq!(beside(Api::Chat, body), body);
    let body = r#"{"messages":[{"role":"tool","content":[{"source":{"type":"base64","media_type":"image/png","data":"a_s3cret"}},
        {"type":"x","media_type":"text/plain","data":"s3cret"},{"type":"base64","data":"s3cret"},{"format":"text","data":"s3cret"},
        {"image_url":"data:image/png,s3cret"},{"image_url":"data:text/plain;base64,s3cret"}]}]}"#;
    assert_eq!(beside(Api::Chat, body), body.replace(SECRET, "***"));
}

#[test]
fn every_conversation_of_a_batch_is_searched_and_only_what_tools_gave() {
    let batch = r#"{"requests":[{"custom_id":"s3cret","params":{"system":"s3cret","messages":[
        {"role":"user","content":"s3cret"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"XX"}]}]}},
        {"params":{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"XX"}]}]}]}}]}"#;
    assert_eq!(in_results(ConversationPlace::Batch, &batch.replace("XX", SECRET)), batch.replace("XX", "***"));
    let input =
        r#"{"input":[{"role":"user","content":"s3cret"},{"type":"function_call_output","call_id":"c","output":"XX"}]}"#;
    assert_eq!(in_results(ConversationPlace::Input, &input.replace("XX", SECRET)), input.replace("XX", "***"));
    let items = input.replace("input", "items");
    assert_eq!(in_results(ConversationPlace::Items, &items.replace("XX", SECRET)), items.replace("XX", "***"));
    let chat = r#"{"messages":[{"role":"tool","tool_call_id":"c","content":"XX"}]}"#;
    assert_eq!(in_results(ConversationPlace::Messages, &chat.replace("XX", SECRET)), chat.replace("XX", "***"));
}

#[test]
fn of_a_key_that_is_there_twice_both_values_are_searched() {
    let body = r#"{"input":[],"input":[{"type":"message","type":"x_output","output":"s3cret","output":"s3cret"}]}"#;
    assert_eq!(in_results(ConversationPlace::Input, body), body.replace(SECRET, "***"));
}

#[test]
fn all_strings_are_found_keys_too_however_deep() {
    let body =
        format!("\u{feff}{}{{\"s3cret\":[\"s3\\u0063ret\",NaN,-Infinity]}}{}", "[".repeat(9_000), "]".repeat(9_000));
    let wanted = body.replace("s3\\u0063ret", SECRET).replace(SECRET, "***");
    assert_eq!(cleaned(&JsonBody::read(body.as_bytes()).unwrap().strings()), wanted);
}
