//! The engine's side: its readers find in requests and answers what the agent put there.

use infold_core::view::{BlockKind, RequestKind};
use infold_testkit::model::{Model, Script, Step};
use infold_wire::answer::{AnswerReader, Delivery};
use infold_wire::request::Request;
use serde_json::json;

use super::threads::{APIS, MODEL, prompt, rich, sent, tools, user};
use crate::ThreadEntry;
use crate::provider::{AnswerDecoder, AnswerTranslator, ProviderApi, request_body};

/// One letter for each block.
fn drawn(request: &Request<'_>) -> String {
    let letter = |kind: &BlockKind<'_>| match kind {
        BlockKind::Call(_) => 'c',
        BlockKind::Result(_) => 'r',
        BlockKind::Reasoning => 't',
        BlockKind::Other { .. } => '?',
        _ => 'w',
    };
    request.blocks().iter().map(|block| letter(&block.kind)).collect()
}

#[test]
fn requests_are_turns_with_the_blocks_of_their_entries() {
    let tools = tools();
    for api in APIS {
        let entries = rich(api);
        let body = request_body(api, &prompt(&entries, &tools));
        let request = Request::read(api.engine_api(), &body).unwrap();
        assert_eq!(request.kind_hint(), RequestKind::Turn);
        let wanted = match api {
            ProviderApi::Anthropic => "wttwcccrrrwww",
            ProviderApi::Responses => "wtwcccrrrwww",
            ProviderApi::Chat => "wwwcccrrrwww",
            ProviderApi::Ollama => "wwtwcccrrrwww",
        };
        assert_eq!(drawn(&request), wanted, "{api:?}");
    }
}

#[tokio::test]
async fn answers_are_counted_with_the_calls_that_the_agent_makes() {
    for api in APIS {
        let both = [("read", json!({"path": "a.rs"})), ("run", json!({"command": "make"}))];
        let model = Model::start(Script::new([Step::calling("I look.", both).reasoning("Two files.")])).await.unwrap();
        let request = reqwest::Client::new().post(format!("{}{}", model.base_url(), api.path()));
        let bytes = request.body(sent(api, &[user("go")])).send().await.unwrap().bytes().await.unwrap();
        let mut translator = AnswerTranslator::new(api, "a1");
        let bytes = [translator.push(bytes), translator.finish()].concat();
        let mut reader = AnswerReader::new(api.engine_api(), Delivery::Streamed);
        let mut decoder = AnswerDecoder::new(api, MODEL);
        reader.push(&bytes);
        decoder.push(&bytes, &mut |_| {});
        assert!(reader.is_final(), "{api:?}");
        let (counted, answered) = (reader.finish(), decoder.finish().unwrap());
        assert!(counted.is_complete);
        assert_eq!(counted.usage, answered.usage);
        let made: Vec<(&str, &str)> = answered
            .entries
            .iter()
            .filter_map(|entry| match entry {
                ThreadEntry::Call { id, tool, .. } => Some((id.as_str(), tool.as_str())),
                _ => None,
            })
            .collect();
        let read: Vec<(&str, &str)> = counted.calls.iter().map(|call| (call.id.as_str(), call.tool.as_str())).collect();
        assert_eq!(read, made, "{api:?}");
        assert_eq!(read.len(), 2);
    }
}
