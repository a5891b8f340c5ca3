//! Asks a person whether a call may run, and keeps what was approved for longer.

use std::sync::PoisonError;

use infold_core::Thread;

use crate::agent::CodingAgent;
use crate::session::OpenCall;
use crate::setup::{ApprovalQuestion, ApprovalReply, WhoIsAsked};
use crate::stop::Stop;
use crate::tools::FileTexts;
use crate::tools::approval::{Approval, ApprovalMode, ApprovalRules};

impl CodingAgent {
    /// What may be done without asking, as of now.
    pub fn rules_now(&self) -> ApprovalRules {
        self.approvals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes what may be done without asking, from the next call on. What a person has approved meanwhile stays approved.
    pub fn approve_by(&self, mode: ApprovalMode) {
        self.approvals.lock().unwrap_or_else(PoisonError::into_inner).mode = mode;
    }

    /// Whether a call may run; if not, the error is for the model to read.
    pub(crate) async fn approved(
        &self,
        thread: &Thread,
        call: &OpenCall,
        approval: Approval,
        edited: Option<FileTexts>,
    ) -> Result<Result<(), String>, Stop> {
        let (what, why, lasting) = match (approval, &self.setup.asked) {
            (Approval::Allowed, _) => return Ok(Ok(())),
            (Approval::Refused { why }, _) => return Ok(Err(why)),
            (Approval::Ask { what, why, .. }, WhoIsAsked::Nobody) => {
                let advice = "nobody is there to be asked. Do without it, or say what you would need";
                return Ok(Err(format!("{what}: {why}, and {advice}")));
            }
            (Approval::Ask { what, why, lasting }, WhoIsAsked::Person(_)) => (what, why, lasting),
        };
        let question = ApprovalQuestion {
            thread: thread.clone(),
            call_id: call.id.clone(),
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            what,
            why,
            lasting: lasting.clone(),
            edited,
        };
        match self.ask_person(question).await? {
            ApprovalReply::Once => Ok(Ok(())),
            ApprovalReply::Session => {
                self.approvals.lock().unwrap_or_else(PoisonError::into_inner).granted.extend(lasting);
                Ok(Ok(()))
            }
            ApprovalReply::Refused { words: None } => {
                Ok(Err("the person refused this call: ask what to do instead, or do without it".to_owned()))
            }
            ApprovalReply::Refused { words: Some(words) } => {
                Ok(Err(format!("the person refused this call, and says: {words}")))
            }
        }
    }

    async fn ask_person(&self, question: ApprovalQuestion) -> Result<ApprovalReply, Stop> {
        let WhoIsAsked::Person(ask) = &self.setup.asked else { return Ok(ApprovalReply::Refused { words: None }) };
        let cancelled = self.cancelled();
        tokio::select! {
            reply = ask(question) => Ok(reply),
            () = cancelled.cancelled() => Err(Stop::Cancelled),
        }
    }
}
