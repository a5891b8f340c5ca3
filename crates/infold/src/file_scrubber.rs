//! The scrubber of commands that work on files. It needs only the key from the data folder, with which placeholders are
//! made. It creates nothing else there and opens no database.

use infold_core::{Mask, ScrubError, Scrubbed};
use infold_engine::TimedScrubber;
use infold_store::{KEY_BYTES, KEY_FILE};
use tokio::runtime::Runtime;

use crate::commands::Invocation;
use crate::data_folder::{self, DataFolder};
use crate::parts;

/// Takes secrets out of texts, for commands that are not async: each call waits until the texts are scrubbed.
pub struct FileScrubber {
    scrubber: TimedScrubber,
    /// `None` only while this is being dropped.
    runtime: Option<Runtime>,
}

impl FileScrubber {
    /// Reads the key, or creates one if there is none yet. If none can be stored, placeholders are good for this run
    /// alone.
    pub fn new(invocation: &Invocation) -> anyhow::Result<Self> {
        let key = stored_key(invocation)?.map_or_else(one_time_key, Ok)?;
        let settings = parts::scrub_settings(&invocation.in_force.settings)?;
        let scrubber = settings.scrubber(&key);
        Ok(Self { scrubber: TimedScrubber::new(scrubber, &settings), runtime: Some(parts::asking_runtime()?) })
    }

    /// Takes the secrets out of all texts. If one of them cannot be scrubbed, none is returned.
    pub fn scrub(&self, texts: Vec<String>) -> Result<Vec<Scrubbed>, ScrubError> {
        let runtime = self.runtime.as_ref().ok_or(ScrubError::Missing)?;
        runtime.block_on(self.scrubber.scrub(texts))
    }

    /// Finds the secrets in a text.
    pub fn report(&self, text: String) -> Result<Vec<Mask>, ScrubError> {
        let runtime = self.runtime.as_ref().ok_or(ScrubError::Missing)?;
        runtime.block_on(self.scrubber.report(text))
    }
}

impl Drop for FileScrubber {
    /// Does not wait for a scrubber that is stuck: the command has to report that error.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn stored_key(invocation: &Invocation) -> anyhow::Result<Option<[u8; KEY_BYTES]>> {
    let Ok(path) = data_folder::location(&invocation.in_force) else { return Ok(None) };
    let folder = match DataFolder::existing(path.clone())? {
        Some(folder) => folder,
        // A data folder that cannot be created is no reason not to read a file.
        None => match DataFolder::create(path) {
            Ok(folder) => folder,
            Err(_) => return Ok(None),
        },
    };
    let database = folder.database(invocation.in_force.settings.store.backend);
    match infold_store::key_beside(&database) {
        Err(_) if !database.with_file_name(KEY_FILE).exists() => Ok(None),
        key => Ok(key?),
    }
}

fn one_time_key() -> anyhow::Result<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(|error| anyhow::anyhow!("no random numbers: {error}"))?;
    Ok(key)
}
