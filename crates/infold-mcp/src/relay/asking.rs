//! What a server asks before it can answer. To a client of the newer era the question travels as the answer of its call, and
//! its answer comes back with the same call once more; one of the older era is asked while its call waits. What a server of
//! the older era asks a client of the newer one is in `suspended`.
//!
//! What the server wants to remember in between is sealed with the server's name and the caller's, so that it reaches no
//! other server and nobody else's call.

use std::sync::Arc;

use infold_core::Principal;
use infold_core::gateway::ServerKey;
use infold_engine::ServerTool;
use rmcp::ErrorData;
use rmcp::model::{InputRequiredResult, InputResponses};
use serde_json::{Value, json};

use super::Gateway;
use super::caller::RelayCaller;
use super::host::Host;
use super::suspended::CallStep;
use crate::client_line::ClientLine;
use crate::gateway::{Ask, LinkError, RpcError, ServerLink};

/// How often a server may ask before it answers.
const ROUNDS_MAX: usize = 10;

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

    /// The name of the suspended call that goes on with it.
    pub(super) fn resumes(&self, seal: &StateSeal, whose: (&Principal, &ServerKey)) -> Option<String> {
        seal.open_call(self.state.as_deref()?, whose)
    }

    /// What the client says to a question.
    pub(super) fn response(mut self, question: &str) -> Option<Value> {
        self.responses.as_mut()?.get_mut(question).map(Value::take)
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

    /// Seals what a server wants to remember.
    fn close(&self, state: &str, whose: (&Principal, &ServerKey)) -> String {
        json!({ "state": state, "seal": self.mark(Sealed::State, state, whose) }).to_string()
    }

    fn open(&self, sealed: &str, whose: (&Principal, &ServerKey)) -> Result<String, ErrorData> {
        let sealed: Value = serde_json::from_str(sealed).unwrap_or_default();
        let state = sealed["state"].as_str().unwrap_or_default();
        if sealed["seal"] != self.mark(Sealed::State, state, whose) {
            return Err(ErrorData::invalid_params("requestState is not of this call: make the call anew", None));
        }
        Ok(state.to_owned())
    }

    /// Seals the name of a call that waits for its client.
    pub(super) fn close_call(&self, name: &str, whose: (&Principal, &ServerKey)) -> String {
        json!({ "call": name, "seal": self.mark(Sealed::Call, name, whose) }).to_string()
    }

    fn open_call(&self, sealed: &str, whose: (&Principal, &ServerKey)) -> Option<String> {
        let sealed: Value = serde_json::from_str(sealed).ok()?;
        let name = sealed["call"].as_str()?;
        (sealed["seal"] == self.mark(Sealed::Call, name, whose)).then(|| name.to_owned())
    }

    fn mark(&self, what: Sealed, text: &str, (who, server): (&Principal, &ServerKey)) -> String {
        let sealed = json!([what.word(), who.owner.as_str(), server.as_str(), text]).to_string();
        blake3::keyed_hash(&self.0, sealed.as_bytes()).to_hex().to_string()
    }
}

/// What is sealed: a server's own words cannot pass for the name of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sealed {
    State,
    Call,
}

impl Sealed {
    fn word(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Call => "call",
        }
    }
}

impl Gateway {
    /// Asks the client what a server of the older era wants to know in the middle of a call, and passes its answer on.
    /// When the call is over, nobody waits for it any more.
    pub(super) fn pass_question(&self, mut question: Ask, client: &ClientLine) {
        let (engine, method) = (self.engine.clone(), question.method.clone());
        let asking = client.asker();
        self.tasks.spawn(async move {
            let answer = match engine.clean_value(&question.params).await {
                Ok(params) => tokio::select! {
                    answer = asking.ask(&method, params) => answer,
                    () = question.unwanted() => return,
                },
                Err(error) => Err(error.to_string()),
            };
            question.answer(answer.map_err(RpcError::not_answered));
        });
    }

    /// A call of a server that may ask before it answers. A client of the older era is asked one question after another,
    /// and the call made again with its answers.
    pub(super) async fn follow_rounds(
        &self,
        link: &Arc<ServerLink>,
        target: (&Host, &ServerTool),
        (mut params, written): (Value, &str),
        caller: &RelayCaller,
    ) -> Result<CallStep, LinkError> {
        for _round in 0..ROUNDS_MAX {
            // A client that cannot be asked in between makes the call once.
            let may_ask = !caller.client.is_modern() && caller.client.session().is_some();
            let sent = if may_ask { params.clone() } else { std::mem::take(&mut params) };
            let running = self.begin(link, target, sent, caller);
            let answer = match self.follow_running(running, (target.1, written), caller).await? {
                CallStep::Answer(answer) => answer,
                waits @ CallStep::Waits(_) => return Ok(waits),
            };
            if !is_question(&answer) || !may_ask {
                return Ok(CallStep::Answer(answer));
            }
            params["inputResponses"] = Box::pin(self.answers(&answer, &caller.client)).await;
            match answer.get("requestState") {
                Some(state) => params["requestState"] = state.clone(),
                None => params["requestState"] = Value::Null,
            }
        }
        Err(LinkError::NotMcp(format!("it asked {ROUNDS_MAX} times without an answer")))
    }

    /// The client's answers to all questions of a server. A question that it does not answer is cancelled.
    async fn answers(&self, asked: &Value, client: &ClientLine) -> Value {
        let mut answers = serde_json::Map::new();
        for (key, question) in asked["inputRequests"].as_object().into_iter().flatten() {
            let method = question["method"].as_str().unwrap_or_default();
            let answer = match self.engine.clean_value(&question["params"]).await {
                Ok(params) => client.asker().ask(method, params).await,
                Err(error) => Err(error.to_string()),
            };
            answers.insert(key.clone(), answer.unwrap_or_else(|_| json!({ "action": "cancel" })));
        }
        Value::Object(answers)
    }

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
        let requests = self.engine.clean_value(&requests).await.map_err(|_| unreadable())?;
        let requests = match requests {
            Value::Null => None,
            requests => Some(serde_json::from_value(requests).map_err(|_| unreadable())?),
        };
        Ok(InputRequiredResult::new(requests, state))
    }
}
