//! Asks a model one thing, in either API, and reads its whole answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::StatusCode;
use infold_engine::{AskFault, AskModel, ModelQuestion, ModelReply};
use infold_wire::answer::{AnswerReader, Delivery};
use infold_wire::request::Api;
use serde_json::{Value, json};

use super::{OwnAnswer, OwnModel, OwnRequests};
use crate::Provider;

/// The bound of an answer, as older and newer models of OpenAI's API call it.
const TOKENS_MAX: &str = "max_tokens";
const TOKENS_MAX_NEWER: &str = "max_completion_tokens";

/// The way to a model, for the engine.
pub fn ask_model(model: OwnModel) -> AskModel {
    let asker = Arc::new(Asker {
        api: match model.way.api {
            Provider::Anthropic => Api::Messages,
            Provider::OpenAi => Api::Chat,
        },
        model: model.model,
        requests: OwnRequests::new(model.way),
        wants_newer: AtomicBool::new(false),
    });
    AskModel::new(move |question| {
        let asker = Arc::clone(&asker);
        async move { asker.ask(&question).await }
    })
}

struct Asker {
    api: Api,
    model: String,
    requests: OwnRequests,
    /// Whether the model has refused the older name of the bound of an answer.
    wants_newer: AtomicBool,
}

impl Asker {
    async fn ask(&self, question: &ModelQuestion) -> Result<ModelReply, AskFault> {
        let answer = self.send(question).await?;
        let is_other_name = answer.status == StatusCode::BAD_REQUEST
            && self.api == Api::Chat
            && String::from_utf8_lossy(&answer.body).contains(TOKENS_MAX_NEWER);
        if is_other_name && !self.wants_newer.swap(true, Ordering::Relaxed) {
            return self.read(self.send(question).await?);
        }
        self.read(answer)
    }

    async fn send(&self, question: &ModelQuestion) -> Result<OwnAnswer, AskFault> {
        let path = match self.api {
            Api::Messages => "/v1/messages",
            Api::Responses | Api::Chat => "/v1/chat/completions",
        };
        self.requests.post(path, &self.body(question)).await
    }

    fn body(&self, question: &ModelQuestion) -> Value {
        let (instructions, text, tokens_max) =
            (&question.instructions, question.text.as_str(), question.answer_tokens_max);
        match self.api {
            Api::Messages => json!({
                "model": self.model,
                "max_tokens": tokens_max,
                "system": instructions,
                "messages": [{"role": "user", "content": text}],
            }),
            Api::Responses | Api::Chat => {
                let bound = if self.wants_newer.load(Ordering::Relaxed) { TOKENS_MAX_NEWER } else { TOKENS_MAX };
                json!({
                    "model": self.model,
                    bound: tokens_max,
                    "messages": [{"role": "system", "content": instructions}, {"role": "user", "content": text}],
                })
            }
        }
    }

    /// What an answer says, or why it says nothing.
    fn read(&self, answer: OwnAnswer) -> Result<ModelReply, AskFault> {
        let mut reader = AnswerReader::new(self.api, Delivery::Whole);
        reader.push(&answer.body);
        let read = reader.finish();
        if answer.status.is_success() && read.error.is_none() && read.is_complete {
            let tokens = read.usage.map(|usage| usage.prompt_tokens().saturating_add(usage.output_tokens));
            return Ok(ModelReply { words: read.words, tokens });
        }
        Err(self.requests.fault(&answer))
    }
}
