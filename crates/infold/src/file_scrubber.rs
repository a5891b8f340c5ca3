//! The scrubber of commands that work on files. Of the data folder it needs the key that placeholders are made with, and
//! makes nothing else there; no database is opened.

use infold_core::{ScrubError, Scrubbed, Scrubber};
use infold_engine::TimedScrubber;
use infold_store::{KEY_BYTES, KEY_FILE};
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
    /// Gets the key, and makes one where there is none yet. Where none can be kept, placeholders are good for this run
    /// alone.
    pub fn new(invocation: &Invocation) -> anyhow::Result<Self> {
        let key = kept_key(invocation)?.map_or_else(passing_key, Ok)?;
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

fn kept_key(invocation: &Invocation) -> anyhow::Result<Option<[u8; KEY_BYTES]>> {
    let Ok(path) = data_folder::location(&invocation.in_force) else { return Ok(None) };
    let folder = match DataFolder::existing(path.clone())? {
        Some(folder) => folder,
        // A folder that cannot be made keeps nobody from reading a file.
        None => match DataFolder::create(path) {
            Ok(folder) => folder,
            Err(_) => return Ok(None),
        },
    };
    match infold_store::key_beside(&folder.database()) {
        Err(_) if !folder.path().join(KEY_FILE).exists() => Ok(None),
        key => Ok(key?),
    }
}

fn passing_key() -> anyhow::Result<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(|error| anyhow::anyhow!("no random numbers: {error}"))?;
    Ok(key)
}
