//! Calls that wait for their client's answer. A server of the older era asks in the middle of a call; a client of the newer
//! era gets the question in the answer of that call, and makes the call once more with what it has to say. Between the two the
//! server's call stays as it is, under a handle that only its own caller can use.
//!
//! Must hold: at most so many calls wait, each for a bounded time. What waits no longer is cancelled at its server.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use infold_engine::ServerTool;
use rmcp::model::{InputRequests, InputRequiredResult};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Gateway;
use super::asking::ClientInput;
use super::caller::RelayCaller;
use super::progress::CallProgress;
use crate::gateway::{Ask, CallNotice, LinkError, ServerLink};

/// The name of a question among those of one answer.
const QUESTION: &str = "question";

/// A call that its server has not answered yet.
pub(super) struct RunningCall {
    pub(super) link: Arc<ServerLink>,
    pub(super) answer: Pin<Box<dyn Future<Output = Result<Value, LinkError>> + Send>>,
    pub(super) news: mpsc::Receiver<CallNotice>,
    pub(super) questions: mpsc::Receiver<Ask>,
    pub(super) cancel: CancellationToken,
}

/// What a call has come to.
pub(super) enum CallStep {
    Answer(Value),
    /// The server asks, and its call waits for what the client says.
    Waits(InputRequiredResult),
}

/// A call whose client has to answer a question first.
struct SuspendedCall {
    running: RunningCall,
    question: Ask,
    /// The tool and its arguments as JSON: the client has to make the same call.
    call: (String, String),
    until: Instant,
}

/// The calls that wait for their clients.
pub(super) struct SuspendedCalls {
    calls: Mutex<HashMap<String, SuspendedCall>>,
    calls_max: usize,
    wait: Duration,
}

impl SuspendedCalls {
    pub(super) fn new(calls_max: usize, wait: Duration) -> Self {
        Self { calls: Mutex::default(), calls_max, wait }
    }

    /// Gives up the calls that have waited for too long.
    pub(super) fn drop_old(&self) {
        let old: Vec<SuspendedCall> = {
            let now = Instant::now();
            self.calls().extract_if(|_, call| call.until <= now).map(|(_, call)| call).collect()
        };
        drop(old);
    }

    /// Gives up all calls.
    pub(super) fn clear(&self) {
        let all = std::mem::take(&mut *self.calls());
        drop(all);
    }

    /// Suspends a call. If there is no room, it comes back.
    fn add(&self, call: SuspendedCall) -> Result<String, Box<SuspendedCall>> {
        self.drop_old();
        let mut name = [0; 16];
        let is_random = getrandom::fill(&mut name).is_ok();
        let mut calls = self.calls();
        if calls.len() >= self.calls_max || !is_random {
            return Err(Box::new(call));
        }
        let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        calls.insert(name.clone(), call);
        Ok(name)
    }

    /// Takes a call that goes on. It is left where it is if the client makes another call.
    fn take(&self, name: &str, call: (&str, &str)) -> Option<SuspendedCall> {
        self.drop_old();
        let mut calls = self.calls();
        calls.get(name).filter(|found| found.call.0 == call.0 && is_same(&found.call.1, call.1))?;
        calls.remove(name)
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, SuspendedCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether two texts are the same JSON, in whichever order its fields are.
fn is_same(one: &str, other: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    read(one) == read(other)
}

impl Gateway {
    /// Goes on with a call that waited for what the client says now. The error is for a client that cannot go on with it.
    pub(super) fn resume(
        &self,
        name: &str,
        (target, written): (&ServerTool, &str),
        input: ClientInput,
    ) -> Result<RunningCall, rmcp::ErrorData> {
        let Some(suspended) = self.suspended.take(name, (target.name.as_str(), written)) else {
            let why = "requestState is of a call that is over, or of another one: make the call anew";
            return Err(rmcp::ErrorData::invalid_params(why, None));
        };
        let SuspendedCall { running, question, .. } = suspended;
        // Without an answer the server gets the word that nobody could be asked.
        if let Some(answer) = input.response(QUESTION) {
            question.answer(Ok(answer));
        }
        Ok(running)
    }

    /// Follows a call until it is answered, or until its client has to be asked and can be only between two calls.
    pub(super) async fn follow_running(
        &self,
        mut running: RunningCall,
        (target, written): (&ServerTool, &str),
        caller: &RelayCaller,
    ) -> Result<CallStep, LinkError> {
        let mut progress = CallProgress::new(self.setup.heartbeat);
        loop {
            let question = tokio::select! {
                // In this order, so that a call that is answered does not look at anything else again.
                biased;
                answer = &mut running.answer => {
                    // What the server said before it answered comes before the answer.
                    while let Ok(notice) = running.news.try_recv() {
                        Box::pin(progress.pass_on(self, &caller.client, notice)).await;
                    }
                    progress.finish(self, &caller.client).await;
                    return answer.map(CallStep::Answer);
                }
                () = caller.client.cancelled(), if !running.cancel.is_cancelled() => {
                    running.cancel.cancel();
                    continue;
                }
                () = progress.due() => {
                    Box::pin(progress.go_on(self, &caller.client)).await;
                    continue;
                }
                Some(question) = running.questions.recv() => question,
                // Last, because a server may say more than anyone can read.
                Some(notice) = running.news.recv() => {
                    Box::pin(progress.pass_on(self, &caller.client, notice)).await;
                    continue;
                }
            };
            if caller.client.session().is_some() {
                self.pass_question(question, &caller.client);
                continue;
            }
            let Some(requests) = Box::pin(self.asked_later(&question, caller)).await else { continue };
            let call = (target.name.to_string(), written.to_owned());
            let until = Instant::now() + self.suspended.wait;
            match self.suspended.add(SuspendedCall { running, question, call, until }) {
                Ok(name) => {
                    let whose = (&caller.who, &target.definition.server);
                    let state = Some(self.seal.close_call(&name, whose));
                    return Ok(CallStep::Waits(InputRequiredResult::new(Some(requests), state)));
                }
                Err(back) => running = back.running,
            }
        }
    }

    /// The question as a client of the newer era gets it; `None` if the client cannot be asked that.
    async fn asked_later(&self, question: &Ask, caller: &RelayCaller) -> Option<InputRequests> {
        if !caller.client.can_be_asked(&question.method) {
            return None;
        }
        let params = self.engine.clean_value(&question.params).await.ok()?;
        serde_json::from_value(json!({ QUESTION: { "method": question.method, "params": params } })).ok()
    }
}
