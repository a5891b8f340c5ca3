//! Which machine does what has to be done once: folding what is overdue, deleting what is over, learning.
//!
//! The machine on duty holds the newest message of a subject, which servers delete when it is old. It says so again every few
//! seconds; when it stops, another one can take its place. Being on duty saves work and is not what safety rests on: what two
//! machines do at once is decided by the log.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::stream;

use super::log::{Log, describe};
use crate::StoreError;

/// How long a claim lasts on the servers.
const CLAIM: Duration = Duration::from_secs(10);
/// How often a machine claims its duty, or tries to.
pub(super) const EVERY: Duration = Duration::from_secs(3);
/// How long a machine believes itself on duty after it has asked for it. Less than the claim lasts.
const BELIEVED: Duration = Duration::from_secs(7);

/// Whoever has not asked for so long whether this machine is on duty does not do what that is about any more.
const WANTED: Duration = Duration::from_secs(10);

/// Until when this machine is on duty, and until when somebody wants to know, in milliseconds of its own clock that only goes
/// forward.
pub(crate) struct Duty {
    began: Instant,
    until_ms: AtomicU64,
    wanted_until_ms: AtomicU64,
}

impl Default for Duty {
    fn default() -> Self {
        Self { began: Instant::now(), until_ms: AtomicU64::new(0), wanted_until_ms: AtomicU64::new(0) }
    }
}

impl Duty {
    /// Whether this machine is on duty, for one who does what that is about, and will ask again.
    pub(crate) fn ask(&self) -> bool {
        self.wanted_until_ms.store(self.elapsed_ms(Instant::now() + WANTED), Ordering::SeqCst);
        self.is_held()
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.elapsed_ms(Instant::now()) < self.wanted_until_ms.load(Ordering::SeqCst)
    }

    pub(crate) fn is_held(&self) -> bool {
        self.elapsed_ms(Instant::now()) < self.until_ms.load(Ordering::SeqCst)
    }

    fn hold_from(&self, asked: Instant) {
        self.until_ms.store(self.elapsed_ms(asked + BELIEVED), Ordering::SeqCst);
    }

    fn give_back(&self) {
        self.until_ms.store(0, Ordering::SeqCst);
    }

    fn elapsed_ms(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.began).as_millis()).unwrap_or(u64::MAX)
    }
}

/// A machine's claims of the duty.
#[derive(Default)]
pub(super) struct Claims {
    /// The sequence of this machine's last claim, as long as it may be the newest.
    last: u64,
}

impl Claims {
    /// Claims the duty, or claims it again. Whether that worked is in `duty`.
    pub(super) async fn claim(&mut self, log: &Log, duty: &Duty) {
        let asked = Instant::now();
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Expected-Last-Subject-Sequence", self.last.to_string().as_str());
        let wait = Duration::from_millis(log.settings.attempt_ms);
        let claimed = tokio::time::timeout(wait, async {
            log.context.publish_with_headers(log.duty_subject(), headers, bytes::Bytes::new()).await?.await
        });
        match claimed.await {
            Ok(Ok(acknowledged)) => {
                self.last = acknowledged.sequence;
                duty.hold_from(asked);
            }
            Ok(Err(error)) if error.kind() == PublishErrorKind::StreamNotFound => {
                self.last = 0;
                // Nobody waits for this.
                if !matches!(tokio::time::timeout(wait, make_stream(log)).await, Ok(Ok(()))) {
                    tracing::warn!("the stream of claims is gone, and could not be made again yet");
                }
            }
            // The claim has lapsed, or is another machine's: it is free when there is none at all.
            Ok(Err(error)) => {
                tracing::debug!(problem = describe(&error), "the duty is another machine's");
                self.last = 0;
            }
            // It may have been taken: what was believed before is believed until its time is over.
            Err(_) => self.last = 0,
        }
    }
}

impl Claims {
    /// Gives the duty back, if this machine has it, so that another one need not wait until the claim lapses.
    pub(super) async fn release(&mut self, log: &Log, duty: &Duty) {
        let last = std::mem::take(&mut self.last);
        if last == 0 || !duty.is_held() {
            return;
        }
        duty.give_back();
        let wait = Duration::from_millis(log.settings.attempt_ms);
        let released = tokio::time::timeout(wait, async {
            // Without an answer the claim lapses by itself.
            if let Ok(stream) = log.context.get_stream(stream_name(log)).await {
                let _ = stream.delete_message(last).await;
            }
        });
        let _ = released.await;
    }
}

fn stream_name(log: &Log) -> String {
    format!("{}_DUTY", log.settings.stream)
}

/// Makes the stream of claims, if it is not there.
pub(super) async fn make_stream(log: &Log) -> Result<(), StoreError> {
    let config = stream::Config {
        name: stream_name(log),
        description: Some("Which of infold's machines does what is done once".to_owned()),
        subjects: vec![log.duty_subject()],
        max_messages_per_subject: 1,
        max_age: CLAIM,
        storage: stream::StorageType::Memory,
        num_replicas: log.settings.replicas,
        ..Default::default()
    };
    log.make_beside(config).await
}
