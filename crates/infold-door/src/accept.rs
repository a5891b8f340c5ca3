//! Takes connections, bounds them, and ends them in order.
//!
//! Must hold: at most `connections_max` connections are served at once, and the next is told so;
//! running out of file descriptors slows the loop and does not end it; after a shutdown every task
//! that was started has ended before [`Door::serve`] returns.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::guard::Guard;
use crate::refusal::DoorRefusal;
use crate::settings::{DoorError, DoorSettings};
use crate::strict::LINGER;

mod connection;

/// Connections that are being told at once that there are too many; any more are just closed.
const TURNED_AWAY_MAX: usize = 64;
/// The wait after a failed accept, doubled each time.
const PAUSE_FIRST: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// A listening socket with its rules.
pub struct Door {
    listener: TcpListener,
    address: SocketAddr,
    house: House,
}

/// What every connection needs to know.
struct House {
    settings: DoorSettings,
    guard: Guard,
    router: Router,
    /// Begins the shutdown: finish what is in flight, take nothing new.
    shutdown: CancellationToken,
    /// Ends it: drop whatever is still open.
    cut: CancellationToken,
}

/// How a door was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed {
    /// Connections that had not finished within the drain timeout and were cut off.
    pub cut: usize,
}

impl Door {
    /// Makes a door of a bound listener, or says which setting forbids it. Reads the JWT keys.
    pub fn open(listener: TcpListener, settings: DoorSettings) -> Result<Self, DoorError> {
        let address = listener.local_addr()?;
        settings.check()?;
        let guard = Guard::new(&settings, address)?;
        let house = House {
            settings,
            guard,
            router: Router::new(),
            shutdown: CancellationToken::new(),
            cut: CancellationToken::new(),
        };
        Ok(Self { listener, address, house })
    }

    /// Where the door is, with the real port if 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves `router` until `shutdown` is cancelled, then lets requests in flight finish within
    /// the drain timeout. Streams that never end by themselves should watch `shutdown` too, or they
    /// are cut off at the end of it.
    pub async fn serve(self, router: Router, shutdown: CancellationToken) -> Closed {
        let Self { listener, address: _, house } = self;
        // The connection bounds bodies for all surfaces; axum's own bound would only be lower.
        let router = router.layer(DefaultBodyLimit::disable());
        let house = Arc::new(House { router, shutdown, ..house });
        let tasks = TaskTracker::new();

        accept_all(&house, listener, &tasks).await;

        tasks.close();
        if timeout(house.settings.drain_timeout(), tasks.wait()).await.is_ok() {
            return Closed { cut: 0 };
        }
        let cut = tasks.len();
        tracing::warn!(connections = cut, "connections were still open at the drain timeout");
        house.cut.cancel();
        tasks.wait().await;
        Closed { cut }
    }
}

/// Accepts until the shutdown begins, and closes the listener then.
async fn accept_all(house: &Arc<House>, listener: TcpListener, tasks: &TaskTracker) {
    let seats = Arc::new(Semaphore::new(house.settings.connections_max.min(Semaphore::MAX_PERMITS)));
    let turned_away = Arc::new(Semaphore::new(TURNED_AWAY_MAX));
    let mut pause = Duration::ZERO;

    loop {
        let accepted = tokio::select! {
            biased;
            () = house.shutdown.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                pause = next_pause(&error, pause);
                tracing::warn!(%error, pause_ms = pause.as_millis(), "a connection was not accepted");
                tokio::select! {
                    () = house.shutdown.cancelled() => return,
                    () = sleep(pause) => continue,
                }
            }
        };
        pause = Duration::ZERO;

        if let Ok(seat) = Arc::clone(&seats).try_acquire_owned() {
            let serving = connection::serve(Arc::clone(house), stream, peer);
            tasks.spawn(async move {
                serving.await;
                drop(seat);
            });
        } else if let Ok(place) = Arc::clone(&turned_away).try_acquire_owned() {
            let refusal = DoorRefusal::connections_exhausted(house.settings.connections_max);
            let cut = house.cut.clone();
            tasks.spawn(async move {
                cut.run_until_cancelled(turn_away(stream, refusal)).await;
                drop(place);
            });
        }
    }
}

/// How long to wait after a failed accept. A peer that gave up costs nothing; anything else, such
/// as no file descriptor left, will be the same a moment later, so each wait is longer.
fn next_pause(error: &io::Error, pause: Duration) -> Duration {
    match error.kind() {
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted => Duration::ZERO,
        _ => (pause * 2).clamp(PAUSE_FIRST, PAUSE_MAX),
    }
}

/// Answers a connection that there is no room for, without reading what it asks.
async fn turn_away(mut stream: TcpStream, refusal: DoorRefusal) {
    let answer = refusal.into_bytes();
    let telling = async {
        stream.write_all(&answer).await?;
        stream.shutdown().await?;
        // Read on, or the request that lies unread would reset the connection before the answer
        // has arrived.
        let mut unread = [0; 1024];
        while stream.read(&mut unread).await? > 0 {}
        io::Result::Ok(())
    };
    // Whether it was heard makes no difference to us.
    let _ = timeout(LINGER, telling).await;
}

#[cfg(test)]
mod tests;
