//! What happens by itself: branches run out of time, sessions lapse, archived branches are deleted, and the database is
//! looked through for damage.
//!
//! Deadlines are stored, so whichever process is alive folds what is overdue, also after a restart.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use infold_core::Session;
use infold_store::{EndedBranches, Sweep, Target};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{Engine, Error};

/// How long things are stored.
#[derive(Debug, Clone, Copy)]
pub struct TimerSettings {
    /// How long after its last activity a session lapses.
    pub live_ms: u64,
    /// How long an ended branch is stored.
    pub retention_ms: u64,
}

/// The longest pause between two looks: another process may have opened a branch and died.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(5);
const SWEEP_EVERY_MS: u64 = 600_000;
/// The pause between two looks through the whole database for damage.
const LOOK_FOR_DAMAGE_EVERY: Duration = Duration::from_secs(3600);
const SESSIONS_AT_ONCE: usize = 100;

/// When the next branch runs out of time, as far as the timers know.
pub(crate) struct Alarm {
    next_ms: AtomicU64,
    /// Notified when a branch is opened that runs out of time earlier.
    earlier: Notify,
}

impl Default for Alarm {
    fn default() -> Self {
        Self { next_ms: AtomicU64::new(u64::MAX), earlier: Notify::new() }
    }
}

impl Alarm {
    /// Informs the timers of a session's deadlines. Most of them are later than the next one, and cost nothing.
    pub(crate) fn set_for(&self, session: &Session) {
        let Some(next_ms) = session.open().map(|branch| branch.deadline_ms).min() else { return };
        if self.next_ms.fetch_min(next_ms, Ordering::SeqCst) > next_ms {
            self.earlier.notify_one();
        }
    }
}

impl Engine {
    /// Folds overdue branches, deletes what is over, and writes recorded requests, until it is cancelled.
    pub async fn run_timers(&self, cancel: CancellationToken) {
        tokio::join!(
            self.watch_others(&cancel),
            self.keep_time(&cancel),
            self.write_requests(&cancel),
            self.write_gateway(&cancel),
            self.keep_learning(&cancel),
            self.keep_asking(&cancel),
            self.keep_embedding(&cancel),
            self.keep_looking_for_merges(&cancel),
            self.keep_comparing(&cancel),
            self.keep_documenting(&cancel),
            self.look_for_damage(&cancel)
        );
    }

    /// Looks through the database at the start, and again and again, so that damage is known before somebody needs what
    /// is lost.
    async fn look_for_damage(&self, cancel: &CancellationToken) {
        loop {
            self.log(self.inner.store.look_for_damage().await.map_err(Error::from));
            tokio::select! {
                () = cancel.cancelled() => return,
                () = tokio::time::sleep(LOOK_FOR_DAMAGE_EVERY) => {}
            }
        }
    }

    async fn keep_time(&self, cancel: &CancellationToken) {
        let mut swept_at_ms = None;
        loop {
            // Of several machines with one state, one does it.
            let is_on_duty = self.inner.store.is_on_duty();
            if is_on_duty {
                self.log(self.fold_overdue().await);
            }
            // What is over is so by the time of day: a machine that slept, or whose clock was set, need not wait.
            let is_swept = |at_ms: u64| self.now_ms().abs_diff(at_ms) < SWEEP_EVERY_MS;
            if is_on_duty && !swept_at_ms.is_some_and(is_swept) {
                self.log(self.sweep().await);
                swept_at_ms = Some(self.now_ms());
            }
            let rest = self.rest().await;
            tokio::select! {
                () = cancel.cancelled() => return,
                () = tokio::time::sleep(rest) => {}
                () = self.inner.alarm.earlier.notified() => {}
            }
        }
    }

    fn log(&self, outcome: Result<(), Error>) {
        if let Err(error) = outcome {
            tracing::error!(%error, "a timer could not do its work and will try again");
        }
    }

    async fn rest(&self) -> Duration {
        let next_ms = self.inner.store.next_deadline_ms().await.ok().flatten();
        self.inner.alarm.next_ms.store(next_ms.unwrap_or(u64::MAX), Ordering::SeqCst);
        let until_next = next_ms.map(|next_ms| Duration::from_millis(next_ms.saturating_sub(self.now_ms()).max(1)));
        until_next.map_or(LOOK_AT_LEAST_EVERY, |until_next| until_next.min(LOOK_AT_LEAST_EVERY))
    }

    /// Folds every branch whose time is over.
    pub async fn fold_overdue(&self) -> Result<(), Error> {
        loop {
            let due = self.inner.store.due(self.now_ms(), SESSIONS_AT_ONCE).await?;
            if due.is_empty() {
                return Ok(());
            }
            for key in due {
                self.find_session(Target::Session(key), EndedBranches::Nothing).await?;
            }
        }
    }

    /// Deletes sessions that have lapsed, and archived branches and requests past their time.
    pub async fn sweep(&self) -> Result<(), Error> {
        let now_ms = self.now_ms();
        let timers = self.inner.settings.timers;
        // A session with ends that wait to be learnt from does not lapse.
        self.log(self.learn().await);
        self.log(self.store_passed_ends().await);
        self.inner.store.sweep_requests(now_ms.saturating_sub(timers.retention_ms)).await?;
        let sweep = Sweep {
            active_before_ms: now_ms.saturating_sub(timers.live_ms),
            ended_before_ms: now_ms.saturating_sub(timers.retention_ms),
            sessions_max: SESSIONS_AT_ONCE,
        };
        loop {
            let swept = self.inner.store.sweep(sweep).await?;
            if swept.sessions < SESSIONS_AT_ONCE {
                break;
            }
        }
        self.inner.store.forget_lapsed_documents().await?;
        self.inner.store.trim_log().await?;
        Ok(())
    }
}
