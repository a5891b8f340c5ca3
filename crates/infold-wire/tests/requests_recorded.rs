//! Requests that real clients sent, read and edited, where recordings are at hand (`INFOLD_TEST_DATA`).

use std::collections::HashSet;
use std::path::Path;

use crate::requests_support::{check_apply, check_pairs, check_reads_back, serialised};
use crate::support::{LIMITS, recordings, shown, unpacked};
use infold_core::transcript::Client;
use infold_core::view::{BlockKind, RequestKind, ViewPiece};
use infold_wire::answer::{AnswerReader, Delivery};
use infold_wire::request::{Api, Request};
use infold_wire::{identify, open, read_sessions, write_anthropic, write_openai};
use serde_json::{Value, json};

/// A request that a real client sent, with its answer.
struct Recorded {
    file: String,
    api: Api,
    headers: Vec<(String, String)>,
    body: Value,
    turn: String,
    /// What the model answered; null if it did not.
    answer: Value,
}

fn recorded() -> Vec<Recorded> {
    let files = recordings().into_iter().filter(|path| path.ends_with("requests.jsonl"));
    let mut found = Vec::new();
    for path in files {
        for line in String::from_utf8(unpacked(&path)).unwrap().lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let api = match record["path"].as_str().unwrap_or_default().split('?').next().unwrap() {
                "/v1/messages" | "/v1/messages/count_tokens" => Api::Messages,
                "/v1/responses" => Api::Responses,
                "/v1/chat/completions" => Api::Chat,
                _ => continue,
            };
            if !record["body"].is_object() {
                continue;
            }
            let turn = record["turn"].as_str().unwrap_or_default().to_owned();
            let headers = headers(&record["headers"]);
            let (body, answer) = (record["body"].clone(), record["answer"].clone());
            found.push(Recorded { file: shown_with_scenario(&path), api, headers, body, turn, answer });
        }
    }
    found
}

/// Headers are recorded as an object or as a list of pairs.
fn headers(recorded: &Value) -> Vec<(String, String)> {
    let pair = |name: &Value, value: &Value| Some((name.as_str()?.to_owned(), value.as_str()?.to_owned()));
    match recorded {
        Value::Object(map) => {
            map.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
        }
        Value::Array(list) => list.iter().filter_map(|both| pair(&both[0], &both[1])).collect(),
        _ => Vec::new(),
    }
}

fn shown_with_scenario(path: &Path) -> String {
    let scenario = path.parent().map(shown).unwrap_or_default();
    format!("{scenario}/{}", shown(path))
}

#[test]
fn every_recorded_request_is_given_back_byte_for_byte() {
    for request in recorded() {
        for body in serialised(&request.body) {
            let read = Request::read(request.api, &body).unwrap();
            let all: Vec<ViewPiece> = (0..read.blocks().len()).map(ViewPiece::Keep).collect();
            assert!(read.apply(&all) == body, "{} changed", request.file);
            check_reads_back(&read);
        }
    }
}

#[test]
fn exchanges_can_be_left_out_of_every_recorded_request() {
    for request in recorded() {
        let body = serde_json::to_vec(&request.body).unwrap();
        let read = Request::read(request.api, &body).unwrap();
        let calls: Vec<String> = read
            .blocks()
            .iter()
            .filter_map(|block| match &block.kind {
                BlockKind::Call(call) => Some(call.id.clone().into_owned()),
                _ => None,
            })
            .collect();
        for skipped in 0..calls.len().min(8) {
            let gone: HashSet<&str> = calls.iter().skip(skipped % 3).step_by(skipped + 1).map(String::as_str).collect();
            let kept: Vec<ViewPiece> = (0..read.blocks().len())
                .filter(|index| match &read.blocks()[*index].kind {
                    BlockKind::Call(call) => !gone.contains(call.id.as_ref()),
                    BlockKind::Result(result) => !gone.contains(result.call.as_ref()),
                    BlockKind::Reasoning => false,
                    _ => true,
                })
                .map(ViewPiece::Keep)
                .collect();
            check_apply(&read, &kept);
        }
    }
}

#[test]
fn every_call_is_paired_and_everything_is_of_a_known_kind() {
    for request in recorded() {
        let body = serde_json::to_vec(&request.body).unwrap();
        let read = Request::read(request.api, &body).unwrap();
        let mut open = HashSet::new();
        for block in read.blocks() {
            match &block.kind {
                BlockKind::Call(call) => assert!(open.insert(call.id.clone().into_owned()), "{}", request.file),
                BlockKind::Result(result) => assert!(open.remove(result.call.as_ref()), "{}", request.file),
                BlockKind::Other { .. } => {
                    let known = ["compaction", "content\":[]"].map(|word| word.to_owned());
                    let text = String::from_utf8_lossy(read.body()).into_owned();
                    assert!(known.iter().any(|word| text.contains(word)), "{} has unknown blocks", request.file);
                }
                _ => {}
            }
        }
        assert!(open.is_empty(), "{} has calls without results", request.file);
    }
}

/// Converts a request to Anthropic into one to the Chat API.
fn as_chat(request: &str) -> String {
    let request: Value = serde_json::from_str(request).unwrap();
    let mut messages = Vec::new();
    for message in request["messages"].as_array().unwrap() {
        let blocks = message["content"].as_array().unwrap();
        let of = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
        for result in of("tool_result") {
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            messages.push(json!({"role": "tool", "tool_call_id": result["tool_use_id"], "content": text}));
        }
        let words: Vec<&str> = of("text").filter_map(|block| block["text"].as_str()).collect();
        let call = |block: &Value| {
            let function = json!({"name": block["name"], "arguments": block["input"].to_string()});
            json!({"id": block["id"], "type": "function", "function": function})
        };
        let calls: Vec<Value> = of("tool_use").map(call).collect();
        match (words.is_empty(), calls.is_empty()) {
            (true, true) => {}
            (_, true) => messages.push(json!({"role": message["role"], "content": words.join("\n")})),
            (_, false) => {
                messages.push(json!({"role": "assistant", "content": words.join("\n"), "tool_calls": calls}));
            }
        }
    }
    json!({"messages": messages}).to_string()
}

/// The project's own fixtures, and recordings where they are at hand, each session written as a request.
fn written() -> Vec<(Api, String, String)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let folders = ["claude-code", "codex", "opencode"].map(|client| fixtures.join(client).read_dir().unwrap());
    let own = folders.into_iter().flatten().map(|file| file.unwrap().path());
    let recorded = recordings().into_iter().filter(|path| path.components().any(|part| part.as_os_str() == "raw"));
    let mut requests = Vec::new();
    for path in own.chain(recorded) {
        for session in read_sessions(open(&path).unwrap(), None, LIMITS).unwrap() {
            let session = session.unwrap();
            requests.push((Api::Messages, shown(&path), write_anthropic(&session).text));
            requests.push((Api::Responses, shown(&path), write_openai(&session).text));
            requests.push((Api::Chat, shown(&path), as_chat(&write_anthropic(&session).text)));
        }
    }
    requests
}

#[test]
fn whole_sessions_are_read_and_cut_in_every_form() {
    let requests = written();
    assert!(requests.len() >= 27, "there are nine fixtures");
    for (api, name, body) in requests {
        let read = Request::read(api, body.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let all: Vec<ViewPiece> = (0..read.blocks().len()).map(ViewPiece::Keep).collect();
        assert!(read.apply(&all) == body.as_bytes(), "{name} changed");
        check_pairs(&read);
        // The first half of the session is left out, but for what came first.
        let middle = read.blocks().iter().position(|block| block.entry > read.digests().len() / 2).unwrap_or_default();
        let calls: HashSet<&str> = read.blocks()[..middle]
            .iter()
            .filter_map(|block| match &block.kind {
                BlockKind::Call(call) => Some(call.id.as_ref()),
                _ => None,
            })
            .collect();
        let is_kept = |index: &usize| match &read.blocks()[*index].kind {
            BlockKind::Result(result) => !calls.contains(result.call.as_ref()),
            _ => *index == 0 || *index >= middle,
        };
        let kept: Vec<ViewPiece> = (0..read.blocks().len()).filter(is_kept).map(ViewPiece::Keep).collect();
        let edited = check_apply(&read, &kept);
        check_pairs(&Request::read(api, &edited).unwrap());
    }
}

#[test]
fn each_recorded_request_is_known_by_its_client_and_kind() {
    for request in recorded() {
        let body = serde_json::to_vec(&request.body).unwrap();
        let read = Request::read(request.api, &body).unwrap();
        let headers: Vec<(&str, &str)> = request.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let found = identify(request.api, &headers, &read);
        let agent =
            headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("user-agent")).map_or("", |found| found.1);
        let client = match agent.split(['/', '_']).next().unwrap() {
            "claude-cli" => Some(Client::ClaudeCode),
            "codex" => Some(Client::Codex),
            "opencode" => Some(Client::OpenCode),
            _ => None,
        };
        assert_eq!(found.client, client, "{} {agent}", request.file);
        assert!(found.session.is_some() || client.is_none(), "{} {agent}", request.file);
        // The words that ask for a compaction are blanked in recordings of Claude Code: there it cannot be known.
        let is_compaction = request.turn.contains("summarise") || request.turn.contains("compaction");
        match (client, found.kind) {
            (Some(Client::ClaudeCode), RequestKind::Compaction) => panic!("{} is no compaction", request.file),
            (Some(Client::ClaudeCode) | None, _) => {}
            (Some(_), kind) => {
                assert_eq!(kind == RequestKind::Compaction, is_compaction, "{} {}", request.file, request.turn)
            }
        }
        let is_beside = request.turn.contains("side-call") || request.turn.contains("title");
        assert_eq!(
            found.kind == RequestKind::Side,
            is_beside || is_tool_less(&read, found.kind),
            "{} {}",
            request.file,
            request.turn
        );
    }
}

/// Whether a request that is no compaction lists no tools.
fn is_tool_less(request: &Request<'_>, kind: RequestKind) -> bool {
    request.tools().is_empty() && kind != RequestKind::Compaction
}

#[test]
fn every_recorded_answer_is_read() {
    for request in recorded().iter().filter(|request| request.answer.is_object()) {
        let mut reader = AnswerReader::new(request.api, Delivery::Whole);
        reader.push(request.answer.to_string().as_bytes());
        let answer = reader.finish();
        let has_failed = !request.answer["error"].is_null();
        assert_eq!((answer.is_complete, answer.error.is_some()), (!has_failed, has_failed), "{}", request.file);
        if has_failed {
            continue;
        }
        // A count of tokens is the whole answer.
        let is_count = request.answer["usage"].is_null();
        let said = if is_count { &request.answer } else { &request.answer["usage"] };
        let sent = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "prompt_tokens"];
        let sent: u64 = sent.iter().filter_map(|key| said[key].as_u64()).sum();
        assert_eq!(answer.usage.unwrap().prompt_tokens(), sent, "{} {}", request.file, request.turn);
        let text = request.answer.to_string();
        let calls = ["\"tool_use\",\"id\"", "\"call_id\"", "\"arguments\""].map(|word| text.matches(word).count());
        assert_eq!(answer.calls.len(), calls.into_iter().max().unwrap(), "{} {}", request.file, request.turn);
    }
}

#[test]
fn a_request_extends_the_one_before_it_by_their_digests() {
    let mut extended = 0;
    let mut last: Option<(String, Vec<[u8; 32]>)> = None;
    for request in recorded() {
        let body = serde_json::to_vec(&request.body).unwrap();
        let read = Request::read(request.api, &body).unwrap();
        let digests = read.digests();
        assert_eq!(digests.len(), read.blocks().last().map_or(0, |block| block.entry + 1));
        if let Some((file, before)) = &last
            && *file == request.file
            && before.last().is_some_and(|end| digests.contains(end))
        {
            assert_eq!(digests[..before.len()], before[..]);
            extended += 1;
        }
        last = Some((request.file, digests));
    }
    assert!(extended == 0 || extended > 30, "only {extended} requests extend the one before");
}
