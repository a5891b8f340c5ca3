//! The scrubber behind a time limit. Whatever goes wrong, the text does not get through.

use std::sync::Arc;
use std::time::Duration;

use infold_core::{ScrubError, Scrubbed, Scrubber};

use crate::Engine;

/// A fault that tests plant, to see that nothing leaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrubFault {
    /// None: the scrubber works.
    None,
    /// It panics.
    Panic,
    /// It never comes back.
    Stall,
    /// There is none.
    Missing,
}

/// How scrubbing is bounded.
#[derive(Debug, Clone)]
pub struct ScrubSettings {
    /// How long it may take.
    pub timeout_ms: u64,
    /// Most bytes in one text.
    pub bytes_max: usize,
    /// A planted fault.
    pub fault: ScrubFault,
}

pub(crate) struct Scrubbing {
    scrubber: Option<Arc<Scrubber>>,
    timeout_ms: u64,
    fault: ScrubFault,
}

impl Scrubbing {
    pub(crate) fn new(scrubber: Scrubber, settings: &ScrubSettings) -> Self {
        let scrubber = (settings.fault != ScrubFault::Missing).then(|| Arc::new(scrubber));
        Self { scrubber, timeout_ms: settings.timeout_ms, fault: settings.fault }
    }

    /// Scrubs several texts, all or none.
    async fn scrub<const N: usize>(&self, texts: [String; N]) -> Result<[Scrubbed; N], ScrubError> {
        let scrubber = Arc::clone(self.scrubber.as_ref().ok_or(ScrubError::Missing)?);
        let fault = self.fault;
        let work = tokio::task::spawn_blocking(move || {
            misbehave(fault);
            let mut scrubbed = [const { None }; N];
            for (slot, text) in scrubbed.iter_mut().zip(&texts) {
                *slot = Some(scrubber.scrub(text)?);
            }
            Ok(scrubbed.map(Option::unwrap_or_default))
        });
        match tokio::time::timeout(Duration::from_millis(self.timeout_ms), work).await {
            Ok(Ok(scrubbed)) => scrubbed,
            Ok(Err(_panicked)) => Err(ScrubError::Panicked),
            Err(_elapsed) => Err(ScrubError::Stalled { timeout_ms: self.timeout_ms }),
        }
    }
}

fn misbehave(fault: ScrubFault) {
    match fault {
        ScrubFault::Panic => std::panic::resume_unwind(Box::new("planted fault")),
        // Long enough to be for ever beside any time limit, short enough to let a process end.
        ScrubFault::Stall => std::thread::sleep(Duration::from_secs(120)),
        ScrubFault::None | ScrubFault::Missing => {}
    }
}

impl Engine {
    /// Takes the secrets out of texts, all or none.
    pub async fn scrub<const N: usize>(&self, texts: [String; N]) -> Result<[Scrubbed; N], ScrubError> {
        let scrubbed = self.inner.scrubbing.scrub(texts).await;
        self.inner.metrics.scrubbed(&scrubbed);
        scrubbed
    }
}
