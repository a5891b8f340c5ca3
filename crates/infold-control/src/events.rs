//! Streams what happens to sessions, as server-sent events. A client that lost its connection sends the id of
//! the last event it has seen, gets the events after it, and misses nothing that is still stored.
//!
//! A stream is pulled by its reader, so one that is slow holds a bounded batch of events and no more.

use std::collections::VecDeque;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use infold_core::{Principal, SessionId};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;

use crate::control::Control;
use crate::error::ApiError;
use crate::extract::{Caller, Query, one_header};
use crate::moment::Moment;
use crate::shapes::event::EventRecord;

/// The header in which a client that reconnects sends the id of the last event it has seen.
pub(crate) const LAST_EVENT_ID: &str = "Last-Event-ID";
/// A stream is never silent for longer than this, so that both ends know that the other is there.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);
/// The largest id that the store can give an event.
const EVENT_ID_MAX: u64 = i64::MAX as u64;

/// Query parameters of the event stream.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsQuery {
    /// Events after the one with this id; those that come from now on if it is not given. The header
    /// Last-Event-ID does the same, and counts if both are there.
    after: Option<u64>,
    /// Events of this session only.
    session_id: Option<String>,
}

/// Streams the caller's events until the client leaves or the daemon shuts down.
pub(crate) async fn follow(
    State(control): State<Control>,
    Caller(who): Caller,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let session = control.session_in(&who, query.session_id.as_deref()).await?;
    let after = resume_id(&headers, query.after)?;
    let permit = control.streams.clone().try_acquire_owned().map_err(|_| all_in_use(&control))?;
    let after = match after {
        Some(after) => after,
        None => control.engine.newest_event().await?,
    };

    let reader = EventReader { control, who, session, after, waiting: VecDeque::new(), _permit: permit };
    let events = futures::stream::try_unfold(reader, EventReader::next);
    let keep_alive = KeepAlive::new().interval(HEARTBEAT_EVERY).text("heartbeat");
    Ok(Sse::new(events).keep_alive(keep_alive).into_response())
}

/// The id of the event after which the stream begins. The header wins over the query, because a browser that
/// reconnects repeats the query that it began with.
fn resume_id(headers: &HeaderMap, after: Option<u64>) -> Result<Option<u64>, ApiError> {
    let (field, id) = match one_header(headers, LAST_EVENT_ID)? {
        Some(text) => (LAST_EVENT_ID, Some(text.parse().unwrap_or(u64::MAX))),
        None => ("after", after),
    };
    match id {
        Some(id) if id > EVENT_ID_MAX => Err(ApiError::invalid(field, "must be the id of an event, as it came")),
        id => Ok(id),
    }
}

fn all_in_use(control: &Control) -> ApiError {
    let streams_max = control.settings.streams_max;
    let message = format!("All {streams_max} event streams are in use: close one, or try again later");
    ApiError::new(StatusCode::TOO_MANY_REQUESTS, "streams_exhausted", message).with("streams_max", streams_max)
}

/// One open stream, and how far it has got.
struct EventReader {
    control: Control,
    who: Principal,
    session: Option<SessionId>,
    /// The id of the last event that was fetched from the engine.
    after: u64,
    /// Events that were fetched and not yet sent, with their names.
    waiting: VecDeque<(&'static str, EventRecord)>,
    /// Frees the stream's place when it is dropped, however the stream ends.
    _permit: OwnedSemaphorePermit,
}

impl EventReader {
    /// The next event, with the reader that goes on after it; nothing once the daemon shuts down.
    ///
    /// A failure breaks the stream off: the client comes back with the last id it has seen.
    async fn next(mut self) -> Result<Option<(Event, Self)>, axum::Error> {
        while self.waiting.is_empty() {
            let shutdown = self.control.settings.shutdown.clone();
            let fetched = self.control.engine.events_after(&self.who, self.session.clone(), self.after);
            let fetched = tokio::select! {
                biased;
                () = shutdown.cancelled() => return Ok(None),
                fetched = fetched => fetched,
            };
            let fetched = fetched.map_err(|error| axum::Error::new(EventsLost(ApiError::from(error).code)))?;
            self.after = fetched.last().map_or(self.after, |last| last.id);
            self.waiting.extend(fetched.iter().map(|recorded| {
                let record = EventRecord {
                    id: recorded.id,
                    session_id: recorded.session.id.to_string(),
                    at: Moment(recorded.at_ms),
                    event: (&recorded.event).into(),
                };
                (recorded.event.name(), record)
            }));
        }
        let Some((name, record)) = self.waiting.pop_front() else { return Ok(None) };
        let event = Event::default().id(record.id.to_string()).event(name).json_data(&record)?;
        Ok(Some((event, self)))
    }
}

/// The next events could not be fetched; holds the error's code.
#[derive(Debug)]
struct EventsLost(&'static str);

impl std::fmt::Display for EventsLost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the next events could not be read: {}", self.0)
    }
}

impl std::error::Error for EventsLost {}
