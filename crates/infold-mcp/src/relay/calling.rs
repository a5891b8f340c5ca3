//! One call of a server's tool: whether it may be made, how its client is kept informed, and what becomes of its result.

use std::sync::Arc;
use std::time::{Duration, Instant};

use infold_core::gateway::{Lane, RightsTarget, RightsVerdict, SchemaBounds, problems_of, refuse_arguments};
use infold_engine::{BegunCall, RelayedCall, RelayedResult, RelayedShown, ServerCall, ServerTool, Verdict};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, InputRequiredResult};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Gateway;
use super::asking::{ClientInput, is_question};
use super::call_answer::{CallAnswer, RelayedAnswer};
use super::caller::RelayCaller;
use super::content::ServerResult;
use super::host::Host;
use super::suspended::{CallStep, RunningCall};
use crate::gateway::{CallOptions, LinkError, RpcError, ServerLink, marks_arguments, with};

/// The code of an error whose own code is none.
const INTERNAL_ERROR: i32 = -32_603;
/// Questions of a server that may wait.
const ASKS_MAX: usize = 4;
/// Notices of a server that may wait to be passed on.
const NOTICES_MAX: usize = 32;

/// What a call came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallWay {
    /// The tool is listed, and was called by its own name.
    Direct,
    /// One of the gateway's two calling tools.
    Through(Lane),
}

/// A call of a server's tool.
pub(crate) struct RelayCall<'a> {
    pub(crate) caller: &'a RelayCaller,
    /// The tool's name: as it is listed, or as `server/tool`.
    pub(crate) name: &'a str,
    pub(crate) way: CallWay,
    /// An object.
    pub(crate) arguments: Value,
    pub(crate) input: ClientInput,
}

/// Why a call gave no result.
enum NoResult {
    /// In words for a model, which may hold words of the server.
    Refused(String),
    /// An error of the protocol, from the server or for the client.
    Rpc(ErrorData),
}

/// What a server answered.
enum CallOutcome {
    Result(ServerResult),
    /// It asks something first.
    Question(Value),
    /// It asks in the middle of the call, which waits for the client's answer.
    Waits(InputRequiredResult),
}

/// What a call gave, for the server's figures.
struct Relayed {
    result: ServerResult,
    shown: RelayedShown,
}

impl Gateway {
    /// Makes a call. What is wrong with it, or with its server, is the text of a result that is an error; an error of the
    /// protocol passes as it is, if the client called the tool itself.
    pub(crate) async fn call(self: &Arc<Self>, relay: RelayCall<'_>) -> Result<CallAnswer, ErrorData> {
        let (target, host) = match self.admitted(&relay).await {
            Ok(admitted) => admitted,
            Err(why) => return Ok(refused(why).into()),
        };
        let began = Instant::now();
        let RelayCall { caller, way, arguments, input, .. } = relay;
        let written = arguments.to_string();
        let relayed = RelayedCall {
            place: caller.place.clone(),
            server: target.definition.server.clone(),
            tool: target.name.to_string(),
            arguments: written.clone(),
            call_id: caller.call_id.clone(),
        };
        // What is recorded of the call is made ready while its server works.
        let (outcome, begun) = tokio::join!(
            self.exchange((&host, &target), (arguments, &written), input, caller),
            self.engine.begin_relayed(relayed),
        );
        let result = match outcome {
            Ok(CallOutcome::Question(asked)) => {
                let question = Box::pin(self.question(asked, (&caller.who, &target.definition.server)));
                return Ok(question.await?.into());
            }
            Ok(CallOutcome::Waits(asked)) => return Ok(asked.into()),
            Ok(CallOutcome::Result(result)) => self.take_in(caller, begun, result).await,
            Err(no_result) => Err(no_result),
        };
        self.count(caller, &target, &result, began.elapsed());
        self.promote(std::iter::once(target.name.as_str()), &caller.client).await;
        match (result, way) {
            (Ok(relayed), _) => Ok(CallAnswer::Relayed(as_answer(relayed))),
            (Err(NoResult::Refused(why)), _) => Ok(refused(Box::pin(self.scrubbed(why)).await).into()),
            (Err(NoResult::Rpc(error)), CallWay::Direct) => Err(Box::pin(self.scrubbed_error(error)).await),
            (Err(NoResult::Rpc(error)), CallWay::Through(_)) => {
                let error = Box::pin(self.scrubbed_error(error)).await;
                Ok(refused(format!("{}: error {}: {}", target.name, error.code.0, error.message)).into())
            }
        }
    }

    /// An error of a server without secrets.
    pub(super) async fn scrubbed_error(&self, error: ErrorData) -> ErrorData {
        let data = match &error.data {
            Some(data) => self.engine.clean_value(data).await.ok(),
            None => None,
        };
        ErrorData::new(error.code, self.scrubbed(error.message.into_owned()).await, data)
    }

    /// The target of a call that may be made.
    async fn admitted(self: &Arc<Self>, relay: &RelayCall<'_>) -> Result<(Arc<ServerTool>, Arc<Host>), String> {
        let mut catalogue = self.ready().await;
        if catalogue.find(relay.name).is_none() {
            Box::pin(self.see_host_of(relay.name)).await?;
            catalogue = Box::pin(self.renewed()).await;
        }
        let target = catalogue.find(relay.name).cloned();
        let refuse = || self.login_missing_for(relay.name).unwrap_or_else(|| catalogue.refuse(relay.name));
        let target = target.ok_or_else(refuse)?;
        let host = self.hosts[target.server].clone();
        let about = RightsTarget {
            server: host.entry.key.as_str(),
            tool: &target.definition.tool,
            hints: target.definition.hints,
        };
        if host.entry.rights.verdict_of_call(&about, &relay.arguments) == RightsVerdict::Deny {
            return Err(format!("{} may not be called like this: the rules of its server deny it", target.name));
        }
        match relay.way {
            CallWay::Through(lane) if lane != target.lane => return Err(target.lane.refuse_other(&target.name)),
            CallWay::Through(_) | CallWay::Direct => {}
        }
        let problems = problems_of(&relay.arguments, &target.definition.input, &SchemaBounds::USUAL);
        if !problems.is_empty() {
            return Err(refuse_arguments(target.name.as_str(), &problems));
        }
        match self.engine.admit_call(&relay.caller.who, &relay.caller.place).await {
            Ok(()) => Ok((target, host)),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Sends the call to its server and waits for the result; its client is sent progress meanwhile.
    async fn exchange(
        self: &Arc<Self>,
        (host, target): (&Arc<Host>, &Arc<ServerTool>),
        (arguments, written): (Value, &str),
        input: ClientInput,
        caller: &RelayCaller,
    ) -> Result<CallOutcome, NoResult> {
        let whose = (&caller.who, &host.entry.key);
        let step = match input.resumes(&self.seal, whose) {
            Some(name) => {
                let running = self.resume(&name, (target, written), input).map_err(NoResult::Rpc)?;
                let link = running.link.clone();
                (Box::pin(self.follow_running(running, (target, written), caller)).await, link)
            }
            None => {
                let link = self.link_for(host, target, caller).await.map_err(NoResult::Refused)?;
                let mut params = with(json!({ "name": target.definition.tool }), "arguments", arguments);
                input.add_to(&mut params, &self.seal, whose).map_err(NoResult::Rpc)?;
                (self.follow_rounds(&link, (host, target), (params, written), caller).await, link)
            }
        };
        match step {
            (Ok(CallStep::Answer(result)), _) => {
                host.answered();
                self.answered(result, caller).map_err(NoResult::Refused)
            }
            (Ok(CallStep::Waits(asked)), _) => Ok(CallOutcome::Waits(asked)),
            (Err(LinkError::Rpc(error)), _) => Err(NoResult::Rpc(as_protocol(host.without_values(error)))),
            (Err(error), link) => {
                host.failed(&error);
                if matches!(error, LinkError::Ended { .. } | LinkError::Closed) {
                    host.ended(&link, error.to_string());
                }
                Err(NoResult::Refused(host.words_of(&error)))
            }
        }
    }

    /// The connection that a call goes over. The server's tools may have been seen anew since the call was admitted.
    async fn link_for(
        self: &Arc<Self>,
        host: &Arc<Host>,
        target: &Arc<ServerTool>,
        caller: &RelayCaller,
    ) -> Result<Arc<ServerLink>, String> {
        let project = caller.project().or_else(|| self.setup.folder.clone());
        let link = self.link(host, project).await?;
        let catalogue = self.catalogue();
        match catalogue.find(target.name.as_str()) {
            Some(now) if Arc::ptr_eq(now, target) || now.definition == target.definition => Ok(link),
            Some(_) | None => Err(catalogue.refuse(target.name.as_str())),
        }
    }

    /// Begins one request, with everything that goes along with it.
    pub(super) fn begin(
        &self,
        link: &Arc<ServerLink>,
        (host, target): (&Host, &ServerTool),
        params: Value,
        caller: &RelayCaller,
    ) -> RunningCall {
        let (link, cancel) = (link.clone(), CancellationToken::new());
        let (notices, news) = mpsc::channel(NOTICES_MAX);
        let (asks, questions) = mpsc::channel(ASKS_MAX);
        let session = caller.client.session();
        let options = CallOptions {
            cancel: cancel.clone(),
            asks: (session.is_some() || caller.client.is_modern()).then_some(asks),
            session,
            notices: Some(notices),
            capabilities: Some(caller.client.capabilities()),
            input_schema: target
                .definition
                .input
                .as_object()
                .is_some_and(marks_arguments)
                .then(|| target.definition.input.clone()),
            ..CallOptions::within(host.entry.limits.call_timeout_ms)
        };
        let asked = link.clone();
        let answer = Box::pin(async move { asked.request("tools/call", params, options).await });
        RunningCall { link, answer, news, questions, cancel }
    }

    /// A result within its bound, or a question that its client can be asked.
    fn answered(&self, result: Value, caller: &RelayCaller) -> Result<CallOutcome, String> {
        match is_question(&result).then(|| caller.client.is_modern()) {
            Some(true) => return Ok(CallOutcome::Question(result)),
            Some(false) => {
                return Err(
                    "the server asks for input before it can answer, and this client cannot be asked".to_owned()
                );
            }
            None => {}
        }
        let (bytes, most) = (json_bytes(&result), self.setup.result_bytes_max);
        if bytes > most {
            return Err(format!("the result has {bytes} bytes, the limit is {most}: ask for less at a time"));
        }
        Ok(CallOutcome::Result(ServerResult::read(result, bytes)))
    }

    /// Takes the result through the door that every result goes through.
    async fn take_in(
        &self,
        caller: &RelayCaller,
        begun: BegunCall,
        mut result: ServerResult,
    ) -> Result<Relayed, NoResult> {
        let given = RelayedResult { texts: std::mem::take(&mut result.texts), structured: result.structured.take() };
        for block in &mut result.others {
            *block = Box::pin(self.engine.clean_value(block)).await.map_err(unscrubbed)?;
        }
        let shown = self.engine.take_in_relayed(&caller.who, begun, given).await.map_err(unscrubbed)?;
        Ok(Relayed { result, shown })
    }

    fn count(&self, caller: &RelayCaller, target: &ServerTool, outcome: &Result<Relayed, NoResult>, latency: Duration) {
        let shown = outcome.as_ref().ok().map(|relayed| &relayed.shown);
        self.engine.count_server_call(
            &caller.who,
            ServerCall {
                server: target.definition.server.clone(),
                tool: target.definition.tool.clone(),
                latency,
                is_error: outcome.as_ref().map_or(true, |relayed| relayed.result.is_error),
                tokens_in: shown.map_or(0, |shown| shown.tokens_in),
                tokens_out: shown.map_or(0, |shown| shown.tokens_out),
                bytes: outcome.as_ref().map_or(0, |relayed| relayed.result.bytes),
                offloaded: shown.is_some_and(|shown| shown.ref_id.is_some()),
            },
        );
    }
}

/// The length of a value as JSON, but for what has to be escaped: found without writing it down.
fn json_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| json_bytes(item) + 1).sum::<usize>() + 1,
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| name.len() + json_bytes(field) + 4).sum::<usize>() + 1
        }
    }
}

fn unscrubbed(error: infold_engine::Error) -> NoResult {
    NoResult::Refused(error.to_string())
}

/// An error of a server in the protocol library's form; it is not scrubbed yet.
pub(super) fn as_protocol(error: RpcError) -> ErrorData {
    let code = i32::try_from(error.code).unwrap_or(INTERNAL_ERROR);
    ErrorData::new(ErrorCode(code), error.message, error.data)
}

/// An error that a caller can act on.
pub(crate) fn refused(why: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(why)])
}

fn as_answer(relayed: Relayed) -> RelayedAnswer {
    let Relayed { result, shown } = relayed;
    let RelayedShown { texts, structured, verdict, metered, notices, state, .. } = shown;
    let result = match verdict {
        Verdict::Show => result.shown(texts, structured),
        Verdict::Withheld(notice) => refused(format!(
            "This result does not fit what is left of branch {}'s budget, so the branch has folded. Go on in {} with its \
             result: {}",
            notice.branch_id, notice.parent, notice.result
        )),
    };
    RelayedAnswer { result, state, metered, notices }
}
