//! What a client is sent while a call takes long: the server's progress and log lines, and a sign of life where there is
//! none.
//!
//! A server may say more than its client can read. Of progress the newest counts, log lines beyond the bound are lost, and a
//! client that does not read holds up nothing: its call still ends within its limit.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::timeout;

use super::Gateway;
use crate::client_line::ClientLine;
use crate::gateway::CallNotice;

/// Progress notifications of a call that its client is sent in a second, and log lines as many.
const PER_SECOND: u32 = 20;
/// How long a client may take to take a notification.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// What a client was sent of one call.
pub(super) struct CallProgress {
    heartbeat: Duration,
    next_beat: Instant,
    last: f64,
    /// The newest progress, if there was no room for it in its second.
    held: Option<Value>,
    reports: InSecond,
    lines: InSecond,
}

/// How many there were in the current second.
struct InSecond {
    since: Instant,
    count: u32,
}

impl InSecond {
    fn new() -> Self {
        Self { since: Instant::now(), count: 0 }
    }

    /// Counts one more, and says whether there is room for it.
    fn has_room(&mut self) -> bool {
        if self.since.elapsed() >= Duration::from_secs(1) {
            *self = Self::new();
        }
        self.count += 1;
        self.count <= PER_SECOND
    }

    /// When the next second begins.
    fn end(&self) -> Instant {
        self.since + Duration::from_secs(1)
    }
}

impl CallProgress {
    pub(super) fn new(heartbeat: Duration) -> Self {
        let now = Instant::now();
        // The first sign comes early: some clients give up a request whose answer has not begun.
        Self {
            heartbeat,
            next_beat: now + heartbeat / 3,
            last: 0.0,
            held: None,
            reports: InSecond::new(),
            lines: InSecond::new(),
        }
    }

    /// Waits until there is something to send, though the server says nothing new.
    pub(super) async fn due(&self) {
        let at = if self.held.is_some() { self.reports.end().min(self.next_beat) } else { self.next_beat };
        tokio::time::sleep_until(at.into()).await;
    }

    /// Sends what is due.
    pub(super) async fn go_on(&mut self, gateway: &Gateway, client: &ClientLine) {
        match self.held.take() {
            Some(progress) => self.report(gateway, client, &progress).await,
            None => self.say(client, self.last, None, None).await,
        }
    }

    /// Sends what was held back, before the answer ends it all.
    pub(super) async fn finish(&mut self, gateway: &Gateway, client: &ClientLine) {
        if let Some(progress) = self.held.take() {
            Box::pin(self.report(gateway, client, &progress)).await;
        }
    }

    /// Passes on what the server says, now or when its time has come.
    pub(super) async fn pass_on(&mut self, gateway: &Gateway, client: &ClientLine, notice: CallNotice) {
        match notice {
            CallNotice::Progress(params) if !self.reports.has_room() => self.held = Some(params),
            CallNotice::Progress(params) => self.report(gateway, client, &params).await,
            CallNotice::Log(params) => {
                if gateway.levels.wants(client, &params)
                    && self.lines.has_room()
                    && let Ok(params) = gateway.engine.clean_value(&params).await
                {
                    let _ = timeout(SEND_TIMEOUT, client.log(params)).await;
                }
            }
        }
    }

    async fn report(&mut self, gateway: &Gateway, client: &ClientLine, params: &Value) {
        self.held = None;
        let number = |key: &str| params.get(key).and_then(Value::as_f64);
        let message = match params.get("message").and_then(Value::as_str) {
            Some(message) => Some(gateway.scrubbed(message.to_owned()).await),
            None => None,
        };
        self.say(client, number("progress").unwrap_or(self.last), number("total"), message).await;
    }

    /// Sends one notification. Its figure is larger than the one before, whatever the server says.
    async fn say(&mut self, client: &ClientLine, done: f64, total: Option<f64>, message: Option<String>) {
        self.last = if done > self.last { done } else { self.last + 0.001 };
        let _ = timeout(SEND_TIMEOUT, client.report_progress(self.last, total, message)).await;
        self.next_beat = Instant::now() + self.heartbeat;
    }
}
