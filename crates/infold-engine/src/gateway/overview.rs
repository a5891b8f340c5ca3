//! The servers of the settings together with what is stored of them, for people and programs that ask how servers are.

use infold_core::Principal;
use infold_core::gateway::{ServerEntry, ServerState};

use super::figures::ServerFigures;
use crate::{Engine, Error};

/// The state of a server that the user has switched off.
const OFF: &str = "off";

/// A server of the settings.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfiguredServer {
    /// Its entry as it was written. It is not shown.
    pub entry: ServerEntry,
    /// How it is reached, in words without secrets.
    pub way: String,
    /// Where it was written.
    pub origin: String,
    /// Whether it is used.
    pub use_now: ServerUse,
}

/// Whether a server of the settings is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerUse {
    /// It is.
    On,
    /// The user has switched it off.
    Off,
    /// It cannot be used, for this reason.
    Refused(String),
}

/// A server as people see it.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerOverview {
    /// A word for how it is now.
    pub state: String,
    /// Why it is so.
    pub detail: Option<String>,
    /// How it is reached; `None` if settings do not name it any more.
    pub way: Option<String>,
    /// Where it was written; `None` if settings do not name it any more.
    pub origin: Option<String>,
    /// What is stored of it.
    pub figures: ServerFigures,
}

impl Engine {
    /// Lists the servers of the settings in their order, then others that something is stored of, each with what the
    /// caller's calls add up to.
    pub async fn servers(
        &self,
        who: &Principal,
        configured: &[ConfiguredServer],
    ) -> Result<Vec<ServerOverview>, Error> {
        let mut stored = self.server_figures(who).await?;
        let mut servers: Vec<ServerOverview> = Vec::new();
        for server in configured {
            let place = stored.iter().position(|figures| figures.server == server.entry.key);
            let figures = place.map(|place| stored.remove(place));
            servers.push(server.overview(figures));
        }
        servers.extend(stored.into_iter().map(|figures| ServerOverview {
            state: figures.state.clone().unwrap_or_else(unused),
            detail: figures.detail.clone(),
            way: None,
            origin: None,
            figures,
        }));
        Ok(servers)
    }
}

fn unused() -> String {
    ServerState::Configured.word().to_owned()
}

impl ConfiguredServer {
    /// The server with what is stored of it, if anything is.
    pub fn overview(&self, figures: Option<ServerFigures>) -> ServerOverview {
        let figures = figures.unwrap_or_else(|| ServerFigures::none(&self.entry.key));
        let (state, detail) = match &self.use_now {
            ServerUse::On => (figures.state.clone().unwrap_or_else(unused), figures.detail.clone()),
            ServerUse::Off => (OFF.to_owned(), None),
            ServerUse::Refused(why) => (ServerState::Refused(String::new()).word().to_owned(), Some(why.clone())),
        };
        let (way, origin) = (Some(self.way.clone()), Some(self.origin.clone()));
        ServerOverview { state, detail, way, origin, figures }
    }
}
