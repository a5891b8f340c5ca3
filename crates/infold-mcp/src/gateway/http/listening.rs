//! The stream on which a server of the older era says what belongs to no request. It is opened where the server claims to
//! have something to say, and opened again when it ends, less and less often.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderValue;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::HttpLeg;
use super::reading::{RETRY_MS, StreamPlace, is_stream};
use super::sse::{EventData, SseReader};
use crate::gateway::era::{LinkEra, ServerAbout};
use crate::gateway::listing::ListKind;
use crate::gateway::message;
use crate::gateway::options::one_more;
use crate::gateway::pace::Pace;
use crate::gateway::router::Source;

/// The longest wait between two attempts.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// A stream that has lived this long was a good one, and the next one is opened soon.
const GOOD_LIFE: Duration = Duration::from_secs(30);

/// Whether the stream may be opened again.
enum Next {
    Again,
    Never,
}

impl HttpLeg {
    /// Listens to the server in the background, for as long as its session lasts.
    pub(in crate::gateway) fn listen(self: &Arc<Self>, about: &ServerAbout) {
        if !has_something_to_say(about) {
            return;
        }
        let (leg, over) = (self.clone(), self.session().over);
        self.parts.tasks.spawn(async move {
            let listening = over.run_until_cancelled(leg.listen_on());
            leg.closing.run_until_cancelled(listening).await;
        });
    }

    async fn listen_on(self: &Arc<Self>) {
        let mut place = StreamPlace::default();
        let mut pause = Duration::from_millis(RETRY_MS);
        loop {
            let begin = Instant::now();
            if let Next::Never = self.listen_once(&mut place).await {
                return;
            }
            pause = if begin.elapsed() >= GOOD_LIFE { place.pause() } else { (pause * 2).min(PAUSE_MAX) };
            sleep(pause).await;
        }
    }

    async fn listen_once(self: &Arc<Self>, place: &mut StreamPlace) -> Next {
        let mut request = self.to(Method::GET, LinkEra::Legacy);
        if let Some(id) = place.last_id.as_deref().and_then(|id| HeaderValue::from_str(id).ok()) {
            request.headers.insert("last-event-id", id);
        }
        let Ok(mut response) = self.send(request).await else { return Next::Again };
        let status = response.status();
        if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
            // The server has no such stream, or does not know the session any more, which the next request will show.
            return Next::Never;
        }
        if !status.is_success() || !is_stream(&response) {
            return Next::Again;
        }
        let mut reader = SseReader::new(self.parts.message_bytes_max);
        let mut pace = Pace::new();
        while let Ok(Some(bytes)) = response.chunk().await {
            // What says nothing, such as comments, counts too.
            pace.bytes(bytes.len()).await;
            for event in reader.push(&bytes) {
                place.pass(&event);
                match event.data {
                    EventData::None => {}
                    EventData::Whole(data) => {
                        self.take(message::read(data).await, Source::Connection);
                        pace.message(0).await;
                    }
                    EventData::TooLong => one_more(&self.parts.router.counters.too_long),
                }
            }
        }
        Next::Again
    }
}

/// Whether a server claims that it says something without being asked.
fn has_something_to_say(about: &ServerAbout) -> bool {
    let of = |listing: ListKind| about.capabilities.get(listing.capability());
    let is_set = |value: Option<&Value>, key: &str| value.and_then(|value| value.get(key)) == Some(&Value::Bool(true));
    let changes =
        [ListKind::Tools, ListKind::Prompts, ListKind::Resources].map(|listing| is_set(of(listing), "listChanged"));
    changes.contains(&true)
        || is_set(of(ListKind::Resources), "subscribe")
        || about.capabilities.get("logging").is_some_and(Value::is_object)
}
