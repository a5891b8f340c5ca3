//! Snapshots: the messages that a session is resumed from after its agent has compacted them. A session has one, the
//! newest.

use infold_core::{Principal, Refusal, Scrubbed};
use infold_store::{EndedBranches, SessionKey, Snapshot};
use serde_json::Value;

use crate::{Engine, Error, Failure, SessionRef};

impl Engine {
    /// Stores the messages that a session is to be resumed from, in place of the previous ones. Their tokens are
    /// counted here, whatever the caller thinks they are.
    #[tracing::instrument(skip_all)]
    pub async fn save_snapshot(
        &self,
        who: &Principal,
        session: &SessionRef,
        messages: &[Value],
    ) -> Result<Snapshot, Error> {
        let found = self.require_session(who, session, EndedBranches::Nothing).await?;
        if found.ended_at_ms.is_some() {
            return Err(Refusal::SessionOver { session: found.id }.into());
        }
        let [messages] = self.scrub([Value::from(messages).to_string()]).await?;
        check_still_json(&messages)?;
        let snapshot = Snapshot { token_count: self.count(messages.as_str()), messages: messages.into_string() };

        let key = SessionKey { owner: found.owner, id: found.id };
        self.inner.store.save_snapshot(key, snapshot.clone()).await?;

        Ok(snapshot)
    }

    /// Reads what a session is to be resumed from; `None` if its agent has never compacted it.
    #[tracing::instrument(skip_all)]
    pub async fn snapshot(&self, who: &Principal, session: &SessionRef) -> Result<Option<Snapshot>, Error> {
        let found = self.require_session(who, session, EndedBranches::Nothing).await?;
        Ok(self.inner.store.snapshot(SessionKey { owner: found.owner, id: found.id }).await?)
    }
}

/// Refuses messages that scrubbing has broken: a secret that reaches over the end of a string takes the quote with it.
/// Such messages could not be read back, so they are refused now rather than lost later.
fn check_still_json(messages: &Scrubbed) -> Result<(), Error> {
    match serde_json::from_str::<Vec<Value>>(messages.as_str()) {
        Ok(_) => Ok(()),
        Err(_) => Err(Failure::Scrubbing(infold_core::ScrubError::Panicked).into()),
    }
}
