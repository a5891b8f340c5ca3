//! Whole sessions with the scripted model, which refuses what providers refuse and seals its reasoning.

use bytes::Bytes;
use infold_testkit::model::{Model, Script, Step};
use serde_json::{Value, json};

use super::threads::{APIS, MODEL, prompt, result, tools, user};
use crate::provider::{
    AnswerDecoder, AnswerTranslator, Answered, Delta, ProviderApi, StopReason, outgoing_body, request_body,
};
use crate::{ResultOutcome, ThreadEntry};

fn script() -> Script {
    let both = [("read", json!({"path": "a.rs"})), ("run", json!({"command": "make"}))];
    Script::new([
        Step::calling("I look.", both).reasoning("Two files."),
        Step::calling("", [("run", json!({"command": "true"}))]).reasoning("Once more."),
        Step::text("It works.").reasoning("Done."),
        Step::text("Bye.").at_limit(),
    ])
}

/// Sends a thread, and reads the answer.
async fn ask(api: ProviderApi, model: &Model, entries: &[ThreadEntry], answer_id: &str) -> (Answered, Vec<Delta>) {
    let tools = tools();
    let body = outgoing_body(api, request_body(api, &prompt(entries, &tools)), 32_768).unwrap();
    let request = reqwest::Client::new().post(format!("{}{}", model.base_url(), api.path()));
    let answer = request.header("x-session-id", "s").body(body).send().await.unwrap();
    let status = answer.status().as_u16();
    let bytes: Bytes = answer.bytes().await.unwrap();
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&bytes));
    let (mut translator, mut decoder) = (AnswerTranslator::new(api, answer_id), AnswerDecoder::new(api, MODEL));
    let mut deltas = Vec::new();
    decoder.push(&translator.push(bytes), &mut |delta| deltas.push(delta));
    decoder.push(&translator.finish(), &mut |delta| deltas.push(delta));
    (decoder.finish().unwrap(), deltas)
}

fn results(entries: &[ThreadEntry]) -> Vec<ThreadEntry> {
    let calls = entries.iter().filter_map(|entry| match entry {
        ThreadEntry::Call { id, tool, .. } => Some(result(id, tool, "", ResultOutcome::Succeeded)),
        _ => None,
    });
    calls.collect()
}

#[tokio::test]
async fn a_session_runs_to_its_end_with_every_provider() {
    for api in APIS {
        let model = Model::start(script()).await.unwrap();
        let mut entries = vec![user("Why does the build fail?")];
        let mut stops = Vec::new();
        for turn in ["a1", "a2", "a3", "a4"] {
            let (answered, _) = ask(api, &model, &entries, turn).await;
            assert!(answered.usage.is_some_and(|usage| usage.output_tokens == 50 && usage.prompt_tokens() > 0));
            let results = results(&answered.entries);
            stops.push(answered.stop);
            entries.extend(answered.entries);
            let has_results = !results.is_empty();
            entries.extend(results);
            if !has_results {
                entries.push(user("And now?"));
            }
        }
        assert_eq!(model.broken(), Vec::<String>::new(), "{api:?}");
        assert_eq!(model.repeated_writes(), [], "{api:?}");
        assert_eq!(stops, [StopReason::ToolUse, StopReason::ToolUse, StopReason::EndTurn, StopReason::MaxTokens]);
        let last = model.requests().pop().unwrap();
        assert_eq!((last.reasoning_dropped, last.reasoning_missing), (0, 0));
        let has_reasoning = entries.iter().any(|entry| matches!(entry, ThreadEntry::Reasoning { .. }));
        assert_eq!(has_reasoning, api != ProviderApi::Chat, "{api:?}");
        assert_eq!(last.holds("Once more."), has_reasoning, "{api:?}");
        let calls = entries.iter().filter_map(|entry| match entry {
            ThreadEntry::Call { tool, arguments, .. } => Some((tool.as_str(), arguments.clone())),
            _ => None,
        });
        let wanted: [(&str, Value); 3] = [
            ("read", json!({"path": "a.rs"})),
            ("run", json!({"command": "make"})),
            ("run", json!({"command": "true"})),
        ];
        assert_eq!(calls.collect::<Vec<_>>(), wanted);
    }
}

#[tokio::test]
async fn what_comes_in_is_reported_at_once() {
    for api in APIS {
        let model = Model::start(script()).await.unwrap();
        let (_, deltas) = ask(api, &model, &[user("go")], "a1").await;
        assert!(deltas.contains(&Delta::Text("I look.".to_owned())), "{deltas:?}");
        for tool in ["read", "run"] {
            assert!(deltas.contains(&Delta::CallBegun { tool: tool.to_owned() }), "{deltas:?}");
        }
        assert!(deltas.iter().any(|delta| matches!(delta, Delta::Usage(_))));
        // The scripted Responses model tells its thoughts only with the item.
        let has_thoughts = deltas.contains(&Delta::Reasoning("Two files.".to_owned()));
        assert_eq!(has_thoughts, api != ProviderApi::Responses, "{deltas:?}");
    }
}
