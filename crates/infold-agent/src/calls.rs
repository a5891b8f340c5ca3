//! Carries out a model's calls. Those that do not open branches run one after another, in their order; branches of one
//! message work side by side; a return and a compaction come last, because the thread is another one after them.
//!
//! What must hold: every call gets one result, and it is on disk before anything follows from it; what may not be done is
//! not done, and the model reads why.

use futures::future::join_all;
use infold_core::Thread;
use infold_engine::{FindInResults, OwnResult, Portion, ReadResult, SessionRef};
use serde_json::Value;

use crate::agent::CodingAgent;
use crate::own_tools;
use crate::pacing;
use crate::record::{SessionRecord, SkillPlace};
use crate::session::OpenCall;
use crate::setup::OtherCall;
use crate::stop::{OverBranch, Stop};
use crate::tools::approval::{Approval, decide, decide_other};
use crate::tools::{self, LocalCall, LocalTool, ToolOutput};
use crate::watch::AgentEvent;
use crate::{ResultOutcome, ThreadEntry};

/// How many bytes a read of a stored result returns, if the model does not say.
const READ_BYTES: usize = 4_096;

impl CodingAgent {
    /// Carries out the calls of an answer.
    pub(crate) async fn run_calls(&self, thread: &Thread, calls: Vec<OpenCall>) -> Result<(), Stop> {
        let (openings, others): (Vec<OpenCall>, Vec<OpenCall>) =
            calls.into_iter().partition(|call| call.tool == own_tools::BRANCH_CREATE);
        let (last, others): (Vec<OpenCall>, Vec<OpenCall>) =
            others.into_iter().partition(|call| ends_thread(&call.tool));
        for call in others {
            self.announce(thread, &call);
            let output = self.run_call(thread, &call).await?;
            self.keep(thread, &call, output).await?;
        }
        let opened = join_all(openings.iter().map(|call| async {
            self.announce(thread, call);
            self.run_branch(thread, call).await
        }));
        for done in opened.await {
            done?;
        }
        for call in last {
            self.announce(thread, &call);
            match call.tool.as_str() {
                own_tools::COMPACT_CONTEXT => self.compact_for_call(thread, &call).await?,
                _ => self.return_branch(thread, &call).await?,
            }
        }
        Ok(())
    }

    fn announce(&self, thread: &Thread, call: &OpenCall) {
        self.tell(AgentEvent::Call {
            thread: thread.clone(),
            call_id: call.id.clone(),
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
        });
    }

    async fn run_call(&self, thread: &Thread, call: &OpenCall) -> Result<ToolOutput, Stop> {
        if self.cancelled().is_cancelled() {
            return Err(Stop::Cancelled);
        }
        if let Some(tool) = LocalTool::named(&call.tool) {
            return self.run_local(thread, tool, call).await;
        }
        Ok(match call.tool.as_str() {
            own_tools::READ_RESULT => self.read_stored(thread, &call.arguments).await,
            own_tools::NOTES => self.note(&call.arguments).await?,
            own_tools::SKILL => self.activate(&call.arguments).await?,
            _ => self.call_other(thread, call).await?,
        })
    }

    async fn run_local(&self, thread: &Thread, tool: LocalTool, call: &OpenCall) -> Result<ToolOutput, Stop> {
        let mut read = match LocalCall::read(tool, &call.arguments) {
            Ok(read) => read,
            Err(problem) => return Ok(ToolOutput::failed(problem)),
        };
        if pacing::names_part(call) {
            read = read.showing_at_most(self.part_bytes(thread).await);
        }
        let workplace = &self.setup.workplace;
        let approval = decide(&read, &self.rules_now());
        // Nobody is asked about a change that would not come about.
        let edited = match &approval {
            Approval::Ask { .. } => tools::planned(&read, workplace).await,
            Approval::Allowed | Approval::Refused { .. } => Ok(None),
        };
        let edited = match edited {
            Ok(edited) => edited,
            Err(problem) => return Ok(ToolOutput::failed(problem)),
        };
        match self.approved(thread, call, approval, edited).await? {
            Ok(()) => Ok(tools::run(read, workplace, &self.cancelled()).await),
            Err(why) => Ok(ToolOutput::failed(why)),
        }
    }

    async fn call_other(&self, thread: &Thread, call: &OpenCall) -> Result<ToolOutput, Stop> {
        let other = OtherCall {
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            call: call.id.clone(),
            thread: thread.clone(),
        };
        let Some(effect) = self.others().await.effect_of(&call.tool) else {
            let words = format!("there is no tool {}: call one of those that are listed", call.tool);
            return Ok(ToolOutput::failed(words));
        };
        let approval = decide_other(&call.tool, effect, &self.rules_now());
        if let Err(why) = self.approved(thread, call, approval, None).await? {
            return Ok(ToolOutput::failed(why));
        }
        let cancelled = self.cancelled();
        let result = tokio::select! {
            result = (self.setup.others.call)(other) => result,
            () = cancelled.cancelled() => return Err(Stop::Cancelled),
        };
        Ok(match result.is_error {
            true => ToolOutput::failed(result.text),
            false => ToolOutput::said(result.text),
        })
    }

    async fn note(&self, arguments: &Value) -> Result<ToolOutput, Stop> {
        let Some(text) = arguments["text"].as_str() else { return Ok(missing("text")) };
        self.record(vec![SessionRecord::Noted { text: text.to_owned() }]).await?;
        Ok(ToolOutput::said("noted".to_owned()))
    }

    async fn activate(&self, arguments: &Value) -> Result<ToolOutput, Stop> {
        let Some(name) = arguments["name"].as_str() else { return Ok(missing("name")) };
        let Some(skill) = self.setup.instructions.skill(name) else {
            let names: Vec<&str> = self.setup.instructions.skills.iter().map(|skill| skill.name.as_str()).collect();
            return Ok(ToolOutput::failed(format!("there is no skill {name}: there are {}", names.join(", "))));
        };
        let text = skill.text.clone();
        self.record(vec![SessionRecord::SkillUsed { name: name.to_owned(), place: SkillPlace::InConversation }])
            .await?;
        Ok(ToolOutput::said(text))
    }

    /// Reads part of a stored result, or searches all that the thread may read.
    async fn read_stored(&self, thread: &Thread, arguments: &Value) -> ToolOutput {
        let number = |name: &str| arguments[name].as_u64().and_then(|number| usize::try_from(number).ok());
        let limit_bytes = number("limit").unwrap_or(READ_BYTES).min(self.part_bytes(thread).await);
        let pattern = arguments["pattern"].as_str().map(str::to_owned);
        let engine = &self.setup.engine;
        let asking = Some(thread.to_string());
        let Some(ref_id) = arguments["ref_id"].as_str() else {
            let Some(pattern) = pattern else { return missing("ref_id") };
            let find = FindInResults {
                session: SessionRef::Id(self.setup.session.clone()),
                thread: asking,
                pattern,
                passed_over: number("offset").unwrap_or(0),
                limit_bytes,
            };
            return match engine.find_in_results(&self.setup.who, &find).await {
                Ok(found) if found.content.is_empty() => ToolOutput::said(format!("no line matches in {} results", found.searched)),
                Ok(found) => {
                    let more = found.next.map(|next| format!("\n[more: call again with offset {next}]"));
                    ToolOutput::said(found.content + &more.unwrap_or_default())
                }
                Err(error) => ToolOutput::failed(error.to_string()),
            };
        };
        let portion = match (pattern, number("first_line"), number("last_line")) {
            (Some(pattern), first, _) => Portion::Matches { pattern, context: 2, first: first.unwrap_or(1) },
            (None, None, None) => Portion::Bytes { offset: number("offset").unwrap_or(0) },
            (None, first, last) => Portion::Lines { first: first.unwrap_or(1), last: last.unwrap_or(usize::MAX) },
        };
        let read = ReadResult { ref_id: ref_id.to_owned(), thread: asking, portion, limit_bytes };
        match engine.read_result(&self.setup.who, &read).await {
            Ok(part) => {
                let more =
                    part.next_offset.map(|next| format!("\n[more: offset {next} of {} bytes]", part.total_bytes));
                ToolOutput::said(part.no_match.unwrap_or(part.content) + &more.unwrap_or_default())
            }
            Err(error) => ToolOutput::failed(error.to_string()),
        }
    }

    /// Has the engine take in what a call gave, and keeps what the model is shown of it.
    pub(crate) async fn keep(&self, thread: &Thread, call: &OpenCall, output: ToolOutput) -> Result<(), Stop> {
        let result = OwnResult {
            call_id: call.id.clone(),
            tool: call.tool.clone(),
            arguments: call.arguments.to_string(),
            text: output.text.clone(),
            room: self.room_for(thread, call, &output.text).await,
        };
        let taken = self.setup.engine.take_in_own(&self.setup.who, &self.own(thread), result).await;
        let (shown, folded) = match taken {
            Ok(taken) => {
                let is_stored = taken.ref_id.is_some();
                let hint = if is_stored { self.how_to_read(thread, call, &output.text).await } else { String::new() };
                (taken.shown + &hint, taken.folded)
            }
            // What cannot be stored is shown as it is. The log is scrubbed in any case.
            Err(error) => {
                self.warn_once(format!("results are not offloaded: {error}"));
                (output.text, None)
            }
        };
        let is_error = output.outcome == ResultOutcome::Failed;
        let text = if shown.is_empty() { "(nothing)".to_owned() } else { shown };
        self.tell(AgentEvent::Result {
            thread: thread.clone(),
            call_id: call.id.clone(),
            tool: call.tool.clone(),
            is_error,
            text: text.clone(),
            edited: output.edited,
        });
        let entry =
            ThreadEntry::Result { call: call.id.clone(), tool: call.tool.clone(), text, outcome: output.outcome };
        let (changes, command) = (output.changes, output.command);
        self.record(vec![SessionRecord::Result { thread: thread.clone(), entry, changes, command }]).await?;
        match folded {
            None => Ok(()),
            Some(notice) => Err(Stop::BranchOver(Box::new(OverBranch {
                how: notice.reason.as_str().to_owned(),
                result: notice.result,
            }))),
        }
    }
}

/// Whether the thread is another one after a call of this tool.
fn ends_thread(tool: &str) -> bool {
    matches!(tool, own_tools::BRANCH_RETURN | own_tools::COMPACT_CONTEXT)
}

pub(crate) fn missing(field: &str) -> ToolOutput {
    ToolOutput::failed(format!("`{field}` is missing: call it again with it"))
}
