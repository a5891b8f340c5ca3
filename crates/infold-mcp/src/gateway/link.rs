//! One connection to one server, whichever way it is reached.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::{Mutex, Semaphore, mpsc};
use tokio_util::task::TaskTracker;

use super::child::ChildLeg;
use super::era::{self, LinkEra, RequestParams, ServerAbout};
use super::error::LinkError;
use super::http::HttpLeg;
use super::message::{self, OwnRequest};
use super::options::{CallOptions, LinkCounts, LinkEvent, LinkIdentity, LinkLimits, LinkSetup, LinkTerms, LinkWay};
use super::router::Router;
use super::stream::StreamParts;

/// How long a server over HTTP may take to say that it does not know the newer era.
const DISCOVER_TIMEOUT_MS: u64 = 10_000;
/// How long tasks have to end after their connection was closed.
const TASKS_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection to a server. Requests may be made from many tasks at once.
///
/// If it is dropped without [`ServerLink::close`], a child is ended all the same, but nobody waits for that.
#[derive(Debug)]
pub struct ServerLink {
    leg: Leg,
    router: Arc<Router>,
    tasks: TaskTracker,
    identity: LinkIdentity,
    limits: LinkLimits,
    last_id: AtomicU64,
    calls: Semaphore,
    about: RwLock<ServerAbout>,
    /// How often the session was begun again.
    openings: AtomicU64,
    /// Held while it begins again, so that this happens once for many requests.
    opening: Mutex<()>,
}

#[derive(Debug)]
enum Leg {
    Child(ChildLeg),
    Http(Arc<HttpLeg>),
}

impl ServerLink {
    /// Starts or reaches the server, finds out which era it speaks, and waits until it can be used.
    ///
    /// What belongs to no request goes to `events`; what finds no room there is dropped.
    pub async fn start(setup: LinkSetup, events: mpsc::Sender<LinkEvent>) -> Result<Self, LinkError> {
        let (way, terms) = setup.parts();
        let router = Arc::new(Router::new(events, terms.identity.roots.clone()));
        let tasks = TaskTracker::new();
        let message_bytes_max = terms.limits.message_bytes_max;
        let parts = StreamParts { router: router.clone(), tasks: tasks.clone(), message_bytes_max };
        let leg = match &way {
            LinkWay::Child(way) => Leg::Child(ChildLeg::start(way, parts)?),
            LinkWay::Http(way) => Leg::Http(Arc::new(HttpLeg::new(way, parts)?)),
        };
        Self::over(leg, (router, tasks), terms).await
    }

    /// A connection over streams, without a process behind them.
    pub(crate) async fn over_streams<R, W>(
        streams: (R, W),
        terms: LinkTerms,
        events: mpsc::Sender<LinkEvent>,
    ) -> Result<Self, LinkError>
    where
        R: tokio::io::AsyncRead + Unpin + Send + 'static,
        W: tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let router = Arc::new(Router::new(events, terms.identity.roots.clone()));
        let tasks = TaskTracker::new();
        let message_bytes_max = terms.limits.message_bytes_max;
        let parts = StreamParts { router: router.clone(), tasks: tasks.clone(), message_bytes_max };
        let (stream, reader) = super::stream::StreamLeg::open(streams, parts);
        let (waiting, closing) = (stream.waiting(), stream.closing.clone());
        tasks.spawn(async move {
            closing.run_until_cancelled(reader.run()).await;
            waiting.end(LinkError::Ended { how: "its output ended".to_owned(), words: String::new() });
        });
        Self::over(Leg::Child(ChildLeg::without_process(stream)), (router, tasks), terms).await
    }

    async fn over(leg: Leg, (router, tasks): (Arc<Router>, TaskTracker), terms: LinkTerms) -> Result<Self, LinkError> {
        let unknown = ServerAbout {
            era: LinkEra::Legacy,
            protocol: String::new(),
            name: String::new(),
            version: String::new(),
            capabilities: Value::Null,
            instructions: None,
        };
        let link = Self {
            leg,
            router,
            tasks,
            identity: terms.identity,
            calls: Semaphore::new(terms.limits.calls_max),
            limits: terms.limits,
            last_id: AtomicU64::new(0),
            about: RwLock::new(unknown),
            openings: AtomicU64::new(0),
            opening: Mutex::new(()),
        };
        match link.open(terms.known_era).await {
            Ok(()) => Ok(link),
            Err(error) => {
                link.close().await;
                Err(error)
            }
        }
    }

    /// What the server says about itself.
    pub fn about(&self) -> ServerAbout {
        self.about.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn limits(&self) -> &LinkLimits {
        &self.limits
    }

    /// What was dropped of what the server has sent.
    pub fn counts(&self) -> LinkCounts {
        self.router.counters.snapshot()
    }

    /// The end of what a child has written to its standard error; empty for other servers. It is not scrubbed.
    pub fn last_words(&self) -> String {
        match &self.leg {
            Leg::Child(leg) => leg.last_words(),
            Leg::Http(_) => String::new(),
        }
    }

    /// Sends a request, and waits for its result, its time limit or its cancellation. If this is dropped before, the
    /// server gets to know that nobody waits.
    pub async fn request(&self, method: &str, params: Value, options: CallOptions) -> Result<Value, LinkError> {
        let calls_max = self.limits.calls_max;
        let _room = self.calls.try_acquire().map_err(|_| LinkError::Busy { calls_max })?;
        let openings = self.openings.load(Ordering::Acquire);
        let again = self.has_session().then(|| params.clone());
        let outcome = self.attempt(method, params, &options).await;
        match (outcome, again) {
            // The server does not know the session, so it has not begun with the request either.
            (Err(LinkError::SessionGone), Some(params)) => {
                // Boxed, because every request would otherwise be as large as two.
                Box::pin(self.open_again(openings)).await?;
                Box::pin(self.attempt(method, params, &options)).await
            }
            (outcome, _) => outcome,
        }
    }

    /// Whether there is a session that the server may lose.
    fn has_session(&self) -> bool {
        match &self.leg {
            Leg::Child(_) => false,
            Leg::Http(leg) => leg.has_session(),
        }
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Value) -> Result<(), LinkError> {
        let message = message::notice(method, params);
        match &self.leg {
            Leg::Child(leg) => leg.stream.tell(&message).await,
            Leg::Http(leg) => leg.tell(&message).await,
        }
    }

    /// Ends the connection: requests in flight fail, a child's input ends, and nothing of the child is left when this
    /// returns.
    pub async fn close(&self) {
        match &self.leg {
            Leg::Child(leg) => leg.close(self.limits.close_timeout_ms).await,
            Leg::Http(leg) => leg.close().await,
        }
        self.tasks.close();
        let _ = tokio::time::timeout(TASKS_TIMEOUT, self.tasks.wait()).await;
    }

    async fn attempt(&self, method: &str, params: Value, options: &CallOptions) -> Result<Value, LinkError> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let era = self.about.read().unwrap_or_else(PoisonError::into_inner).era;
        self.exchange((id, era), (method, params), options).await
    }

    /// One request and its answer, in the form of an era.
    async fn exchange(
        &self,
        (id, era): (u64, LinkEra),
        (method, params): (&str, Value),
        options: &CallOptions,
    ) -> Result<Value, LinkError> {
        let params = RequestParams {
            given: &params,
            era,
            identity: &self.identity,
            capabilities: options.capabilities.as_ref(),
            progress_token: options.notices.is_some().then_some(id),
        };
        let request = OwnRequest::new(id, method, params);
        let _entered = self.router.enter(id, options);
        // It is large, so it is made where it stays.
        let answer = pin!(async {
            match &self.leg {
                Leg::Child(leg) => leg.stream.request(&request).await,
                Leg::Http(leg) => leg.request(&request, options.input_schema.as_ref()).await,
            }
        });
        tokio::select! {
            // What has come is looked at first: nothing else matters then.
            biased;
            answer = answer => answer,
            () = options.cancel.cancelled() => Err(LinkError::Cancelled),
            () = tokio::time::sleep(Duration::from_millis(options.timeout_ms)) => {
                Err(LinkError::TimedOut { method: method.to_owned(), timeout_ms: options.timeout_ms })
            }
        }
    }

    /// Finds out which era the server speaks. Without knowing better, the newer one is asked for first over HTTP, because
    /// that costs one request; of children hardly any has it yet.
    async fn open(&self, known: Option<LinkEra>) -> Result<(), LinkError> {
        let deadline = Instant::now() + Duration::from_millis(self.limits.start_timeout_ms);
        let usual = match &self.leg {
            Leg::Child(_) => LinkEra::Legacy,
            Leg::Http(_) => LinkEra::Modern,
        };
        match known.unwrap_or(usual) {
            LinkEra::Legacy => match self.initialize(deadline).await {
                Err(refused @ (LinkError::Rpc(_) | LinkError::Http { .. })) => {
                    self.discover(deadline).await.map_err(|_| refused)
                }
                outcome => outcome,
            },
            LinkEra::Modern => match self.discover(deadline).await {
                Err(refused) if may_be_older(&refused) => self.initialize(deadline).await,
                outcome => outcome,
            },
        }
    }

    /// Begins a session anew, unless another request has done so since there were `openings` of them.
    async fn open_again(&self, openings: u64) -> Result<(), LinkError> {
        let _opening = self.opening.lock().await;
        if self.openings.load(Ordering::Acquire) != openings {
            return Ok(());
        }
        self.initialize(Instant::now() + Duration::from_millis(self.limits.start_timeout_ms)).await?;
        self.openings.fetch_add(1, Ordering::Release);
        Ok(())
    }

    async fn initialize(&self, deadline: Instant) -> Result<(), LinkError> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let options = CallOptions::within(milliseconds_to(deadline));
        let params = era::initialize_params(&self.identity);
        let result = self.exchange((id, LinkEra::Legacy), ("initialize", params), &options).await?;
        let about = era::initialized(result)?;
        if let Leg::Http(leg) = &self.leg {
            leg.speaks(&about);
        }
        self.set_about(about);
        self.notify("notifications/initialized", json!({})).await?;
        if let Leg::Http(leg) = &self.leg {
            leg.listen(&self.about());
        }
        Ok(())
    }

    async fn discover(&self, deadline: Instant) -> Result<(), LinkError> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let options = CallOptions::within(milliseconds_to(deadline).min(DISCOVER_TIMEOUT_MS));
        let result = self.exchange((id, LinkEra::Modern), ("server/discover", json!({})), &options).await?;
        self.set_about(era::discovered(result)?);
        Ok(())
    }

    fn set_about(&self, about: ServerAbout) {
        *self.about.write().unwrap_or_else(PoisonError::into_inner) = about;
    }
}

/// Whether a server that failed at the newer era's first request may be of the older one.
fn may_be_older(error: &LinkError) -> bool {
    match error {
        LinkError::Rpc(_)
        | LinkError::Http { .. }
        | LinkError::NotMcp(_)
        | LinkError::TimedOut { .. }
        | LinkError::SessionGone => true,
        LinkError::CannotStart { .. }
        | LinkError::Ended { .. }
        | LinkError::Cancelled
        | LinkError::TooLong { .. }
        | LinkError::RequestTooLong { .. }
        | LinkError::NeedsLogin { .. }
        | LinkError::RightsMissing(_)
        | LinkError::Login(_)
        | LinkError::Unreachable(_)
        | LinkError::Busy { .. }
        | LinkError::Closed => false,
    }
}

/// The time that is left.
pub(super) fn milliseconds_to(deadline: Instant) -> u64 {
    u64::try_from(deadline.saturating_duration_since(Instant::now()).as_millis()).unwrap_or(u64::MAX)
}
