//! Sessions of clients that give no ids: they are found by how their conversations begin.

use std::collections::{HashMap, VecDeque};
use std::sync::PoisonError;

use infold_core::{Owner, Principal, SessionId};
use infold_store::SessionKey;

use crate::{Engine, Error};

/// How many prefixes are held in memory; the oldest are dropped first.
const HELD_MAX: usize = 8_192;

/// Prefixes of conversations that this process has seen, with their sessions.
#[derive(Debug, Default)]
pub(crate) struct KnownConversations {
    sessions: HashMap<(Owner, [u8; 32]), SessionId>,
    order: VecDeque<(Owner, [u8; 32])>,
}

impl KnownConversations {
    /// Finds the longest of these prefixes that is held: its index, and its session.
    fn find(&self, owner: &Owner, digests: &[[u8; 32]]) -> Option<(usize, SessionId)> {
        let held = |at: &usize| self.sessions.contains_key(&(owner.clone(), digests[*at]));
        let at = (0..digests.len()).rev().find(held)?;
        self.sessions.get(&(owner.clone(), digests[at])).map(|session| (at, session.clone()))
    }

    /// Holds a prefix of a session's conversation. Returns whether that is new.
    fn hold(&mut self, owner: &Owner, digest: [u8; 32], session: &SessionId) -> bool {
        let key = (owner.clone(), digest);
        match self.sessions.insert(key.clone(), session.clone()) {
            Some(before) => before != *session,
            None => {
                self.order.push_back(key);
                if self.order.len() > HELD_MAX
                    && let Some(oldest) = self.order.pop_front()
                {
                    self.sessions.remove(&oldest);
                }
                true
            }
        }
    }
}

impl Engine {
    /// Finds the session that a conversation belongs to, by the longest prefix of it that is known. `digests` are of
    /// its prefixes, the shortest first.
    pub(super) async fn conversation_by_prefix(
        &self,
        who: &Principal,
        digests: &[[u8; 32]],
    ) -> Result<Option<SessionId>, Error> {
        let held = self.inner.prefixes.lock().unwrap_or_else(PoisonError::into_inner).find(&who.owner, digests);
        let longer = held.as_ref().map_or(0, |(at, _)| at + 1);
        if longer == digests.len() {
            return Ok(held.map(|(_, session)| session));
        }
        // Another process, or this one before a restart, may have stored a longer prefix.
        let stored = self.inner.store.find_by_prefix(who.owner.clone(), digests[longer..].to_vec()).await?;
        Ok(stored.or(held.map(|(_, session)| session)))
    }

    /// Remembers which session a conversation with this prefix belongs to. It is written to disk only once something
    /// else is stored of the session: before that there is nothing to find again.
    pub(super) async fn store_conversation(
        &self,
        who: &Principal,
        digest: [u8; 32],
        session: &SessionId,
    ) -> Result<(), Error> {
        let new = self.inner.prefixes.lock().unwrap_or_else(PoisonError::into_inner).hold(&who.owner, digest, session);
        if new {
            let key = SessionKey { owner: who.owner.clone(), id: session.clone() };
            self.inner.store.store_prefix(key, digest).await?;
        }
        Ok(())
    }
}
