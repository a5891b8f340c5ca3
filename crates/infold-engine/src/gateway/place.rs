//! Whose a call of another server's tool is: found before the call is made, and again for its result.

use std::sync::Arc;

use infold_core::{Principal, Refusal, Session, SessionId, Thread};
use infold_store::{SessionKey, Target};

use super::CallPlace;
use crate::notices::notice;
use crate::open::ended_branches_for;
use crate::{Engine, Error};

/// A place, as far as it could be found.
#[derive(Debug, Clone)]
pub(super) enum FoundPlace {
    /// The proxy counts the result in this thread, unless the gateway offloads it.
    Proxied { session: SessionId, thread: Thread },
    /// The gateway counts the result.
    Counted(CountedPlace),
    /// The result is counted in no thread.
    Nowhere { reason: &'static str },
}

/// A thread in which the gateway counts a result.
#[derive(Debug, Clone)]
pub(super) struct CountedPlace {
    pub(super) session: SessionId,
    /// The thread; `None` is the active one.
    pub(super) thread: Option<Thread>,
    /// How it was found.
    pub(super) by: &'static str,
}

impl Engine {
    /// Says whether a call may be made: its session and its branch must not be over. If the store cannot be read, it may.
    #[tracing::instrument(level = "debug", skip_all)]
    pub async fn admit_call(&self, who: &Principal, place: &CallPlace) -> Result<(), Error> {
        let (session, thread) = match place {
            // Nothing bounds the main thread.
            CallPlace::Proxy { thread: Thread::Main, .. } => return Ok(()),
            CallPlace::Proxy { session, thread, .. } => (session, Some(thread.clone())),
            CallPlace::Meta { session, branch } => {
                (session, branch.as_deref().map(|branch| self.thread(branch)).transpose()?)
            }
            CallPlace::Script | CallPlace::OnlyOpen | CallPlace::Nobody => return Ok(()),
        };
        match self.session_now(who, session, thread.as_ref()).await {
            Ok(Some(found)) => match check_open(&found, thread.as_ref()) {
                // The proxy will open it, as the transcript says.
                Err(Refusal::BranchNotFound { .. }) if matches!(place, CallPlace::Proxy { .. }) => Ok(()),
                checked => Ok(checked?),
            },
            Ok(None) => Ok(()),
            Err(error) => {
                tracing::warn!(%error, "whether a call's branch is open could not be found out");
                Ok(())
            }
        }
    }

    /// A session with what is held of it, as it was a moment ago at most. A branch that is not open is read once more,
    /// because it may have ended long ago.
    async fn session_now(
        &self,
        who: &Principal,
        session: &SessionId,
        thread: Option<&Thread>,
    ) -> Result<Option<Arc<Session>>, Error> {
        let known = self.known_now(who, session).await?;
        let is_open = |session: &Session, thread: &Thread| {
            thread.branch().is_none_or(|id| session.branches.get(id).is_some_and(|branch| branch.is_open()))
        };
        match (known, thread) {
            (Some(known), Some(thread)) if !is_open(&known, thread) => {
                let key = SessionKey { owner: who.owner.clone(), id: session.clone() };
                let found = Box::pin(self.find_session(Target::Session(key), ended_branches_for(Some(thread))));
                Ok(found.await?.map(Arc::new))
            }
            (known, _) => Ok(known),
        }
    }

    /// Finds the place of a result.
    pub(super) async fn find_place(&self, who: &Principal, place: &CallPlace) -> Result<FoundPlace, Error> {
        Ok(match place {
            CallPlace::Proxy { session, thread, .. } => {
                FoundPlace::Proxied { session: session.clone(), thread: thread.clone() }
            }
            CallPlace::Meta { session, branch } => {
                let thread = branch.as_deref().map(|branch| self.thread(branch)).transpose()?;
                FoundPlace::Counted(CountedPlace { session: session.clone(), thread, by: "meta" })
            }
            CallPlace::OnlyOpen => match self.inner.store.only_open_branch(who.owner.clone()).await {
                Ok(Some((session, branch))) => {
                    let (session, thread) = (session.id, Some(Thread::Branch(branch)));
                    FoundPlace::Counted(CountedPlace { session, thread, by: "only_open" })
                }
                Ok(None) => FoundPlace::Nowhere { reason: "not one single branch is open" },
                Err(error) => {
                    tracing::warn!(%error, "the only open branch could not be looked for");
                    FoundPlace::Nowhere { reason: "the store could not be read" }
                }
            },
            CallPlace::Script => FoundPlace::Nowhere { reason: "a script made the call" },
            CallPlace::Nobody => FoundPlace::Nowhere { reason: "nothing says which session made the call" },
        })
    }
}

/// Refuses a call from a session or a branch that is over.
fn check_open(session: &Session, thread: Option<&Thread>) -> Result<(), Refusal> {
    if session.ended_at_ms.is_some() {
        return Err(Refusal::SessionOver { session: session.id.clone() });
    }
    let Some(id) = thread.and_then(Thread::branch) else { return Ok(()) };
    match session.branches.get(id) {
        Some(branch) if branch.is_open() => Ok(()),
        Some(branch) => {
            let result = notice(session, id).map(|notice| notice.result).unwrap_or_default();
            let (parent, status) = (branch.parent.clone(), branch.status);
            Err(Refusal::BranchOver { branch: id.clone(), parent, status, result })
        }
        None => Err(Refusal::BranchNotFound { branch: id.to_string() }),
    }
}
