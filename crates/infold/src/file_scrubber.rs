//! The scrubber of commands that work on files. Of the data folder it needs the key that placeholders are made with;
//! nothing is made there, and no database is opened.

use infold_core::{ScrubError, Scrubbed, Scrubber};
use infold_engine::TimedScrubber;
use infold_store::KEY_BYTES;
use tokio::runtime::Runtime;

use crate::commands::Invocation;
use crate::data_folder::{self, DataFolder};
use crate::parts;

/// Takes secrets out of texts, and waits for it.
pub struct FileScrubber {
    scrubber: TimedScrubber,
    /// There until this is dropped.
    runtime: Option<Runtime>,
}

impl FileScrubber {
    /// Gets the key. Where there is none yet, placeholders are good for this run alone.
    pub fn new(invocation: &Invocation) -> anyhow::Result<Self> {
        let key =
            match data_folder::location(&invocation.in_force).ok().map(DataFolder::existing).transpose()?.flatten() {
                Some(folder) => infold_store::read_key(folder.path())?,
                None => None,
            };
        let key = key.map_or_else(passing_key, Ok)?;
        let settings = parts::scrub_settings(&invocation.in_force.settings);
        let scrubber = Scrubber::derive(&key).with_max_bytes(settings.bytes_max);
        Ok(Self { scrubber: TimedScrubber::new(scrubber, &settings), runtime: Some(parts::asking_runtime()?) })
    }

    /// Takes the secrets out of texts, all or none.
    pub fn scrub(&self, texts: Vec<String>) -> Result<Vec<Scrubbed>, ScrubError> {
        let runtime = self.runtime.as_ref().ok_or(ScrubError::Missing)?;
        runtime.block_on(self.scrubber.scrub(texts))
    }
}

impl Drop for FileScrubber {
    /// A scrubber that is stuck must not hold up the refusal.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn passing_key() -> anyhow::Result<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(|error| anyhow::anyhow!("no random numbers: {error}"))?;
    Ok(key)
}
