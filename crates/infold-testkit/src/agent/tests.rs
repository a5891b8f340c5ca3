//! Replies are read as clients read them, and only if they are whole.

use serde_json::{Value, json};

use super::{Client, RawReply, answer};
use crate::model::{Model, Script, Step};

async fn raw(client: Client) -> RawReply {
    let (tool, argument) = client.reads_with();
    let step = Step::calling("Grüße.", [(tool, json!({argument: "a.rs"}))]).reasoning("hm");
    let model = Model::start(Script::new([step])).await.unwrap();
    let (tools, user) = (json!([{"name": tool, "function": {"name": tool}}]), json!({"role": "user", "content": "go"}));
    let body = json!({"stream": true, "thinking": {"type": "adaptive"}, "tools": tools, "messages": [user],
        "input": [user]});
    let url = format!("{}{}", model.base_url(), client.path());
    let response = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    RawReply { status, headers, bytes: response.bytes().await.unwrap().to_vec(), cut: None }
}

#[tokio::test]
async fn every_clients_stream_gives_words_calls_and_what_is_kept() {
    for client in Client::ALL {
        let said = answer::read(client, &raw(client).await).unwrap();
        assert_eq!(said.text, "Grüße.", "{client:?}");
        let (tool, argument) = client.reads_with();
        assert_eq!((said.calls[0].tool.as_str(), &said.calls[0].arguments), (tool, &json!({argument: "a.rs"})));
        assert!(!said.entries.is_empty() && said.usage != Value::Null);
    }
}

#[tokio::test]
async fn a_stream_that_was_cut_at_any_byte_is_no_answer() {
    for client in Client::ALL {
        let full = raw(client).await;
        for at in 0..full.bytes.len() - 1 {
            let cut = RawReply { bytes: full.bytes[..at].to_vec(), headers: full.headers.clone(), cut: None, ..full };
            assert!(answer::read(client, &cut).is_err(), "{client:?} cut at {at}");
        }
    }
}
