//! Says whom a server's words are for: the one call that they belong to, whoever listens to the whole connection, or
//! nobody.
//!
//! What must hold: nothing reaches a caller whose request it may not belong to. A server on standard streams does not say
//! which request made it ask, so it is given an answer only if all calls in flight are of one caller.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::error::{METHOD_NOT_FOUND, NOT_ANSWERED, RpcError};
use super::listing::ListKind;
use super::options::{Ask, CallNotice, CallOptions, Counters, LinkEvent, one_more};

/// Questions of one server that may wait for an answer.
const ASKS_MAX: usize = 16;
/// How long the word that a server is gone waits until somebody has time for it.
const LAST_EVENT_TIMEOUT: Duration = Duration::from_secs(60);

/// What is known of a request while it is in flight.
#[derive(Debug)]
struct Seat {
    session: Option<Arc<str>>,
    notices: Option<mpsc::Sender<CallNotice>>,
    asks: Option<mpsc::Sender<Ask>>,
    over: CancellationToken,
}

/// The requests in flight, and where everything else goes.
#[derive(Debug)]
pub(super) struct Router {
    seats: Mutex<BTreeMap<u64, Arc<Seat>>>,
    events: mpsc::Sender<LinkEvent>,
    roots: Option<Value>,
    asks_room: tokio::sync::Semaphore,
    pub(super) counters: Counters,
}

/// Which request something came with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The answer's own stream.
    Request(u64),
    /// Something that all requests share.
    Connection,
}

impl Router {
    pub(super) fn new(events: mpsc::Sender<LinkEvent>, roots: Option<Value>) -> Self {
        let asks_room = tokio::sync::Semaphore::new(ASKS_MAX);
        Self { seats: Mutex::default(), events, roots, asks_room, counters: Counters::default() }
    }

    /// Notes that a request is in flight, until the returned guard is dropped.
    pub(super) fn enter(self: &Arc<Self>, id: u64, options: &CallOptions) -> Entered {
        let seat = Seat {
            session: options.session.clone(),
            notices: options.notices.clone(),
            asks: options.asks.clone(),
            over: CancellationToken::new(),
        };
        self.seats().insert(id, Arc::new(seat));
        Entered { router: self.clone(), id }
    }

    /// Passes a notification on.
    pub(super) fn notice(&self, method: &str, mut params: Value, source: Source) {
        let event = match method {
            "notifications/progress" => {
                let token = params.as_object_mut().and_then(|params| params.remove("progressToken"));
                let id = token.as_ref().and_then(Value::as_u64);
                let seat = id.and_then(|id| self.seats().get(&id).cloned());
                return self.hand(seat.as_deref(), CallNotice::Progress(params));
            }
            "notifications/message" => match self.whose(source) {
                Some(seat) if seat.notices.is_some() => return self.hand(Some(&seat), CallNotice::Log(params)),
                Some(_) | None => LinkEvent::Log(params),
            },
            "notifications/resources/updated" => LinkEvent::ResourceUpdated(params),
            method => match ListKind::changed_by(method) {
                Some(listing) => LinkEvent::ListChanged(listing),
                None => return one_more(&self.counters.unwanted),
            },
        };
        self.event(event);
    }

    /// Passes on what belongs to no request. If nobody takes it in time, it is dropped.
    pub(super) fn event(&self, event: LinkEvent) {
        if self.events.try_send(event).is_err() {
            one_more(&self.counters.unwanted);
        }
    }

    /// Passes on that the server is gone. That is not dropped for want of room, unless nobody looks at events for long.
    pub(super) async fn last_event(&self, event: LinkEvent) {
        if self.events.send_timeout(event, LAST_EVENT_TIMEOUT).await.is_err() {
            one_more(&self.counters.unwanted);
        }
    }

    /// Finds an answer to a server's question. It takes as long as the one who is asked, or as the call.
    pub(super) async fn asked(&self, method: &str, params: Value, source: Source) -> Result<Value, RpcError> {
        match (method, &self.roots) {
            ("ping", _) => return Ok(json!({})),
            ("roots/list", Some(roots)) => return Ok(json!({ "roots": roots })),
            _ => {}
        }
        let Ok(_room) = self.asks_room.try_acquire() else { return self.nobody(method, "too many questions wait") };
        let Some(seat) = self.whose(source) else {
            return self.nobody(method, "no single call is in flight that this could belong to");
        };
        let Some(asks) = &seat.asks else { return self.nobody(method, "the client cannot be asked") };
        let (reply, answer) = oneshot::channel();
        if asks.try_send(Ask { method: method.to_owned(), params, reply }).is_err() {
            return self.nobody(method, "the client cannot be asked now");
        }
        tokio::select! {
            answer = answer => match answer {
                Ok(answer) => answer,
                Err(_dropped) => self.nobody(method, "the client did not answer"),
            },
            () = seat.over.cancelled() => self.nobody(method, "the call has ended"),
        }
    }

    /// What a server gets if nobody can be asked. A person who is not there has cancelled; anything else is an error.
    fn nobody(&self, method: &str, why: &str) -> Result<Value, RpcError> {
        one_more(&self.counters.unanswered);
        match method {
            "elicitation/create" => Ok(json!({ "action": "cancel" })),
            "sampling/createMessage" | "roots/list" => Err(RpcError::new(NOT_ANSWERED, why)),
            _ => Err(RpcError::new(METHOD_NOT_FOUND, format!("infold does not answer {method}"))),
        }
    }

    fn hand(&self, seat: Option<&Seat>, notice: CallNotice) {
        let taken = seat.and_then(|seat| seat.notices.as_ref()).is_some_and(|notices| notices.try_send(notice).is_ok());
        if !taken {
            one_more(&self.counters.unwanted);
        }
    }

    /// The call that something belongs to; with several of one caller, the newest.
    fn whose(&self, source: Source) -> Option<Arc<Seat>> {
        let seats = self.seats();
        if let Source::Request(id) = source {
            return seats.get(&id).cloned();
        }
        let newest = seats.values().next_back()?;
        let are_one =
            seats.len() == 1 || seats.values().all(|seat| seat.session.is_some() && seat.session == newest.session);
        are_one.then(|| newest.clone())
    }

    /// The only request in flight.
    pub(super) fn only(&self) -> Option<u64> {
        let seats = self.seats();
        seats.keys().next().copied().filter(|_| seats.len() == 1)
    }

    fn seats(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Seat>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct Entered {
    router: Arc<Router>,
    id: u64,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(seat) = self.router.seats().remove(&self.id) {
            seat.over.cancel();
        }
    }
}
