//! Relays calls to the tools of other servers. Which servers there are comes from settings; what is decided about their
//! tools is the core's, what becomes of their results is the engine's, and how they are spoken to is in `gateway`.
//!
//! Nothing that one server does holds up another, or a list: what was learnt of a server is in the store, and a server
//! that nobody has seen yet is learnt beside everything else.

mod asking;
mod call_answer;
mod caller;
mod calling;
mod catalogue;
mod content;
mod hidden;
mod host;
mod levels;
mod logins;
mod offers;
mod progress;
mod promoting;
mod stored;
mod subscriptions;
mod suspended;
mod tools;
mod watching;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use infold_core::gateway::{DefinitionsRead, HealthRules, NewTools, ServerKey, ServerState};
use infold_engine::Engine;
use rmcp::model::Tool;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::gateway::{LinkError, LinkLimits, ListKind, ServerLink};
pub(crate) use asking::ClientInput;
pub(crate) use call_answer::{CallAnswer, RelayedMessage};
pub(crate) use caller::RelayCaller;
pub(crate) use calling::{CallWay, RelayCall};
use catalogue::{Catalogue, ListingRules};
pub use host::HostedServer;
use host::{FoundLink, Host, NewLink};
pub(crate) use offers::{Offer, OfferAnswer, OfferAsker};

/// How often it is looked for servers that nobody uses.
const IDLE_LOOK: Duration = Duration::from_secs(5);

/// What the gateway is made with. The program fills in every field.
#[derive(Debug)]
pub struct GatewaySetup {
    /// The servers, in the order of settings.
    pub servers: Vec<HostedServer>,
    /// The folder of calls that name no project.
    pub folder: Option<PathBuf>,
    /// What becomes of new tools of a server that is known.
    pub new_tools: NewTools,
    /// How tools are listed.
    pub listing: GatewayListing,
    /// Bounds of every connection.
    pub limits: LinkLimits,
    /// When servers are tried again.
    pub health: HealthRules,
    /// How long a first list waits for servers that nobody has seen yet.
    pub list_wait_ms: u64,
    /// How long a server runs that nobody uses.
    pub idle_ms: u64,
    /// Most connections at a time; of more, those that were not used for longest are ended.
    pub children_max: usize,
    /// The longest result of a call.
    pub result_bytes_max: usize,
    /// How long a call may be silent before its client gets a sign of life.
    pub heartbeat_ms: u64,
    /// Calls that may wait for what their clients say to a server's question.
    pub questions_max: usize,
    /// How long such a call waits.
    pub question_wait_ms: u64,
}

/// How tools of servers are listed.
#[derive(Debug, Clone, Copy)]
pub struct GatewayListing {
    /// What happens when they do not fit.
    pub mode: infold_core::gateway::DeferralMode,
    /// Tokens that their definitions may take.
    pub room_tokens: u64,
    /// How their schemas are listed.
    pub form: infold_core::gateway::SchemaForm,
}

/// The gateway: all servers, and what is known of their tools.
pub struct Gateway {
    engine: Engine,
    hosts: Vec<Arc<Host>>,
    setup: GatewayRules,
    /// The definitions of the gateway's own tools.
    own: Vec<Tool>,
    catalogue: RwLock<Arc<Catalogue>>,
    /// Held while the catalogue is made anew.
    renewing: Mutex<()>,
    /// Whether every server was seen at least once, or has failed.
    learnt: watch::Sender<bool>,
    /// Woken when a server's state has changed.
    changed: Arc<Notify>,
    tasks: TaskTracker,
    seal: asking::StateSeal,
    levels: levels::LogLevels,
    subscriptions: subscriptions::Subscriptions,
    suspended: suspended::SuspendedCalls,
    last_uses: promoting::LastUses,
}

/// What remains of the setup once the servers have their hosts.
#[derive(Debug)]
struct GatewayRules {
    folder: Option<PathBuf>,
    new_tools: NewTools,
    listing: ListingRules,
    list_wait: Duration,
    idle: Duration,
    children_max: usize,
    result_bytes_max: usize,
    heartbeat: Duration,
}

/// A server as it is now.
#[derive(Debug)]
pub struct ServerNow {
    /// Its name.
    pub key: ServerKey,
    /// How it is.
    pub state: ServerState,
    /// Why it failed last.
    pub last_failure: Option<String>,
}

impl Gateway {
    /// A gateway to these servers; none of them is started yet.
    pub fn new(engine: Engine, setup: GatewaySetup) -> Arc<Self> {
        let changed = Arc::new(Notify::new());
        let host = |server| Arc::new(Host::new(server, setup.health, &setup.limits, &changed));
        let hosts: Vec<Arc<Host>> = setup.servers.into_iter().map(host).collect();
        let listing = setup.listing;
        let rules = GatewayRules {
            folder: setup.folder,
            new_tools: setup.new_tools,
            listing: ListingRules { mode: listing.mode, room_tokens: listing.room_tokens, form: listing.form },
            list_wait: Duration::from_millis(setup.list_wait_ms),
            idle: Duration::from_millis(setup.idle_ms),
            children_max: setup.children_max,
            result_bytes_max: setup.result_bytes_max,
            heartbeat: Duration::from_millis(setup.heartbeat_ms),
        };
        let catalogue = RwLock::new(Arc::new(Catalogue::of(&[], &rules.listing, &HashMap::new())));
        let learnt = watch::Sender::new(hosts.is_empty());
        let own = tools::definitions(hosts.iter().map(|host| host.entry.key.as_str()));
        Arc::new(Self {
            engine,
            hosts,
            setup: rules,
            own,
            catalogue,
            renewing: Mutex::default(),
            learnt,
            changed,
            tasks: TaskTracker::new(),
            seal: asking::StateSeal::new(),
            levels: levels::LogLevels::default(),
            subscriptions: subscriptions::Subscriptions::default(),
            suspended: suspended::SuspendedCalls::new(
                setup.questions_max,
                Duration::from_millis(setup.question_wait_ms),
            ),
            last_uses: promoting::LastUses::default(),
        })
    }

    /// Learns what servers have, and stops those that nobody uses, until `shutdown`; then every server is ended.
    pub async fn run(self: Arc<Self>, shutdown: CancellationToken) {
        let noting = self.tasks.spawn(self.clone().note_changes(shutdown.clone()));
        shutdown.run_until_cancelled(self.learn_all()).await;
        let mut look = tokio::time::interval(IDLE_LOOK.min(self.setup.idle));
        while shutdown.run_until_cancelled(look.tick()).await.is_some() {
            self.suspended.drop_old();
            self.close_unused(self.setup.idle).await;
        }
        self.suspended.clear();
        self.close_unused(Duration::ZERO).await;
        // A note that is being written must not overtake the last one.
        let _ = noting.await;
        self.note_servers().await;
        self.tasks.close();
        let _ = tokio::time::timeout(Duration::from_secs(2), self.tasks.wait()).await;
    }

    /// The servers as they are now.
    pub fn servers(&self) -> Vec<ServerNow> {
        let now = |host: &Arc<Host>| {
            let health = host.health();
            ServerNow { key: host.entry.key.clone(), state: health.state, last_failure: health.last_failure }
        };
        self.hosts.iter().map(now).collect()
    }

    /// The note for a model about tools that are not in the list, as far as they are known now; nothing if all are in it.
    pub fn deferral_note(&self) -> Option<String> {
        self.catalogue().note()
    }

    /// Why servers cannot be used now, in words for people, which have no secrets in them.
    pub async fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for ServerNow { key, state, last_failure } in self.servers() {
            let problem = match state {
                ServerState::Configured | ServerState::Ready | ServerState::Idle => continue,
                ServerState::Starting if last_failure.is_none() => continue,
                ServerState::NeedsLogin => format!("the server {key} needs a login: run `infold servers login {key}`"),
                ServerState::NeedsApproval => {
                    format!("the server {key} waits for approval: run `infold approve {key}`")
                }
                ServerState::Refused(why) => format!("the server {key} cannot be used: {why}"),
                // One that has failed may be tried again at this moment.
                ServerState::Starting | ServerState::Failing { .. } | ServerState::Open { .. } => {
                    format!("the server {key} cannot be used: {}", last_failure.as_deref().unwrap_or("it failed"))
                }
            };
            problems.push(self.scrubbed(problem).await);
        }
        problems
    }

    /// The tools of all servers, once every one was seen or the time for that is over.
    pub(crate) async fn ready(&self) -> Arc<Catalogue> {
        if *self.learnt.borrow() {
            return self.catalogue();
        }
        let mut learnt = self.learnt.subscribe();
        // A server that takes longer is found by a later search.
        let _ = tokio::time::timeout(self.setup.list_wait, learnt.wait_for(|learnt| *learnt)).await;
        self.catalogue()
    }

    /// The tools of all servers as they are known now.
    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The definitions of the gateway's own tools.
    pub(crate) fn own_tools(&self) -> &[Tool] {
        &self.own
    }

    /// Takes what the store knows of every server, and starts those that it knows nothing of.
    async fn learn_all(self: &Arc<Self>) {
        let mut unseen = JoinSet::new();
        for host in &self.hosts {
            match self.engine.pinned_tools(&host.entry.pin_key()).await {
                Ok(tools) if tools.is_known() => host.set_tools(tools),
                Ok(_never_seen) => {
                    let (gateway, host) = (self.clone(), host.clone());
                    unseen.spawn(async move { gateway.learn(&host).await });
                }
                Err(error) => tracing::error!(server = %host.entry.key, %error, "the store does not know its tools"),
            }
        }
        self.renew_catalogue();
        unseen.join_all().await;
        self.learnt.send_replace(true);
    }

    /// Starts a server to see what it has.
    async fn learn(self: &Arc<Self>, host: &Arc<Host>) {
        if let Err(why) = self.link(host, self.setup.folder.clone()).await {
            let why = self.scrubbed(why).await;
            tracing::warn!(server = %host.entry.key, why, "a server cannot be used");
        }
    }

    /// A connection to a server, whose tools are known before anybody uses it.
    async fn link(self: &Arc<Self>, host: &Arc<Host>, project: Option<PathBuf>) -> Result<Arc<ServerLink>, String> {
        if let Some(link) = host.running_for(project.as_deref()) {
            return Ok(link);
        }
        // Boxed, because everything that waits for a call would otherwise be as large as a server's start.
        Box::pin(self.link_anew(host, project)).await
    }

    async fn link_anew(
        self: &Arc<Self>,
        host: &Arc<Host>,
        project: Option<PathBuf>,
    ) -> Result<Arc<ServerLink>, String> {
        let found = host.link(project.as_deref(), async |link| self.take_tools(host, link).await).await?;
        match found {
            FoundLink::Running(link) => Ok(link),
            FoundLink::New(NewLink { link, events }) => {
                self.apply_log_level(&link).await;
                self.make_room().await;
                self.tasks.spawn(self.clone().watch(host.clone(), Arc::downgrade(&link), events));
                Ok(link)
            }
        }
    }

    /// Reads a server's list of tools, and decides which may be used.
    async fn take_tools(&self, host: &Host, link: &ServerLink) -> Result<(), LinkError> {
        let listed = link.list(ListKind::Tools).await?;
        let read = DefinitionsRead::of(&host.entry.key, &listed.items);
        for problem in &read.problems {
            tracing::debug!(server = %host.entry.key, tool = problem.tool, "a tool's definition is odd");
        }
        match self.engine.learn_tools(&host.entry.pin_key(), read.definitions, self.setup.new_tools).await {
            Ok(tools) if host.tools().is_some_and(|before| *before == tools) => return Ok(()),
            Ok(tools) => host.set_tools(tools),
            // What was known before still counts.
            Err(error) => tracing::error!(server = %host.entry.key, %error, "its tools could not be stored"),
        }
        self.renew_catalogue();
        Ok(())
    }

    fn renew_catalogue(&self) {
        // Of two servers that are learnt at once, the later one's catalogue has to have both.
        let _one_at_a_time = self.renewing.lock().unwrap_or_else(PoisonError::into_inner);
        let servers: Vec<_> = self.hosts.iter().map(|host| (&host.entry, host.tools())).collect();
        let catalogue = Arc::new(Catalogue::of(&servers, &self.setup.listing, &self.last_uses.all()));
        *self.catalogue.write().unwrap_or_else(PoisonError::into_inner) = catalogue;
    }

    /// Ends connections that are over the bound, those that were not used for longest first.
    async fn make_room(&self) {
        let mut idle: Vec<Duration> = self.hosts.iter().flat_map(|host| host.idle_times()).collect();
        idle.sort_unstable();
        // Those that are as idle as the first one over the bound go, if no call holds them.
        if let Some(idle) = idle.get(self.setup.children_max).copied().filter(|idle| !idle.is_zero()) {
            self.close_unused(idle).await;
        }
    }

    async fn close_unused(&self, idle: Duration) {
        let mut closing = JoinSet::new();
        for link in self.hosts.iter().flat_map(|host| host.take_unused(idle)) {
            closing.spawn(async move { link.close().await });
        }
        closing.join_all().await;
    }

    /// Words of a server, for a caller or a log.
    async fn scrubbed(&self, words: String) -> String {
        match self.engine.scrub([infold_core::strip_hostile(&words)]).await {
            Ok([words]) => words.as_str().to_owned(),
            Err(_) => "its words were withheld, because they could not be searched for secrets".to_owned(),
        }
    }
}
