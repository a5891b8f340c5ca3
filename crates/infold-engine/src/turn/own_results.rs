//! Takes in what a tool of infold's own agent gave, as soon as it has run: the agent's log then holds what the model is
//! shown, and the rest is read back by its handle.

use infold_core::{BlobId, Mentions, Principal, Scrubbed, Thread};
use infold_store::{Edits, NewBlob, NewDecisions};

use super::take_in::{ResultsGiven, TakeIn};
use super::{OwnThread, Shaping};
use crate::intake::{NewResult, Offload, ShownResult};
use crate::{Engine, Error, Notice, random};

/// A result of a tool that infold's own agent has run.
#[derive(Debug, Clone)]
pub struct OwnResult {
    /// The id of the model's call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What it was called with, as JSON.
    pub arguments: String,
    /// All that it gave, not scrubbed yet.
    pub text: String,
    /// How much its thread has room for.
    pub room: ResultRoom,
}

/// How much of a result its thread has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultRoom {
    /// As much as the bounds for results allow.
    Usual,
    /// Little: what is not short is offloaded.
    Tight,
}

/// What became of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnResultTaken {
    /// What the model is shown.
    pub shown: String,
    /// The handle by which all of it is read back, if it was offloaded.
    pub ref_id: Option<String>,
    /// The result's thread, if that folded because the result did not fit, or had folded before.
    pub folded: Option<Notice>,
}

impl Engine {
    /// Takes in a result: without its secrets, offloaded if it is long or does not fit its branch, counted once by the id
    /// of its call. What was decided is on disk when this returns.
    #[tracing::instrument(skip_all)]
    pub async fn take_in_own(
        &self,
        who: &Principal,
        of: &OwnThread,
        result: OwnResult,
    ) -> Result<OwnResultTaken, Error> {
        let OwnResult { call_id, tool, arguments, text, room } = result;
        let texts = vec![text.clone()];
        let new = NewResult { call_id, tool, arguments, texts, remarks: None, is_all_text: true };
        let offload = match (self.inner.settings.turn.shaping, room) {
            (Shaping::On, ResultRoom::Usual) => Offload::Allowed,
            (Shaping::On, ResultRoom::Tight) => Offload::Tight,
            (Shaping::Off, _) => Offload::No,
        };
        let given = ResultsGiven::ByTool;
        let take_in =
            TakeIn { thread: of.thread.clone(), results: vec![new], offload, mentions: Mentions::default(), given };

        let taken = self.take_in(who, &of.session, take_in).await?;

        let shown = taken.results.into_iter().next().map(|(_, shown)| shown);
        let (shown, ref_id) = match shown {
            Some(ShownResult::Reference { text, blob }) => (text, Some(blob.to_string())),
            Some(ShownResult::Parts(parts)) => {
                (parts.into_iter().next().flatten().map_or(text, Scrubbed::into_string), None)
            }
            Some(ShownResult::AsItIs) | None => (text, None),
        };
        Ok(OwnResultTaken { shown, ref_id, folded: taken.folded.filter(|_| of.thread != Thread::Main) })
    }

    /// Stores texts that leave a thread, and gives the handles by which they are read back, in their order.
    #[tracing::instrument(skip_all)]
    pub async fn store_texts(
        &self,
        who: &Principal,
        of: &OwnThread,
        texts: Vec<(String, String)>,
    ) -> Result<Vec<String>, Error> {
        let (names, contents): (Vec<String>, Vec<String>) = texts.into_iter().unzip();
        let names = self.scrub_or_withhold(names).await?;
        let contents = self.scrub_or_withhold(contents).await?;
        let mut blobs = Vec::new();
        for (tool_name, content) in names.into_iter().zip(contents) {
            let id = BlobId::mint(random()?);
            blobs.push(NewBlob { id, tool_name, content, branch: of.thread.branch().cloned() });
        }
        let handles = blobs.iter().map(|blob| blob.id.to_string()).collect();

        let edited = NewDecisions { edits: Edits::Yes, ..NewDecisions::default() };
        self.store_with_blobs(who, &of.session, blobs, edited).await?;

        Ok(handles)
    }
}
