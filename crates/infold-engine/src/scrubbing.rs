//! The scrubber with a time limit. Whatever goes wrong, the text does not get through.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use infold_core::{Mask, RuleSet, ScrubError, Scrubbed, Scrubber};

use crate::Engine;

/// Texts up to this length are scrubbed on the calling thread: they are too short to take long, and waking another
/// thread would take longer.
const SHORT_BYTES_MAX: usize = 4096;

/// A fault that tests inject, to see that nothing leaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrubFault {
    /// No fault: the scrubber works.
    None,
    /// The scrubber panics on every text.
    Panic,
    /// The scrubber takes longer than its time limit.
    Stall,
    /// There is no scrubber at all.
    Missing,
}

/// What scrubbing looks for, and its bounds.
#[derive(Debug, Clone)]
pub struct ScrubSettings {
    /// How long one call of the scrubber may take.
    pub timeout_ms: u64,
    /// The longest text that is scrubbed, in bytes.
    pub bytes_max: usize,
    /// What is searched for; `None` means the rules that are built in.
    pub rules: Option<Arc<RuleSet>>,
    /// A fault that tests inject; `None` outside of tests.
    pub fault: ScrubFault,
}

/// A scrubber that gives up after a time limit.
pub struct TimedScrubber {
    scrubber: Option<Arc<Scrubber>>,
    timeout_ms: u64,
    fault: ScrubFault,
}

impl ScrubSettings {
    /// The scrubber of a database with this secret.
    pub fn scrubber(&self, secret: &[u8; 32]) -> Scrubber {
        let scrubber = Scrubber::derive(secret).with_max_bytes(self.bytes_max);
        match &self.rules {
            Some(rules) => scrubber.with_rules(Arc::clone(rules)),
            None => scrubber,
        }
    }
}

impl TimedScrubber {
    /// Puts a scrubber behind these bounds.
    pub fn new(scrubber: Scrubber, settings: &ScrubSettings) -> Self {
        let scrubber = (settings.fault != ScrubFault::Missing).then(|| Arc::new(scrubber));
        Self { scrubber, timeout_ms: settings.timeout_ms, fault: settings.fault }
    }

    /// Takes the secrets out of texts, all or none. It has to be called within a tokio runtime.
    pub async fn scrub(&self, texts: Vec<String>) -> Result<Vec<Scrubbed>, ScrubError> {
        self.within_bounds(texts, |scrubber, texts| texts.iter().map(|text| scrubber.scrub(text)).collect()).await
    }

    /// Takes the secrets out of the parts of one text, also those that begin in one part and end in another.
    pub async fn scrub_parts(&self, parts: Vec<String>) -> Result<Vec<Scrubbed>, ScrubError> {
        let work = |scrubber: &Scrubber, parts: &[String]| {
            scrubber.scrub_parts(&parts.iter().map(String::as_str).collect::<Vec<_>>())
        };
        self.within_bounds(parts, work).await
    }

    /// Finds the secrets in a text. It has to be called within a tokio runtime.
    pub async fn report(&self, text: String) -> Result<Vec<Mask>, ScrubError> {
        let found = self.within_bounds(vec![text], |scrubber, texts| {
            texts.iter().map(|text| scrubber.report(text)).collect::<Result<Vec<_>, _>>()
        });
        Ok(found.await?.into_iter().flatten().collect())
    }

    /// Does work on texts, in time or not at all.
    async fn within_bounds<T: Send + 'static>(
        &self,
        texts: Vec<String>,
        work: impl FnOnce(&Scrubber, &[String]) -> Result<T, ScrubError> + Send + 'static,
    ) -> Result<T, ScrubError> {
        let scrubber = Arc::clone(self.scrubber.as_ref().ok_or(ScrubError::Missing)?);
        let (fault, timeout) = (self.fault, Duration::from_millis(self.timeout_ms));
        let is_short = texts.iter().map(String::len).sum::<usize>() <= SHORT_BYTES_MAX;
        let work = move || {
            misbehave(fault, timeout);
            work(&scrubber, &texts)
        };
        let began = Instant::now();
        let done = if is_short {
            Ok(std::panic::catch_unwind(AssertUnwindSafe(work)).map_err(drop))
        } else {
            tokio::time::timeout(timeout, tokio::task::spawn_blocking(work)).await.map(|done| done.map_err(drop))
        };
        match done {
            Ok(Ok(scrubbed)) if began.elapsed() <= timeout => scrubbed,
            Ok(Err(_panicked)) => Err(ScrubError::Panicked),
            Ok(Ok(_)) | Err(_) => Err(ScrubError::Stalled { timeout_ms: self.timeout_ms }),
        }
    }
}

fn misbehave(fault: ScrubFault, timeout: Duration) {
    match fault {
        ScrubFault::Panic => std::panic::resume_unwind(Box::new("planted fault")),
        // Well past the time limit, but short enough for the process to end.
        ScrubFault::Stall => std::thread::sleep(timeout * 2 + Duration::from_millis(100)),
        ScrubFault::None | ScrubFault::Missing => {}
    }
}

impl Engine {
    /// Takes the secrets out of texts, all or none.
    pub async fn scrub<const N: usize>(&self, texts: [String; N]) -> Result<[Scrubbed; N], ScrubError> {
        let scrubbed = self.scrub_list(Vec::from(texts)).await?;
        // As many texts come back as went in, so this does not fail.
        <[Scrubbed; N]>::try_from(scrubbed).map_err(|_| ScrubError::Panicked)
    }

    /// Takes the secrets out of texts, all or none, within the time limit of one call of the scrubber.
    pub(crate) async fn scrub_list(&self, texts: Vec<String>) -> Result<Vec<Scrubbed>, ScrubError> {
        let scrubbed = self.inner.scrubbing.scrub(texts).await;
        self.inner.metrics.scrubbed(&scrubbed);
        scrubbed
    }

    /// Takes the secrets out of the parts of one text, all or none.
    pub(crate) async fn scrub_parts(&self, parts: Vec<String>) -> Result<Vec<Scrubbed>, ScrubError> {
        let scrubbed = self.inner.scrubbing.scrub_parts(parts).await;
        self.inner.metrics.scrubbed(&scrubbed);
        scrubbed
    }

    /// The scrubber itself, for whoever has to recognise secrets and placeholders without waiting.
    pub fn scrubber(&self) -> Scrubber {
        self.inner.scrubber.clone()
    }

    /// Finds the first placeholder in a text that was made with this database's key.
    pub fn own_placeholder(&self, text: &str) -> Option<String> {
        self.inner.scrubber.own_placeholders(text).next().map(str::to_owned)
    }
}
