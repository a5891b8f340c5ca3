//! What a server of the newer era asks before it can answer: the question travels to the client as the answer of its call,
//! and the client's answer comes back with the same call once more.
//!
//! What the server wants to remember in between is sealed with the server's name and the caller's, so that it reaches no
//! other server and nobody else's call.

use infold_core::Principal;
use infold_core::gateway::ServerKey;
use rmcp::ErrorData;
use rmcp::model::{InputRequiredResult, InputResponses};
use serde_json::{Value, json};

use super::Gateway;

/// What a client sends along with a call that was answered with a question.
#[derive(Debug, Default)]
pub(crate) struct ClientInput {
    responses: Option<Value>,
    state: Option<String>,
}

impl ClientInput {
    pub(crate) fn new(responses: Option<InputResponses>, state: Option<String>) -> Self {
        Self { responses: responses.map(|responses| json!(responses)), state }
    }

    /// Adds it to the parameters of the server's call.
    pub(super) fn add_to(
        self,
        params: &mut Value,
        seal: &StateSeal,
        whose: (&Principal, &ServerKey),
    ) -> Result<(), ErrorData> {
        if let Some(responses) = self.responses {
            params["inputResponses"] = responses;
        }
        if let Some(state) = self.state {
            params["requestState"] = json!(seal.open(&state, whose)?);
        }
        Ok(())
    }
}

/// Whether a server's answer is a question.
pub(super) fn is_question(answer: &Value) -> bool {
    answer.get("resultType").and_then(Value::as_str) == Some("input_required")
}

/// Seals what travels through a client. The key is this process's own: after a restart the call is to be made anew.
pub(super) struct StateSeal([u8; 32]);

impl StateSeal {
    pub(super) fn new() -> Self {
        let mut key = [0; 32];
        // Without randomness a client could forge what it was given for itself, and no more.
        let _ = getrandom::fill(&mut key);
        Self(key)
    }

    fn close(&self, state: &str, whose: (&Principal, &ServerKey)) -> String {
        json!({ "state": state, "seal": self.mark(state, whose) }).to_string()
    }

    fn open(&self, sealed: &str, whose: (&Principal, &ServerKey)) -> Result<String, ErrorData> {
        let sealed: Value = serde_json::from_str(sealed).unwrap_or_default();
        let state = sealed["state"].as_str().unwrap_or_default();
        if sealed["seal"] != self.mark(state, whose) {
            return Err(ErrorData::invalid_params("requestState is not of this call: make the call anew", None));
        }
        Ok(state.to_owned())
    }

    fn mark(&self, state: &str, (who, server): (&Principal, &ServerKey)) -> String {
        let sealed = json!([who.owner.as_str(), server.as_str(), state]).to_string();
        blake3::keyed_hash(&self.0, sealed.as_bytes()).to_hex().to_string()
    }
}

impl Gateway {
    /// A server's question as the answer of a request. Its words are the server's, so they are scrubbed.
    pub(super) async fn question(
        &self,
        mut asked: Value,
        whose: (&Principal, &ServerKey),
    ) -> Result<InputRequiredResult, ErrorData> {
        let state = asked.get_mut("requestState").map(Value::take);
        let state = state.as_ref().and_then(Value::as_str).map(|state| self.seal.close(state, whose));
        let unreadable = || ErrorData::internal_error("the server asks in a form that MCP does not know", None);
        let requests = asked.get("inputRequests").cloned().unwrap_or_default();
        let requests = self.engine.scrub_value(&requests).await.map_err(|_| unreadable())?;
        let requests = match requests {
            Value::Null => None,
            requests => Some(serde_json::from_value(requests).map_err(|_| unreadable())?),
        };
        Ok(InputRequiredResult::new(requests, state))
    }
}
