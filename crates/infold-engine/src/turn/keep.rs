//! Decisions of the proxy, kept for ever: bytes that stand for a result, notes, and new starts.

use infold_core::view::{BlockKey, Note, Replacement, Restart, ScriptedCall};
use infold_core::{Command, Principal, Scrubbed, SessionId};
use infold_store::{EndedBranches, Folds, Loaded, NewBlob, NewDecisions};

use super::known_session::KnownSession;
use crate::change::{Proposal, SessionChange};
use crate::{Engine, Error};

impl Engine {
    /// Keeps what is sent in place of results, by the ids of their calls. The first that was kept for a
    /// content stays; what is kept is on disk when this returns.
    pub(super) async fn keep_replacements(
        &self,
        who: &Principal,
        session: &SessionId,
        rewrites: Vec<(String, Replacement)>,
    ) -> Result<(), Error> {
        if rewrites.is_empty() {
            return Ok(());
        }
        self.keep(who, session, NewDecisions { rewrites, folds: Folds::Yes, ..NewDecisions::default() }).await
    }

    /// Keeps words that were put behind a result.
    pub(super) async fn keep_note(&self, who: &Principal, session: &SessionId, note: Note) -> Result<(), Error> {
        self.keep(who, session, NewDecisions { notes: vec![note], folds: Folds::Yes, ..NewDecisions::default() }).await
    }

    /// Keeps that threads were started anew.
    pub(super) async fn keep_restart(
        &self,
        who: &Principal,
        session: &SessionId,
        restart: Restart,
    ) -> Result<KnownSession, Error> {
        self.keep(who, session, NewDecisions { restarts: vec![restart], folds: Folds::Yes, ..NewDecisions::default() })
            .await?;
        self.known_session(who, session).await
    }

    /// Keeps what our own tools answered, by what tells the calls from others, so that the tree stays what it is
    /// when the client clears these answers. Secrets are taken out: a result can hold more than our tool gave.
    pub(super) async fn keep_answers(
        &self,
        who: &Principal,
        session: &SessionId,
        answers: Vec<(BlockKey, String)>,
    ) -> Result<KnownSession, Error> {
        let (calls, texts): (Vec<BlockKey>, Vec<String>) = answers.into_iter().unzip();
        let texts = self.scrub_list(texts).await?.into_iter().map(Scrubbed::into_string);
        let answers = calls.into_iter().zip(texts).collect();

        self.keep(who, session, NewDecisions { answers, ..NewDecisions::default() }).await?;

        self.known_session(who, session).await
    }

    /// Keeps that an open branch heard words and went on, by their place.
    pub(super) async fn keep_heard(
        &self,
        who: &Principal,
        session: &SessionId,
        place: BlockKey,
    ) -> Result<KnownSession, Error> {
        self.keep(who, session, NewDecisions { heard: vec![place], ..NewDecisions::default() }).await?;
        self.known_session(who, session).await
    }

    /// Keeps a call of one of our tools that a script made, by the id of the call that ran the script, without secrets.
    /// To be called before the script gets its answer.
    pub async fn keep_scripted(
        &self,
        who: &Principal,
        session: &SessionId,
        run_by: &str,
        call: ScriptedCall,
    ) -> Result<(), Error> {
        let texts = self.scrub_list(vec![call.arguments, call.answer]).await?;
        let mut texts = texts.into_iter().map(Scrubbed::into_string);
        let [arguments, answer] = [(); 2].map(|()| texts.next().unwrap_or_default());
        let call = ScriptedCall { tool: call.tool, arguments, answer };

        self.keep(who, session, NewDecisions { scripted: vec![(run_by.to_owned(), call)], ..NewDecisions::default() })
            .await
    }

    /// Keeps that the session's model was sent something else than its client sent. To be called once, when
    /// a plan with edits is about to be sent and the facts do not say so yet.
    pub(super) async fn keep_folded(&self, who: &Principal, session: &SessionId) -> Result<(), Error> {
        self.keep(who, session, NewDecisions { folds: Folds::Yes, ..NewDecisions::default() }).await
    }

    async fn keep(&self, who: &Principal, session: &SessionId, keep: NewDecisions) -> Result<(), Error> {
        self.keep_beside(who, session, Vec::new(), keep).await
    }

    /// Keeps decisions, and what they have put elsewhere, in one go.
    #[tracing::instrument(skip_all)]
    pub(super) async fn keep_beside(
        &self,
        who: &Principal,
        session: &SessionId,
        blobs: Vec<NewBlob>,
        keep: NewDecisions,
    ) -> Result<(), Error> {
        let propose = |loaded: &Loaded| {
            // What was decided about the requests of a session that is over is kept all the same.
            let start = (loaded.session.version == 0).then_some(Command::Start);
            let commands = start.into_iter().collect();
            Ok(Proposal { blobs: blobs.clone(), keep: keep.clone(), ..Proposal::of(commands) })
        };
        self.change(&SessionChange::in_session(who, session, EndedBranches::Nothing), propose, |_, _| Ok(())).await
    }
}
