//! What the handlers share, and what can be set about this surface. The values come from the program;
//! none has a default here.

use std::sync::Arc;

use axum::body::Bytes;
use infold_core::{Principal, SessionId};
use infold_engine::{ConfiguredServer, Engine, SessionRef};
use prometheus::Registry;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::error::ApiError;
use crate::shapes::session::ContextRoom;

/// How many transcripts to fork from may be in memory at once; further requests wait.
const FORKS_AT_ONCE_MAX: usize = 4;

/// Settings of the JSON API and its sibling pages. The program fills in every field.
#[derive(Debug, Clone)]
pub struct ControlSettings {
    /// Event streams that may be open at once; one more is refused with 429.
    pub streams_max: usize,
    /// Largest request body; a larger one is refused with 413.
    pub body_bytes_max: usize,
    /// Largest body with a transcript to fork from; a larger one is refused with 413.
    pub transcript_bytes_max: usize,
    /// What the size of a session's main thread is measured against.
    pub room: ContextRoom,
    /// The other MCP servers of the settings, in their order.
    pub servers: Arc<[ConfiguredServer]>,
    /// The metrics that `/metrics` prints.
    pub registry: Registry,
    /// Cancelled at shutdown: ends the event streams, which never end by themselves.
    pub shutdown: CancellationToken,
}

/// The state that all handlers share. Clones share the same permits.
#[derive(Clone)]
pub(crate) struct Control {
    pub(crate) engine: Engine,
    pub(crate) settings: ControlSettings,
    /// One permit for each event stream that may still be opened.
    pub(crate) streams: Arc<Semaphore>,
    /// One permit for each transcript that may be read at once, because each is held in memory as a whole.
    pub(crate) forks: Arc<Semaphore>,
    /// The OpenAPI description as JSON text, made once.
    pub(crate) description: Bytes,
}

impl Control {
    /// The session that a caller means by an id or its first characters.
    pub(crate) async fn session(&self, who: &Principal, typed: &str) -> Result<SessionRef, ApiError> {
        Ok(SessionRef::Id(self.engine.resolve_session(who, typed).await?))
    }

    /// As [`Self::session`], for a parameter that may be absent.
    pub(crate) async fn session_in(&self, who: &Principal, typed: Option<&str>) -> Result<Option<SessionId>, ApiError> {
        match typed {
            Some(typed) => Ok(Some(self.engine.resolve_session(who, typed).await?)),
            None => Ok(None),
        }
    }

    pub(crate) fn new(engine: Engine, settings: ControlSettings, description: Bytes) -> Self {
        let streams_max = settings.streams_max.min(Semaphore::MAX_PERMITS);
        let (streams, forks) = (Arc::new(Semaphore::new(streams_max)), Arc::new(Semaphore::new(FORKS_AT_ONCE_MAX)));
        Self { engine, settings, streams, forks, description }
    }
}
