//! Stores decisions about model requests, so that every later prompt repeats them: replacements of results, notes,
//! restarts and more.

use infold_core::view::{BlockKey, Note, Replacement, Restart, ScriptedCall};
use infold_core::{Command, Principal, Scrubbed, SessionId};
use infold_store::{Edits, EndedBranches, Loaded, NewBlob, NewDecisions};

use super::known_session::KnownSession;
use crate::change::{Proposal, SessionChange};
use crate::{Engine, Error};

impl Engine {
    /// Stores what is sent in place of results, by the ids of their calls. The first replacement that is stored for a
    /// content stays. It is on disk when this returns.
    pub(super) async fn store_replacements(
        &self,
        who: &Principal,
        session: &SessionId,
        rewrites: Vec<(String, Replacement)>,
    ) -> Result<(), Error> {
        if rewrites.is_empty() {
            return Ok(());
        }
        self.save_decisions(who, session, NewDecisions { rewrites, edits: Edits::Yes, ..NewDecisions::default() }).await
    }

    /// Stores words of infold's that follow a result.
    pub(super) async fn store_note(&self, who: &Principal, session: &SessionId, note: Note) -> Result<(), Error> {
        self.save_decisions(
            who,
            session,
            NewDecisions { notes: vec![note], edits: Edits::Yes, ..NewDecisions::default() },
        )
        .await
    }

    /// Stores that threads were restarted at a place.
    pub(super) async fn store_restart(
        &self,
        who: &Principal,
        session: &SessionId,
        restart: Restart,
    ) -> Result<KnownSession, Error> {
        self.save_decisions(
            who,
            session,
            NewDecisions { restarts: vec![restart], edits: Edits::Yes, ..NewDecisions::default() },
        )
        .await?;
        self.known_session(who, session).await
    }

    /// Stores what infold's own tools answered, by digests of the calls, so that the tree stays the same if the client
    /// clears these answers. Secrets are taken out, because a result can hold more than infold's tool gave.
    pub(super) async fn store_answers(
        &self,
        who: &Principal,
        session: &SessionId,
        answers: Vec<(BlockKey, String)>,
    ) -> Result<KnownSession, Error> {
        let (calls, texts): (Vec<BlockKey>, Vec<String>) = answers.into_iter().unzip();
        let texts = self.scrub_or_withhold(texts).await?.into_iter().map(Scrubbed::into_string);
        let answers = calls.into_iter().zip(texts).collect();

        self.save_decisions(who, session, NewDecisions { answers, ..NewDecisions::default() }).await?;

        self.known_session(who, session).await
    }

    /// Stores the place of words that an open branch received and then went on working.
    pub(super) async fn store_continued(
        &self,
        who: &Principal,
        session: &SessionId,
        place: BlockKey,
    ) -> Result<KnownSession, Error> {
        self.save_decisions(who, session, NewDecisions { continued: vec![place], ..NewDecisions::default() }).await?;
        self.known_session(who, session).await
    }

    /// Stores a call of one of infold's tools that a script made, by the id of the call that ran the script, without
    /// secrets. It has to be called before the script gets its answer.
    pub async fn store_scripted(
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

        self.save_decisions(
            who,
            session,
            NewDecisions { scripted: vec![(run_by.to_owned(), call)], ..NewDecisions::default() },
        )
        .await
    }

    /// Stores that the session's model was sent something other than its client sent. It is called when the first plan
    /// with edits is about to be sent.
    pub(crate) async fn store_edited(&self, who: &Principal, session: &SessionId) -> Result<(), Error> {
        self.save_decisions(who, session, NewDecisions { edits: Edits::Yes, ..NewDecisions::default() }).await
    }

    /// Stores decisions, in one transaction.
    pub(super) async fn save_decisions(
        &self,
        who: &Principal,
        session: &SessionId,
        new: NewDecisions,
    ) -> Result<(), Error> {
        self.store_with_blobs(who, session, Vec::new(), new).await
    }

    /// Stores decisions, and the results that they offload, in one transaction.
    #[tracing::instrument(skip_all)]
    pub(super) async fn store_with_blobs(
        &self,
        who: &Principal,
        session: &SessionId,
        blobs: Vec<NewBlob>,
        new: NewDecisions,
    ) -> Result<(), Error> {
        let propose = |loaded: &Loaded| {
            // Decisions about the requests of a session are stored even if the session is over.
            let start = (loaded.session.version == 0).then_some(Command::Start);
            let commands = start.into_iter().collect();
            Ok(Proposal { blobs: blobs.clone(), new_decisions: new.clone(), ..Proposal::of(commands) })
        };
        self.change(&SessionChange::in_session(who, session, EndedBranches::Nothing), propose, |_, _| Ok(())).await
    }
}
