//! One server with its connections: started when it is wanted, one for each project or one for all, and stopped when
//! nobody has used it for a while. How it is, and what is said of it, is in `health`.

mod health;
mod login;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use infold_core::gateway::{HealthEvent, HealthRules, ServerEntry, ServerHealth, ServerState, Sharing};
use infold_engine::ServerTools;
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use super::hidden::HiddenValues;
use crate::gateway::{
    LinkEra, LinkError, LinkEvent, LinkIdentity, LinkLimits, LinkSetup, LinkWay, ListLimits, LoginStamp, ServerLink,
};

/// Events of a server that may wait to be looked at.
const EVENTS_MAX: usize = 16;
/// The variable by which Claude Code names the project to its servers.
const PROJECT_VARIABLE: &str = "CLAUDE_PROJECT_DIR";

/// A server that the gateway may use, and how it is reached: its variables are filled in, or it is said which is not set.
#[derive(Debug)]
pub struct HostedServer {
    /// What settings say of it.
    pub entry: ServerEntry,
    /// How it is reached, or why it cannot be used.
    pub way: Result<LinkWay, String>,
}

/// A server with its connections.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) entry: ServerEntry,
    way: Result<LinkWay, String>,
    hidden: HiddenValues,
    health: Mutex<ServerHealth>,
    rules: HealthRules,
    limits: LinkLimits,
    links: Mutex<HashMap<Option<PathBuf>, HostedLink>>,
    /// Held while a connection begins, so that many calls start one server.
    starting: tokio::sync::Mutex<()>,
    tools: Mutex<Option<Arc<ServerTools>>>,
    era: Mutex<Option<LinkEra>>,
    /// The login that it was last started with.
    login_tried: Mutex<Option<LoginStamp>>,
    /// What it can do, once it was started.
    capabilities: Mutex<Option<Arc<Value>>>,
    /// The word for its state that was noted last.
    noted: Mutex<&'static str>,
    /// Woken when there is something to note.
    changed: Arc<Notify>,
}

#[derive(Debug)]
struct HostedLink {
    link: Arc<ServerLink>,
    used_at: Instant,
}

/// A connection that was just made, with what its server says that belongs to no call.
pub(super) struct NewLink {
    pub(super) link: Arc<ServerLink>,
    pub(super) events: mpsc::Receiver<LinkEvent>,
}

/// A connection that a caller may use.
pub(super) enum FoundLink {
    /// It was there.
    Running(Arc<ServerLink>),
    /// It was just made.
    New(NewLink),
}

impl Host {
    pub(super) fn new(server: HostedServer, rules: HealthRules, limits: &LinkLimits, changed: &Arc<Notify>) -> Self {
        let start_timeout_ms = server.entry.limits.start_timeout_ms;
        let host = Self {
            hidden: server.way.as_ref().map(|way| HiddenValues::of(&server.entry, way)).unwrap_or_default(),
            way: server.way,
            health: Mutex::new(ServerHealth::new()),
            rules,
            limits: LinkLimits {
                start_timeout_ms,
                list: ListLimits { timeout_ms: start_timeout_ms, ..limits.list.clone() },
                ..limits.clone()
            },
            links: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            tools: Mutex::default(),
            era: Mutex::default(),
            login_tried: Mutex::default(),
            capabilities: Mutex::default(),
            noted: Mutex::new(ServerState::Configured.word()),
            changed: changed.clone(),
            entry: server.entry,
        };
        if let Err(why) = &host.way {
            host.step(HealthEvent::Unusable { why: why.clone() });
        }
        host
    }

    /// The connection for a project, if there is one.
    pub(super) fn running_for(&self, project: Option<&Path>) -> Option<Arc<ServerLink>> {
        self.running(self.project_of(project).as_ref())
    }

    /// A connection for a project, which is made if there is none. Nobody uses a new one before `prepare` is done with
    /// it. The error is what a caller reads.
    pub(super) async fn link(
        &self,
        project: Option<&Path>,
        prepare: impl AsyncFnOnce(&Arc<ServerLink>) -> Result<(), LinkError>,
    ) -> Result<FoundLink, String> {
        let project = self.project_of(project);
        let _one_at_a_time = self.starting.lock().await;
        if let Some(link) = self.running(project.as_ref()) {
            return Ok(FoundLink::Running(link));
        }
        self.take_login();
        self.step(HealthEvent::Wanted);
        if let Some(refused) = lock(&self.health).refuse(self.entry.key.as_str(), now_ms(), &self.rules) {
            return Err(refused);
        }
        let way = self.way_for(project.as_deref())?;
        let known_era = *lock(&self.era);
        let identity = LinkIdentity::relaying(project.as_deref());
        let setup = LinkSetup { way, known_era, identity, limits: self.limits.clone() };
        let (sender, events) = mpsc::channel(EVENTS_MAX);
        match begin(setup, sender, prepare).await {
            Ok(link) => {
                let about = link.about();
                *lock(&self.era) = Some(about.era);
                *lock(&self.capabilities) = Some(Arc::new(about.capabilities));
                self.step(HealthEvent::Started);
                lock(&self.links).insert(project, HostedLink { link: link.clone(), used_at: Instant::now() });
                Ok(FoundLink::New(NewLink { link, events }))
            }
            Err(error) => {
                self.failed(&error);
                Err(self.words_of(&error))
            }
        }
    }

    /// Forgets a connection that has ended.
    pub(super) fn ended(&self, link: &Arc<ServerLink>, why: String) {
        let mut links = lock(&self.links);
        let before = links.len();
        links.retain(|_, hosted| !Arc::ptr_eq(&hosted.link, link));
        if links.len() < before {
            drop(links);
            self.step(HealthEvent::Ended { why: self.hidden.hide(why) });
        }
    }

    /// Takes out the connections that nobody has used for so long; all of them if it is no time at all.
    pub(super) fn take_unused(&self, idle: Duration) -> Vec<Arc<ServerLink>> {
        let mut links = lock(&self.links);
        // A connection that a call holds has more owners than this map.
        let unused = links.extract_if(|_, hosted| {
            idle.is_zero() || (hosted.used_at.elapsed() >= idle && Arc::strong_count(&hosted.link) <= 2)
        });
        let unused: Vec<Arc<ServerLink>> = unused.map(|(_, hosted)| hosted.link).collect();
        let is_last = links.is_empty();
        drop(links);
        if is_last && !unused.is_empty() {
            self.step(HealthEvent::Unused);
        }
        unused
    }

    /// How long each connection was not used.
    pub(super) fn idle_times(&self) -> Vec<Duration> {
        lock(&self.links).values().map(|hosted| hosted.used_at.elapsed()).collect()
    }

    /// The connections that run.
    pub(super) fn links(&self) -> Vec<Arc<ServerLink>> {
        lock(&self.links).values().map(|hosted| hosted.link.clone()).collect()
    }

    /// What it can do besides; `None` if it was never started by this process.
    pub(super) fn capabilities(&self) -> Option<Arc<Value>> {
        lock(&self.capabilities).clone()
    }

    /// The tools that are known of it.
    pub(super) fn tools(&self) -> Option<Arc<ServerTools>> {
        lock(&self.tools).clone()
    }

    pub(super) fn set_tools(&self, tools: ServerTools) {
        *lock(&self.tools) = Some(Arc::new(tools));
    }

    /// Takes `now` in place of what was known before. Returns whether it did: what was learnt meanwhile is newer.
    pub(super) fn replace_tools(&self, before: &Arc<ServerTools>, now: ServerTools) -> bool {
        let mut tools = lock(&self.tools);
        let is_same = tools.as_ref().is_some_and(|tools| Arc::ptr_eq(tools, before));
        if is_same {
            *tools = Some(Arc::new(now));
        }
        is_same
    }

    fn running(&self, project: Option<&PathBuf>) -> Option<Arc<ServerLink>> {
        let mut links = lock(&self.links);
        let hosted = links.get_mut(&project.cloned())?;
        hosted.used_at = Instant::now();
        Some(hosted.link.clone())
    }

    /// The project that a connection is for: none, if all share one or the server is not started by infold.
    fn project_of(&self, project: Option<&Path>) -> Option<PathBuf> {
        match (self.entry.sharing, &self.way) {
            (Sharing::PerProject, Ok(LinkWay::Child(_))) => project.map(Path::to_path_buf),
            (Sharing::PerProject, Ok(LinkWay::Http(_)) | Err(_)) | (Sharing::Shared, _) => None,
        }
    }

    fn way_for(&self, project: Option<&Path>) -> Result<LinkWay, String> {
        let mut way = self.way.clone()?;
        if let (LinkWay::Child(child), Some(project)) = (&mut way, project) {
            child.folder.get_or_insert_with(|| project.to_path_buf());
            child.variables.push((PROJECT_VARIABLE.into(), project.as_os_str().to_owned()));
        }
        Ok(way)
    }
}

/// Makes a connection and prepares it; one that cannot be prepared is closed again.
async fn begin(
    setup: LinkSetup,
    events: mpsc::Sender<LinkEvent>,
    prepare: impl AsyncFnOnce(&Arc<ServerLink>) -> Result<(), LinkError>,
) -> Result<Arc<ServerLink>, LinkError> {
    let link = Arc::new(ServerLink::start(setup, events).await?);
    match prepare(&link).await {
        Ok(()) => Ok(link),
        Err(error) => {
            link.close().await;
            Err(error)
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
