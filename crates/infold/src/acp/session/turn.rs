//! A turn: a prompt is said, what follows is shown, and the editor learns how it ended.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::v1::schema::{
    ContentChunk, Cost, NoticeSeverity, PromptResponse, SessionUpdate, StopReason, UsageUpdate,
};
use agent_client_protocol::{Error, RequestCancellation};
use infold_agent::{Stop, ThreadEntry};
use infold_core::compaction::CompactResult;
use infold_core::grouped;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use super::{EditorSession, Talk};
use crate::acp::Editor;
use crate::acp::calls::fenced;
use crate::acp::commands;
use crate::acp::errors::{end_of, error_of, not_open, under_way};
use crate::acp::permission;
use crate::acp::replay::{Replayed, replayed};
use crate::agent::{FaceEvent, PendingQuestion, RunEnding};

/// How often a cancelled turn is interrupted until it ends. A run that is only just beginning takes no notice.
const INTERRUPT_EVERY: Duration = Duration::from_millis(20);

/// A turn that has begun.
pub struct EditorTurn {
    session: Arc<EditorSession>,
    talk: OwnedMutexGuard<Option<Talk>>,
    words: ThreadEntry,
    cancelled: CancellationToken,
    /// The editor has cancelled the request, which means the same.
    withdrawn: RequestCancellation,
}

impl EditorTurn {
    /// Begins a turn, if none is under way.
    pub fn begin(
        session: Arc<EditorSession>,
        words: ThreadEntry,
        withdrawn: RequestCancellation,
    ) -> Result<Self, Error> {
        let talk = Arc::clone(&session.talk).try_lock_owned().map_err(|_| under_way())?;
        let cancelled = session.fresh_turn();
        Ok(Self { session, talk, words, cancelled, withdrawn })
    }

    /// Takes it to its end.
    pub async fn take(self, editor: &Editor) -> Result<PromptResponse, Error> {
        let Self { session, mut talk, words, cancelled, withdrawn } = self;
        let talk = talk.as_mut().ok_or_else(|| not_open(&session.id.0))?;
        let called_off = async {
            withdrawn.cancelled().await;
            session.cancel();
            std::future::pending::<()>().await;
        };
        let worked = async {
            match commands::typed(words_in(&words)) {
                Some(command) => command?.carry_out(&session, talk, &cancelled, editor).await,
                None => {
                    talk.conversation.say(vec![words.clone()]).await.map_err(|error| error_of(&error))?;
                    talk.follow(&session, &cancelled, editor).await
                }
            }
        };
        tokio::select! {
            ended = worked => Ok(PromptResponse::new(ended?)),
            () = called_off => Ok(PromptResponse::new(StopReason::Cancelled)),
        }
    }
}

impl Talk {
    /// Shows what the agent does until it rests.
    pub async fn follow(
        &mut self,
        session: &EditorSession,
        cancelled: &CancellationToken,
        editor: &Editor,
    ) -> Result<StopReason, Error> {
        let ended = loop {
            if cancelled.is_cancelled() {
                self.conversation.interrupt();
            }
            let event = tokio::select! {
                event = self.events.recv() => event,
                () = interruption_due(cancelled) => continue,
            };
            match event {
                Some(FaceEvent::Agent(event)) => {
                    self.shown.take_in(event).into_iter().for_each(|update| session.tell(editor, update));
                }
                Some(FaceEvent::Question(pending)) => self.ask(session, pending, cancelled, editor),
                Some(FaceEvent::Ended(ended)) => {
                    if !self.goes_on(cancelled).await? {
                        break ended;
                    }
                }
                Some(FaceEvent::CompactEnded(compacted)) => {
                    session.say(editor, &fenced(&compacted_words(&compacted)));
                    if !self.goes_on(cancelled).await? {
                        break Ok(());
                    }
                }
                // The conversation itself has a sender.
                None => break Ok(()),
            }
        };
        self.questions.shutdown().await;
        self.shown.broke_off().into_iter().for_each(|update| session.tell(editor, update));
        self.tell_usage(session, editor).await;
        match ended {
            _ if cancelled.is_cancelled() => Ok(StopReason::Cancelled),
            Ok(()) => Ok(StopReason::EndTurn),
            Err(stop) => {
                if let Stop::Limit(why) | Stop::Full(why) = &stop {
                    session.tell(editor, self.shown.notice(NoticeSeverity::Warning, why));
                }
                end_of(&stop)
            }
        }
    }

    /// A run has ended. Returns whether another one has begun, with words that were said at its very end.
    async fn goes_on(&mut self, cancelled: &CancellationToken) -> Result<bool, Error> {
        let ending = if cancelled.is_cancelled() { RunEnding::CutShort } else { RunEnding::Rested };
        self.conversation.run_ended(ending).await.map_err(|error| error_of(&error))
    }

    /// Has the editor ask the person. Meanwhile the agent waits, and others of its branches do not.
    fn ask(
        &mut self,
        session: &EditorSession,
        pending: PendingQuestion,
        cancelled: &CancellationToken,
        editor: &Editor,
    ) {
        let PendingQuestion { question, reply } = pending;
        self.shown.asked(&question.call_id, &question.tool, &question.arguments);
        let request = permission::request(session.id.clone(), &question, &session.folder);
        let asked = editor.send_request(request);
        let cancelled = cancelled.clone();
        // A reply that is dropped refuses the call.
        self.questions.spawn(async move {
            let answer = tokio::select! {
                answer = asked.block_task() => answer,
                () = cancelled.cancelled() => return,
            };
            match answer.as_ref().map(permission::reply) {
                Ok(Some(answered)) => drop(reply.send(answered)),
                Ok(None) => cancelled.cancel(),
                Err(error) => tracing::warn!(%error, "the editor did not ask, and the call is refused"),
            }
        });
    }

    /// Tells the editor how full the context is and what the session cost: the figures of `infold show`.
    pub async fn tell_usage(&self, session: &EditorSession, editor: &Editor) {
        let Ok(figures) = self.conversation.figures().await else { return };
        let Some((tokens, window_tokens, _)) = figures.fill() else { return };
        let totals = figures.totals;
        let cost = (totals.priced > 0).then(|| Cost::new(totals.cost_micros as f64 / 1_000_000.0, "USD"));
        let usage = UsageUpdate::new(tokens, window_tokens).cost(cost);
        session.tell(editor, SessionUpdate::UsageUpdate(usage));
    }

    /// Shows all that happened in the session so far, to an editor that has nothing of it.
    async fn replay(&mut self, session: &EditorSession, editor: &Editor) -> anyhow::Result<()> {
        for happened in replayed(self.conversation.log().await?.log) {
            match happened {
                Replayed::Words(words) => {
                    session.tell(editor, SessionUpdate::UserMessageChunk(ContentChunk::new(words.into())));
                }
                Replayed::Event(event) => {
                    self.shown.take_in(event).into_iter().for_each(|update| session.tell(editor, update));
                }
                Replayed::Opened { branch_id, parent, call_id } => self.shown.opened(branch_id, &parent, call_id),
            }
        }
        self.shown.broke_off().into_iter().for_each(|update| session.tell(editor, update));
        if self.conversation.has_work()? {
            let words = "This session broke off in the middle of its work: /continue goes on with it.";
            session.tell(editor, self.shown.notice(NoticeSeverity::Info, words));
        }
        self.tell_usage(session, editor).await;
        Ok(())
    }
}

impl EditorSession {
    /// Shows all that happened in the session so far.
    pub async fn replay(&self, editor: &Editor) -> Result<(), Error> {
        let mut talk = self.talk.lock().await;
        let talk = talk.as_mut().ok_or_else(|| not_open(&self.id.0))?;
        talk.replay(self, editor).await.map_err(|error| error_of(&error))
    }
}

/// What became of a compaction.
fn compacted_words(compacted: &Result<CompactResult, String>) -> String {
    match compacted {
        Err(why) => format!("nothing was changed: {why}"),
        Ok(result) => format!(
            "{} tokens became {}, {} messages became {}: {}",
            grouped(result.before_tokens),
            grouped(result.after_tokens),
            result.before_msg_count,
            result.after_msg_count,
            result.strategies_run.join(", ")
        ),
    }
}

/// Waits until a turn has to be interrupted, or has to be once more.
async fn interruption_due(cancelled: &CancellationToken) {
    match cancelled.is_cancelled() {
        true => tokio::time::sleep(INTERRUPT_EVERY).await,
        false => cancelled.cancelled().await,
    }
}

/// What a prompt says.
fn words_in(prompt: &ThreadEntry) -> &str {
    match prompt {
        ThreadEntry::User { text, .. } => text,
        ThreadEntry::Assistant { .. }
        | ThreadEntry::Reasoning { .. }
        | ThreadEntry::Call { .. }
        | ThreadEntry::Result { .. } => "",
    }
}
