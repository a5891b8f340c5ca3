//! How much each client wants to hear of what servers log. A server is asked for what the client wants that wants most, and
//! each client gets only what it asked for itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::Gateway;
use super::offers::{Offer, may_have};
use crate::client_line::{ClientAsker, ClientLine};
use crate::gateway::{CallOptions, LinkEra, ServerLink};

/// How long a server may take to note a level.
const LEVEL_TIMEOUT_MS: u64 = 5_000;
/// The levels of the protocol, from the one with most lines.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
/// The place of the level from which a client of the older era gets lines that has asked for none.
const UNASKED: usize = 1;

/// What clients of the older era have asked for, by their sessions.
#[derive(Default)]
pub(super) struct LogLevels(Mutex<HashMap<Arc<str>, AskedLevel>>);

struct AskedLevel {
    /// Its place among the levels.
    level: usize,
    client: ClientAsker,
}

impl LogLevels {
    fn set(&self, client: &ClientLine, level: &str) {
        let (Some(session), Some(level)) = (client.session(), place_of(level)) else { return };
        let mut all = self.all();
        all.retain(|_, asked| !asked.client.is_gone());
        all.insert(session, AskedLevel { level, client: client.asker() });
    }

    /// The level that servers are to log at; `None` if nobody has asked.
    fn of_servers(&self) -> Option<&'static str> {
        let all = self.all();
        let present = all.values().filter(|asked| !asked.client.is_gone());
        present.map(|asked| asked.level).min().and_then(|level| LEVELS.get(level).copied())
    }

    /// Whether a client wants a line.
    pub(super) fn wants(&self, client: &ClientLine, line: &Value) -> bool {
        let of_line = line.get("level").and_then(Value::as_str).and_then(place_of).unwrap_or(UNASKED);
        let wanted = if client.is_modern() {
            // It says so with each call, or wants none.
            client.log_level().and_then(place_of)
        } else {
            let session = client.session();
            let asked = session.and_then(|session| self.all().get(&session).map(|asked| asked.level));
            Some(asked.unwrap_or(UNASKED))
        };
        wanted.is_some_and(|wanted| of_line >= wanted)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Arc<str>, AskedLevel>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn place_of(level: &str) -> Option<usize> {
    LEVELS.iter().position(|known| *known == level)
}

impl Gateway {
    /// Notes how much a client wants to hear, and has servers of the older era log that much: those that run, and those
    /// that are started later.
    pub(crate) async fn set_log_level(&self, level: &str, client: &ClientLine) {
        let before = self.levels.of_servers();
        self.levels.set(client, level);
        if self.levels.of_servers() == before {
            return;
        }
        for host in self.hosts.iter().filter(|host| may_have(host, Offer::Logging)) {
            for link in host.links() {
                self.apply_log_level(&link).await;
            }
        }
    }

    pub(super) async fn apply_log_level(&self, link: &ServerLink) {
        let about = link.about();
        if let (LinkEra::Legacy, Some(level)) = (about.era, self.levels.of_servers())
            && about.capabilities.get(Offer::Logging.name()).is_some_and(Value::is_object)
        {
            let options = CallOptions::within(LEVEL_TIMEOUT_MS);
            // A server that does not take the level logs as it likes.
            let _ = link.request("logging/setLevel", json!({ "level": level }), options).await;
        }
    }
}
