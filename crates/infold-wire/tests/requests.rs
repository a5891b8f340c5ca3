//! Requests as text: what is read of them, and what is sent once a plan has been applied.

mod words;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::requests_support::check_apply;
use infold_core::transcript::Voice;
use infold_core::view::{BlockKind, RequestKind, Side, ViewPiece};
use infold_wire::request::{Api, Request, RequestError};
use insta::assert_snapshot;
use serde_json::value::RawValue;

/// A request's blocks, one a line: number of the entry, kind, content.
fn shape(api: Api, body: &str) -> String {
    let request = Request::read(api, body.as_bytes()).unwrap();
    let mut lines = String::new();
    for (index, block) in request.blocks().iter().enumerate() {
        let kind = match &block.kind {
            BlockKind::Instruction => "instruction".to_owned(),
            BlockKind::User { voice: Voice::Person } => "person".to_owned(),
            BlockKind::User { voice: Voice::Client } => "client".to_owned(),
            BlockKind::Assistant => "model".to_owned(),
            BlockKind::Reasoning => "reasoning".to_owned(),
            BlockKind::Call(call) => format!("call {} {}{}", call.id, call.tool, read(call.arguments.as_deref())),
            BlockKind::Result(result) => {
                let loads = if result.loads.is_empty() { String::new() } else { format!(" loads {:?}", result.loads) };
                let remarks: String =
                    result.remarks.iter().map(|remark| format!(" and {:?}'s words", remark.voice)).collect();
                let read = read(result.text.as_deref());
                format!("result {} {} bytes{loads}{read}{remarks}", result.call, result.content_bytes)
            }
            BlockKind::Attachment => "attachment".to_owned(),
            BlockKind::Other { side: Side::User } => "other, user's side".to_owned(),
            BlockKind::Other { side: Side::Model } => "other, model's side".to_owned(),
        };
        writeln!(lines, "{} {kind}: {}", block.entry, request.words(index)).unwrap();
    }
    lines
}

fn read(text: Option<&str>) -> &'static str {
    if text.is_some() { " (read)" } else { "" }
}

/// The conversation of the request that is sent when `pieces` are applied to a body, one entry a line.
fn sent(api: Api, body: &str, pieces: &[ViewPiece]) -> String {
    let request = Request::read(api, body.as_bytes()).unwrap();
    entries(api, &check_apply(&request, pieces))
}

fn entries(api: Api, body: &[u8]) -> String {
    let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(body).unwrap();
    let list = if api == Api::Responses { &fields["input"] } else { &fields["messages"] };
    let entries: Vec<&RawValue> = serde_json::from_str(list.get()).unwrap();
    entries.iter().map(|entry| format!("{}\n", entry.get())).collect()
}

fn kept_blocks(blocks: impl IntoIterator<Item = usize>) -> Vec<ViewPiece> {
    blocks.into_iter().map(ViewPiece::Keep).collect()
}

fn say(entry: Option<usize>, text: &str) -> ViewPiece {
    ViewPiece::Say { entry, text: text.to_owned() }
}

fn text(block: usize, text: &str) -> ViewPiece {
    ViewPiece::Text { block, text: text.to_owned() }
}

const MESSAGES: &str = r#"{"model":"claude-opus-5","max_tokens":32000,"system":[{"type":"text","text":"You are.","cache_control":{"type":"ephemeral"}}],
"tools":[{"name":"Bash","input_schema":{}},{"name":"mcp__infold__branch_create","defer_loading":true,"input_schema":{}}],
"messages":[
{"role":"user","content":[{"type":"text","text":"<system-reminder>rules</system-reminder>"},{"type":"text","text":"fix the \"bug\"\n"}]},
{"role":"system","content":"The date.","output_config":{"effort":"low"}},
{"role":"system","content":[]},
{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s1"},{"type":"text","text":"Looking."},{"type":"tool_use","id":"t1","name":"ToolSearch","input":{"query":"branch"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"tool_reference","tool_name":"mcp__infold__branch_create"}]},{"type":"text","text":"Tool loaded."}]},
{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s2"},{"type":"tool_use","id":"t2","name":"mcp__infold__branch_create","input":{"description":"find it"}},{"type":"tool_use","id":"t3","name":"Read","input":{"path":"a.rs"}}]},
{"role":"user","content":[{"tool_use_id":"t2","type":"tool_result","content":[{"type":"text","text":"{\"branch_id\":\"br_1\"}"}]},{"type":"tool_result","tool_use_id":"t3","content":"fn main() {}","is_error":false,"cache_control":{"type":"ephemeral"}}]}
],"stream":true}"#;

#[test]
fn a_request_to_anthropic_is_read_block_by_block() {
    assert_snapshot!(shape(Api::Messages, MESSAGES), @r#"
    0 client: <system-reminder>rules</system-reminder>
    0 person: fix the "bug"

    1 instruction: The date.
    2 instruction: 
    3 reasoning: hm
    3 model: Looking.
    3 call t1 ToolSearch: {"query":"branch"}
    4 result t1 68 bytes loads ["mcp__infold__branch_create"]: 
    4 person: Tool loaded.
    5 reasoning: 
    5 call t2 mcp__infold__branch_create (read): {"description":"find it"}
    5 call t3 Read: {"path":"a.rs"}
    6 result t2 51 bytes (read): {"branch_id":"br_1"}
    6 result t3 14 bytes: fn main() {}
    "#);
}

#[test]
fn what_surrounds_the_conversation_is_known() {
    let request = Request::read(Api::Messages, MESSAGES.as_bytes()).unwrap();
    assert_eq!(request.model().as_deref(), Some("claude-opus-5"));
    assert!(request.stream());
    assert_eq!(request.tools_in_reach(), ["Bash"]);
    let tools = request.tools();
    assert_eq!((tools[1].server.as_deref(), tools[1].is_deferred), (Some("infold"), true));
    assert_eq!(request.kind_hint(), RequestKind::Turn);
    assert_eq!(request.previous_response(), None);
}

#[test]
fn a_folded_branch_leaves_its_message_and_the_mark_moves_to_it() {
    // The exchange t3 is left out, and with it the mark on its result.
    let pieces = [kept_blocks(0..11), vec![text(12, "[branch br_1 returned]\nit is in \"a.rs\"")]].concat();
    assert_snapshot!(sent(Api::Messages, MESSAGES, &pieces), @r#"
    {"role":"user","content":[{"type":"text","text":"<system-reminder>rules</system-reminder>"},{"type":"text","text":"fix the \"bug\"\n"}]}
    {"role":"system","content":"The date.","output_config":{"effort":"low"}}
    {"role":"system","content":[]}
    {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s1"},{"type":"text","text":"Looking."},{"type":"tool_use","id":"t1","name":"ToolSearch","input":{"query":"branch"}}]}
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"tool_reference","tool_name":"mcp__infold__branch_create"}]},{"type":"text","text":"Tool loaded."}]}
    {"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s2"},{"type":"tool_use","id":"t2","name":"mcp__infold__branch_create","input":{"description":"find it"}}]}
    {"role":"user","content":[{"tool_use_id":"t2","type":"tool_result","content":"[branch br_1 returned]\nit is in \"a.rs\"","cache_control":{"type":"ephemeral"}}]}
    "#);
}

#[test]
fn words_of_ours_go_into_an_entry_or_make_one() {
    let said = [vec![say(None, "a note"), say(Some(3), "another")]].concat();
    let pieces = [kept_blocks([0]), vec![say(Some(0), "the brief")], kept_blocks([2, 3]), said].concat();
    assert_snapshot!(sent(Api::Messages, MESSAGES, &pieces), @r#"
    {"role":"user","content":[{"type":"text","text":"<system-reminder>rules</system-reminder>"},{"type":"text","text":"the brief"}]}
    {"role":"system","content":"The date.","output_config":{"effort":"low"}}
    {"role":"system","content":[]}
    {"role":"user","content":[{"type":"text","text":"a note"}]}
    {"role":"user","content":[{"type":"text","text":"another","cache_control":{"type":"ephemeral"}}]}
    "#);
}

#[test]
fn words_of_ours_never_part_a_call_from_its_results() {
    let results =
        [say(Some(6), "first"), ViewPiece::Keep(12), say(Some(6), "second"), ViewPiece::Keep(13), say(None, "third")];
    let pieces = [kept_blocks(0..12), results.to_vec()].concat();
    let sent = sent(Api::Messages, MESSAGES, &pieces);
    let last: Vec<&str> = sent.lines().skip(6).collect();
    assert_snapshot!(last.join("\n"), @r#"
    {"role":"user","content":[{"tool_use_id":"t2","type":"tool_result","content":[{"type":"text","text":"{\"branch_id\":\"br_1\"}"}]},{"type":"tool_result","tool_use_id":"t3","content":"fn main() {}","is_error":false,"cache_control":{"type":"ephemeral"}},{"type":"text","text":"first"},{"type":"text","text":"second"}]}
    {"role":"user","content":[{"type":"text","text":"third"}]}
    "#);
}

#[test]
fn what_no_edit_names_keeps_its_bytes() {
    let request = Request::read(Api::Messages, MESSAGES.as_bytes()).unwrap();
    let edited = request.apply(&[kept_blocks(0..14), vec![say(None, "x")]].concat());
    let said = r#",{"role":"user","content":[{"type":"text","text":"x"}]}"#;
    let end = MESSAGES.rfind("\n],").unwrap();
    assert_eq!(String::from_utf8(edited).unwrap(), format!("{}{said}{}", &MESSAGES[..end], &MESSAGES[end..]));
}

#[test]
fn reasoning_can_be_taken_out() {
    let request = Request::read(Api::Messages, MESSAGES.as_bytes()).unwrap();
    let without = String::from_utf8(request.without_reasoning()).unwrap();
    let expected = MESSAGES
        .replace(r#"{"type":"thinking","thinking":"hm","signature":"s1"},"#, "")
        .replace(r#"{"type":"thinking","thinking":"","signature":"s2"},"#, "");
    assert_eq!(without, expected);
}

#[test]
fn text_is_the_same_as_a_list_of_one_text() {
    let text = r#"{"messages":[{"role":"system","content":"a\nb"},{"role":"user","content":"q"}]}"#;
    let list = r#"{"messages":[{"role":"system","content":[{"type":"text","text":"a\nb","cache_control":{"type":"ephemeral"}}]},{"role":"user","content":[{"text":"q","type":"text"}]}]}"#;
    let [text, list] = [text, list].map(|body| Request::read(Api::Messages, body.as_bytes()).unwrap());
    assert_eq!(text.blocks()[0].key, list.blocks()[0].key);
    assert_eq!(text.digests(), list.digests());
}

#[test]
fn a_result_is_the_same_whatever_its_marks() {
    let body = |mark: &str, inner: &str| {
        format!(
            r#"{{"messages":[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1","content":[{{"type":"text","text":"a"{inner}}}]{mark}}}]}}]}}"#
        )
    };
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    let bodies = [body("", ""), body(mark, ""), body("", mark)];
    let keys = bodies.each_ref().map(|body| {
        let request = Request::read(Api::Messages, body.as_bytes()).unwrap();
        let BlockKind::Result(result) = &request.blocks()[0].kind else { panic!("it is a result") };
        (request.blocks()[0].key, result.content)
    });
    assert_eq!(keys[0], keys[1]);
    assert_eq!(keys[0], keys[2]);
}

#[test]
fn texts_of_a_result_are_replaced_and_the_rest_of_it_is_left() {
    let body = r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[ {"type":"text","text":"key=\u0041"}, {"type":"image","source":{"n":1.0}} ,{"type":"text","text":"b","cache_control":{"type":"ephemeral"}},{"type":"document","source":{"type":"text","data":"c"}}]}]}]}"#;
    let request = Request::read(Api::Messages, body.as_bytes()).unwrap();
    assert_eq!(request.text_parts(0), ["key=A", "b", "c"]);
    let json = request.content_json(0, &[Some("key=[SECRET]".to_owned()), None, Some("d\u{1}".to_owned())]);
    assert_snapshot!(String::from_utf8(json.clone()).unwrap(), @r#"[ {"type":"text","text":"key=[SECRET]"}, {"type":"image","source":{"n":1.0}} ,{"type":"text","text":"b"},{"type":"document","source":{"type":"text","data":"d\u0001"}}]"#);
    assert_snapshot!(sent(Api::Messages, body, &[ViewPiece::Content { block: 0, json: Arc::from(json) }]), @r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[ {"type":"text","text":"key=[SECRET]"}, {"type":"image","source":{"n":1.0}} ,{"type":"text","text":"b"},{"type":"document","source":{"type":"text","data":"d\u0001"}}],"cache_control":{"type":"ephemeral"}}]}"#);
}

#[test]
fn there_are_never_more_than_four_marks() {
    let mark = r#""cache_control":{"type":"ephemeral"}"#;
    let turn = |n: usize| {
        format!(
            r#"{{"role":"user","content":[{{"type":"text","text":"q{n}",{mark}}}]}},{{"role":"assistant","content":[{{"type":"text","text":""}}]}}"#
        )
    };
    let body = format!(
        r#"{{"system":[{{"type":"text","text":"s",{mark}}}],"messages":[{},{},{}]}}"#,
        turn(0),
        turn(1),
        turn(2)
    );
    // The last two marks move to the same block, which has one.
    assert_snapshot!(sent(Api::Messages, &body, &kept_blocks([0, 1, 3, 5])), @r#"
    {"role":"user","content":[{"type":"text","text":"q0","cache_control":{"type":"ephemeral"}}]}
    {"role":"assistant","content":[{"type":"text","text":""}]}
    {"role":"assistant","content":[{"type":"text","text":""}]}
    {"role":"assistant","content":[{"type":"text","text":""}]}
    "#);
    // A block that is sent twice brings its mark twice.
    let request = Request::read(Api::Messages, body.as_bytes()).unwrap();
    let edited = request.apply(&kept_blocks([0, 0, 2, 4]));
    assert_eq!(crate::requests_support::count_marks(&serde_json::from_slice(&edited).unwrap()), 4);
}

#[test]
fn a_mark_is_never_put_on_reasoning_or_on_empty_text() {
    let body = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"s"},{"type":"text","text":""},{"type":"text","text":"gone","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}"#;
    assert_snapshot!(sent(Api::Messages, body, &kept_blocks([0, 1, 2])), @r#"
    {"role":"user","content":[{"type":"text","text":"q","cache_control":{"type":"ephemeral","ttl":"1h"}}]}
    {"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"s"},{"type":"text","text":""}]}
    "#);
}

const RESPONSES: &str = r#"{"model":"gpt-5.5","input":[
{"type":"message","role":"developer","content":[{"type":"input_text","text":"base"}]},
{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x"},{"type":"input_text","text":"go"}]},
{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"think"}],"encrypted_content":"e"},
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok","annotations":[]}]},
{"type":"tool_search_call","call_id":"c0","execution":"client","arguments":{"query":"x"}},
{"type":"tool_search_output","call_id":"c0","tools":[{"type":"namespace","name":"mcp__infold","tools":[{"type":"function","name":"branch_create"}]},{"type":"function","name":"alone"}]},
{"type":"function_call","call_id":"c1","namespace":"mcp__infold","name":"branch_create","arguments":"{\"description\":\"d\"}"},
{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"Wall time"},{"type":"input_text","text":"{\"branch_id\":1}"}]},
{"type":"custom_tool_call","call_id":"c2","name":"apply_patch","input":"*** Begin"},
{"type":"custom_tool_call_output","call_id":"c2","output":"done"},
{"type":"local_shell_call","id":"ls","call_id":"c3","action":{"type":"exec","command":["ls"]}},
{"type":"local_shell_call_output","id":"c3","output":"a.rs"},
{"type":"shell_call","call_id":"c4","action":{"commands":["ls"]}},
{"type":"shell_call_output","call_id":"c4","output":[{"stdout":"out","stderr":"err","outcome":{"type":"exit","exit_code":0}}]},
{"type":"web_search_call","id":"ws","status":"completed"},
{"type":"compaction","encrypted_content":"z"},
{"type":"compaction_trigger"}
],"tools":[{"type":"function","name":"exec"},{"type":"namespace","name":"mcp__srv","tools":[{"name":"echo","defer_loading":true},{"name":"now"}]},{"type":"web_search"}]}"#;

#[test]
fn a_request_to_responses_is_read_item_by_item() {
    assert_snapshot!(shape(Api::Responses, RESPONSES), @r#"
    0 instruction: base
    1 client: <environment_context>x
    1 person: go
    2 reasoning: think
    3 model: ok
    4 call c0 tool_search: {"query":"x"}
    5 result c0 131 bytes loads ["mcp__infold__branch_create", "alone"]: 
    6 call c1 mcp__infold__branch_create (read): {"description":"d"}
    7 result c1 91 bytes (read): Wall time
    {"branch_id":1}
    8 call c2 apply_patch: *** Begin
    9 result c2 6 bytes: done
    10 call c3 local_shell: {"type":"exec","command":["ls"]}
    11 result c3 6 bytes: a.rs
    12 call c4 shell: {"commands":["ls"]}
    13 result c4 73 bytes: out
    err
    14 other, model's side: 
    15 other, model's side: 
    16 other, user's side:
    "#);
    let request = Request::read(Api::Responses, RESPONSES.as_bytes()).unwrap();
    assert_eq!(request.kind_hint(), RequestKind::Compaction);
    assert_eq!(request.tools_in_reach(), ["exec", "mcp__srv__now", "web_search"]);
}

/// A request of Codex's to a model that writes scripts.
const SCRIPTS: &str = r#"{"model":"m","input":[
{"type":"additional_tools","id":"at_1","role":"developer","tools":[
{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec"},{"type":"function","name":"wait"}]},
{"type":"namespace","name":"mcp__infold","tools":[{"type":"function","name":"branch_create"}]}]},
{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},
{"type":"custom_tool_call","call_id":"x1","name":"exec","input":"text(1)"},
{"type":"custom_tool_call_output","call_id":"x1","output":[{"type":"input_text","text":"Script completed"},{"type":"input_text","text":"1"}]},
{"type":"function_call","call_id":"x2","namespace":"functions","name":"wait","arguments":"{\"cell_id\":\"3\"}"},
{"type":"function_call_output","call_id":"x2","output":"Script completed"}]}"#;

#[test]
fn tools_may_be_listed_among_the_items_and_scripts_are_read() {
    let request = Request::read(Api::Responses, SCRIPTS.as_bytes()).unwrap();
    assert_eq!(request.tools_in_reach(), ["exec", "wait", "mcp__infold__branch_create"]);
    assert_eq!(request.kind_hint(), RequestKind::Turn);
    assert!(matches!(request.blocks()[0].kind, BlockKind::Instruction), "a branch keeps it");
    let read = |at: usize| match &request.blocks()[at].kind {
        BlockKind::Call(call) => (call.tool.clone(), call.arguments.clone().unwrap_or_default()),
        BlockKind::Result(result) => (result.call.clone(), result.text.clone().unwrap_or_default()),
        other => panic!("{other:?}"),
    };
    let seen: Vec<_> = (2..6).map(read).collect();
    assert_eq!(seen[0], ("exec".into(), "text(1)".into()));
    assert_eq!(seen[1], ("x1".into(), "Script completed\n1".into()));
    assert_eq!(seen[2], ("wait".into(), r#"{"cell_id":"3"}"#.into()));
    assert_eq!(seen[3], ("x2".into(), "Script completed".into()));
}

#[test]
fn items_of_responses_go_and_their_outputs_are_replaced() {
    let pieces = [
        kept_blocks([0, 1]),
        vec![say(Some(1), "brief")],
        kept_blocks([5, 6, 7]),
        vec![text(8, "folded"), ViewPiece::Keep(9), text(10, "cut"), say(Some(9), "note")],
        kept_blocks([13]),
        vec![text(14, "short")],
    ]
    .concat();
    assert_snapshot!(sent(Api::Responses, RESPONSES, &pieces), @r#"
    {"type":"message","role":"developer","content":[{"type":"input_text","text":"base"}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x"},{"type":"input_text","text":"brief"}]}
    {"type":"tool_search_call","call_id":"c0","execution":"client","arguments":{"query":"x"}}
    {"type":"tool_search_output","call_id":"c0","tools":[{"type":"namespace","name":"mcp__infold","tools":[{"type":"function","name":"branch_create"}]},{"type":"function","name":"alone"}]}
    {"type":"function_call","call_id":"c1","namespace":"mcp__infold","name":"branch_create","arguments":"{\"description\":\"d\"}"}
    {"type":"function_call_output","call_id":"c1","output":"folded"}
    {"type":"custom_tool_call","call_id":"c2","name":"apply_patch","input":"*** Begin"}
    {"type":"custom_tool_call_output","call_id":"c2","output":"cut"}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"note"}]}
    {"type":"shell_call","call_id":"c4","action":{"commands":["ls"]}}
    {"type":"shell_call_output","call_id":"c4","output":[{"stdout":"short","stderr":"","outcome":{"type":"exit","exit_code":0}}]}
    "#);
}

#[test]
fn an_item_that_is_sent_in_two_parts_has_its_id_once() {
    let body = r#"{"input":[{"id":"msg_1","type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}]}"#;
    let pieces = [ViewPiece::Keep(0), say(None, "between"), ViewPiece::Keep(1)];
    assert_snapshot!(sent(Api::Responses, body, &pieces), @r#"
    {"id":"msg_1","type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"between"}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"b"}]}
    "#);
}

#[test]
fn texts_are_found_in_parts_of_any_kind() {
    let body = r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":["bare",{"type":"search_result","title":"title","source":"url","content":[{"type":"text","text":"found"}]},{"type":"unheard_of","text":"new"},{"type":"document","source":{"type":"content","content":[{"type":"text","text":"page"}]},"context":"about"},{"type":"image","source":{"type":"base64","data":"AAAA"}}]}]}]}"#;
    let request = Request::read(Api::Messages, body.as_bytes()).unwrap();
    assert_eq!(request.text_parts(0), ["bare", "title", "found", "new", "page", "about"]);
    assert!(!request.is_all_text(0));
    let texts: Vec<Option<String>> = (0..6).map(|number| Some(number.to_string())).collect();
    let json = String::from_utf8(request.content_json(0, &texts)).unwrap();
    assert_snapshot!(json, @r#"["0",{"type":"search_result","title":"1","source":"url","content":[{"type":"text","text":"2"}]},{"type":"unheard_of","text":"3"},{"type":"document","source":{"type":"content","content":[{"type":"text","text":"4"}]},"context":"5"},{"type":"image","source":{"type":"base64","data":"AAAA"}}]"#);
}

#[test]
fn texts_are_found_in_a_result_that_is_an_object() {
    let body = r#"{"input":[{"type":"custom_tool_call_output","call_id":"c1","output":{"text":"a","content":[{"text":"b"}]}}]}"#;
    let request = Request::read(Api::Responses, body.as_bytes()).unwrap();
    assert_eq!(request.text_parts(0), ["a", "b"]);
    let json = String::from_utf8(request.content_json(0, &[Some("x".to_owned()), None])).unwrap();
    assert_eq!(json, r#"{"text":"x","content":[{"text":"b"}]}"#);
}

#[test]
fn what_text_cannot_replace_stays() {
    let request = Request::read(Api::Responses, RESPONSES.as_bytes()).unwrap();
    let results = [6, 8, 10, 12, 14].map(|block| request.is_all_text(block));
    assert_eq!(results, [false, true, true, true, true]);
    let found = r#"[{"type":"namespace","name":"mcp__infold","tools":[{"type":"function","name":"branch_create"}]},{"type":"function","name":"alone"}]"#;
    assert_eq!(String::from_utf8(request.content_of_text(6, "x")).unwrap(), found);
}

#[test]
fn responses_takes_plain_words_too() {
    let body = r#"{"model":"m","input":"hello","previous_response_id":null}"#;
    assert_snapshot!(shape(Api::Responses, body), @r#"0 person: hello"#);
    assert_snapshot!(sent(Api::Responses, body, &[ViewPiece::Keep(0), say(None, "x")]), @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}
    "#);
    let empty = Request::read(Api::Responses, br#"{"previous_response_id":"resp_1"}"#).unwrap();
    assert_eq!((empty.blocks().len(), empty.previous_response().as_deref()), (0, Some("resp_1")));
}

const CHAT: &str = r#"{"model":"m","messages":[{"role":"system","content":"sys"}, {"role":"user","content":"go"},
{"role":"assistant","content":"Reading.","reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"infold_branch_create","arguments":"{\"description\":\"d\"}"}}, {"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}],"x":1},
{"role":"tool","tool_call_id":"c1","content":"{\"branch_id\":1}"},{"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
{"role":"assistant","content":null,"tool_calls":[{"id":"c3","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c3","content":"c"},
{"role":"assistant","content":"done"},{"role":"user","content":[{"type":"text","text":"more"},{"type":"image_url","image_url":{"url":"u"}}]}]}"#;

#[test]
fn a_request_to_chat_is_read_with_its_calls() {
    assert_snapshot!(shape(Api::Chat, CHAT), @r#"
    0 instruction: sys
    1 person: go
    2 reasoning: hm
    2 model: Reading.
    2 call c1 infold_branch_create (read): {"description":"d"}
    2 call c2 bash: {}
    3 result c1 19 bytes (read): {"branch_id":1}
    4 result c2 55 bytes: a
    b
    5 call c3 bash: {}
    6 result c3 3 bytes: c
    7 model: done
    8 person: more
    8 person:
    "#);
    assert_eq!(Request::read(Api::Chat, CHAT.as_bytes()).unwrap().kind_hint(), RequestKind::Side);
}

#[test]
fn a_message_of_chat_keeps_what_is_left_of_it() {
    // First reasoning and one call are left out, then all but a call, then all calls.
    assert_snapshot!(sent(Api::Chat, CHAT, &[kept_blocks([0, 1, 3, 5]), vec![text(7, "x")]].concat()), @r#"
    {"role":"system","content":"sys"}
    {"role":"user","content":"go"}
    {"role":"assistant","content":"Reading.","tool_calls":[{"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}],"x":1}
    {"role":"tool","tool_call_id":"c2","content":"x"}
    "#);
    assert_snapshot!(sent(Api::Chat, CHAT, &[kept_blocks([4]), vec![text(6, "answer")], kept_blocks([10])].concat()), @r#"
    {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"infold_branch_create","arguments":"{\"description\":\"d\"}"}}],"x":1}
    {"role":"tool","tool_call_id":"c1","content":"answer"}
    {"role":"assistant","content":"done"}
    "#);
    assert_snapshot!(sent(Api::Chat, CHAT, &kept_blocks([2, 3])), @r#"{"role":"assistant","content":"Reading.","reasoning_content":"hm","x":1}"#);
}

#[test]
fn words_of_ours_in_chat_wait_for_all_results() {
    let pieces = [kept_blocks(0..7), vec![say(Some(3), "note"), ViewPiece::Keep(7), say(Some(1), "brief")]].concat();
    assert_snapshot!(sent(Api::Chat, CHAT, &pieces), @r#"
    {"role":"system","content":"sys"}
    {"role":"user","content":"go"}
    {"role":"assistant","content":"Reading.","reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"infold_branch_create","arguments":"{\"description\":\"d\"}"}}, {"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}],"x":1}
    {"role":"tool","tool_call_id":"c1","content":"{\"branch_id\":1}"}
    {"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}
    {"role":"user","content":"note"}
    {"role":"user","content":"brief"}
    "#);
    assert_snapshot!(sent(Api::Chat, CHAT, &[ViewPiece::Keep(0), ViewPiece::Keep(1), say(Some(1), "beside"), say(Some(8), "in place")]), @r#"
    {"role":"system","content":"sys"}
    {"role":"user","content":[{"type":"text","text":"go"},{"type":"text","text":"beside"}]}
    {"role":"user","content":[{"type":"text","text":"in place"}]}
    "#);
}

#[test]
fn what_cannot_be_read_is_refused() {
    let read = |body: &str| Request::read(Api::Messages, body.as_bytes()).map(|_| ()).unwrap_err();
    assert_eq!(read(r#"{"messages":[],"messages":[]}"#), RequestError::Twice { key: "messages", at: 15 });
    assert_eq!(
        read(r#"{"messages":[{"role":"user","content":"a","\u0063ontent":"b"}]}"#),
        RequestError::Twice { key: "content", at: 42 }
    );
    let part = r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a","text":"b"}]}]}]}"#;
    assert_eq!(read(part), RequestError::Twice { key: "text", at: 116 });
    assert_eq!(read(r#"{"messages":{}}"#), RequestError::NoList { key: "messages" });
    assert_eq!(read(r#"{"input":[]}"#), RequestError::NoList { key: "messages" });
    assert_eq!(read(r#"{"messages":["hi"]}"#), RequestError::OddEntry { entry: 0 });
    assert_eq!(Request::read(Api::Chat, b"{\"messages\":[\xff]}").map(|_| ()).unwrap_err(), RequestError::NotText);
    let deep = format!(r#"{{"messages":[],"x":{}{}}}"#, "[".repeat(20_000), "]".repeat(20_000));
    assert_eq!(read(&deep), RequestError::TooDeep { depth_max: 10_000 });
}
