//! What a connection is made with, and what goes along with one request.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::child::ChildWay;
use super::era::LinkEra;
use super::error::RpcError;
use super::http::HttpWay;
use super::listing::ListKind;

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum LinkWay {
    /// A child of infold, over its standard streams.
    Child(ChildWay),
    /// Streamable HTTP.
    Http(HttpWay),
}

/// Everything that a connection needs to begin.
#[derive(Debug, Clone)]
pub struct LinkSetup {
    /// How the server is reached.
    pub way: LinkWay,
    /// The era that it spoke the last time, which is then tried first.
    pub known_era: Option<LinkEra>,
    /// As whom.
    pub identity: LinkIdentity,
    /// Within which bounds.
    pub limits: LinkLimits,
}

/// What a connection begins with, whichever way its server is reached.
#[derive(Debug)]
pub(crate) struct LinkTerms {
    /// See [`LinkSetup::known_era`].
    pub(crate) known_era: Option<LinkEra>,
    /// See [`LinkSetup::identity`].
    pub(crate) identity: LinkIdentity,
    /// See [`LinkSetup::limits`].
    pub(crate) limits: LinkLimits,
}

impl LinkSetup {
    /// The way to the server, and everything else.
    pub(super) fn parts(self) -> (LinkWay, LinkTerms) {
        let Self { way, known_era, identity, limits } = self;
        (way, LinkTerms { known_era, identity, limits })
    }
}

/// As whom infold introduces itself to a server.
#[derive(Debug, Clone)]
pub struct LinkIdentity {
    /// The name and version of the client.
    pub client_info: Value,
    /// What the client can do. In the newer era a request may say something else.
    pub capabilities: Value,
    /// The list of roots that a server gets whenever it asks; `None` leaves the question to the caller of a request.
    pub roots: Option<Value>,
}

impl LinkIdentity {
    /// infold with clients behind it, some of which can be asked; its root is the project.
    pub(crate) fn relaying(project: Option<&Path>) -> Self {
        let root = |path: &Path| json!({ "uri": format!("file://{}", path.display()) });
        let capabilities = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
        Self { capabilities, roots: Some(project.map(root).into_iter().collect()), ..Self::infold() }
    }

    /// infold's own agent, which nobody can be asked through; its root is the folder that it works in.
    pub(crate) fn own_agent(folder: &Path) -> Self {
        let roots = Self::relaying(Some(folder)).roots;
        Self { capabilities: json!({ "roots": {} }), roots, ..Self::infold() }
    }

    /// infold itself, with nobody behind it: it can do nothing that a server could ask for.
    pub fn infold() -> Self {
        let client_info = json!({ "name": "infold", "version": env!("CARGO_PKG_VERSION") });
        Self { client_info, capabilities: json!({}), roots: None }
    }
}

/// Bounds of one connection.
#[derive(Debug, Clone)]
pub struct LinkLimits {
    /// How long a server may take from its start until it can be used.
    pub start_timeout_ms: u64,
    /// The longest message in either direction.
    pub message_bytes_max: usize,
    /// Requests that may be in flight.
    pub calls_max: usize,
    /// How long a server has to end when its input has ended.
    pub close_timeout_ms: u64,
    /// Bounds of lists.
    pub list: ListLimits,
}

/// Bounds of a list that comes in pages.
#[derive(Debug, Clone)]
pub struct ListLimits {
    /// Pages that are read.
    pub pages_max: usize,
    /// Items that are taken.
    pub items_max: usize,
    /// The longest item; a longer one is left out.
    pub item_bytes_max: usize,
    /// How long the whole list may take.
    pub timeout_ms: u64,
}

/// What goes along with a request.
#[derive(Debug, Clone)]
pub struct CallOptions {
    /// How long the answer may take.
    pub timeout_ms: u64,
    /// Gives the request up.
    pub cancel: CancellationToken,
    /// For whom the request is made. A server's questions and log lines reach only a caller that is the only one.
    pub session: Option<Arc<str>>,
    /// Gets progress and log lines. What finds no room is dropped.
    pub notices: Option<mpsc::Sender<CallNotice>>,
    /// Gets what the server asks while the request is in flight.
    pub asks: Option<mpsc::Sender<Ask>>,
    /// What the calling client can do, for servers of the newer era; `None` is what the connection says.
    pub capabilities: Option<Value>,
    /// The input schema of the tool that is called. Arguments that it marks go into headers too, in the newer era.
    pub input_schema: Option<Value>,
}

impl CallOptions {
    /// A request that nobody follows, with a time limit.
    pub fn within(timeout_ms: u64) -> Self {
        Self {
            timeout_ms,
            cancel: CancellationToken::new(),
            session: None,
            notices: None,
            asks: None,
            capabilities: None,
            input_schema: None,
        }
    }
}

/// What a server says about a request while it works on it.
#[derive(Debug, Clone, PartialEq)]
pub enum CallNotice {
    /// The parameters of a progress notification, without the token.
    Progress(Value),
    /// The parameters of a log message.
    Log(Value),
}

/// A question of a server: elicitation, sampling, roots. If it is dropped, the server gets an error.
#[derive(Debug)]
pub struct Ask {
    /// What is asked for.
    pub method: String,
    /// The parameters, as they came.
    pub params: Value,
    pub(super) reply: oneshot::Sender<Result<Value, RpcError>>,
}

impl Ask {
    /// Waits until the server does not want the answer any more: its call is over.
    pub(crate) async fn unwanted(&mut self) {
        self.reply.closed().await;
    }

    /// Answers the server.
    pub fn answer(self, answer: Result<Value, RpcError>) {
        // The request that this belongs to may have ended, and then nobody waits for the answer.
        let _ = self.reply.send(answer);
    }
}

/// What a server says that belongs to no request.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkEvent {
    /// A list is not what it was.
    ListChanged(ListKind),
    /// The parameters of a notification that a resource has changed.
    ResourceUpdated(Value),
    /// The parameters of a log message.
    Log(Value),
    /// The server is gone; the reason in words.
    Ended(String),
}

/// What was dropped, since the beginning of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Answers to requests that nobody waits for.
    pub unknown_ids: u64,
    /// Lines and events that are no message.
    pub unreadable: u64,
    /// Messages over the bound.
    pub too_long: u64,
    /// Notices and events that found no room, or nobody.
    pub unwanted: u64,
    /// Questions that nobody could be asked.
    pub unanswered: u64,
}

/// [`LinkCounts`] while they are counted.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) unknown_ids: AtomicU64,
    pub(super) unreadable: AtomicU64,
    pub(super) too_long: AtomicU64,
    pub(super) unwanted: AtomicU64,
    pub(super) unanswered: AtomicU64,
}

impl Counters {
    pub(super) fn snapshot(&self) -> LinkCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LinkCounts {
            unknown_ids: of(&self.unknown_ids),
            unreadable: of(&self.unreadable),
            too_long: of(&self.too_long),
            unwanted: of(&self.unwanted),
            unanswered: of(&self.unanswered),
        }
    }
}

/// Counts one more.
pub(super) fn one_more(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
