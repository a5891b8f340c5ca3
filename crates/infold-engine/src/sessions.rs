//! Lists of sessions, for people and programs that look around.

use infold_core::Principal;
use infold_store::{SessionQuery, SessionRow};

use crate::{Engine, Error};

impl Engine {
    /// The caller's sessions, newest activity first.
    pub async fn sessions(&self, who: &Principal, offset: usize, limit: usize) -> Result<Vec<SessionRow>, Error> {
        let query = SessionQuery { owner: who.owner.clone(), offset, limit };
        Ok(self.inner.store.sessions(query).await?)
    }
}
