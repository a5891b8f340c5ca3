//! The check of the servers that machines share their state through.

use std::path::Path;

use infold_store::{ClusterSettings, CreateStream, Store, StoreSettings};

use super::Finding;
use crate::data_folder::DATABASE;
use crate::failure::Refused;
use crate::settings::{Backend, Settings};
use crate::{cluster, parts};

/// Reaches the cluster and says what it is like; `None` if the state is in this machine's own file.
pub fn look(folder: &Path, settings: &Settings) -> Option<Finding> {
    match settings.store.backend {
        Backend::Sqlite => None,
        Backend::Nats => Some(reach(folder, settings).unwrap_or_else(|error| refused(&error))),
    }
}

fn reach(folder: &Path, settings: &Settings) -> anyhow::Result<Finding> {
    let Some(found) = cluster::settings(settings)? else { return Ok(Finding::Note("is not used".to_owned())) };
    if let Some((what, hint)) = cluster::exposed_secret(&settings.store.nats) {
        return Ok(Finding::bad(what, hint));
    }
    let index = folder.join(cluster::FOLDER).join(DATABASE);
    if !index.exists() {
        let what = "this machine has no index yet; it is made when infold first works with the cluster, with the key that \
                    `infold store key` is about";
        return Ok(Finding::Note(what.to_owned()));
    }
    let joined = StoreSettings {
        cluster: Some(ClusterSettings { create: CreateStream::Never, ..found }),
        ..parts::store_settings(settings)
    };
    let store = Store::open(&index, &joined).map_err(parts::store_error)?;
    let said = store.cluster().map_or_else(String::new, |state| cluster::describe(&state));
    Ok(Finding::Good(format!("{said}; {}", cluster::describe_sync(&settings.store.nats))))
}

fn refused(error: &anyhow::Error) -> Finding {
    match error.downcast_ref::<Refused>() {
        Some(refused) => Finding::bad(refused.message(), refused.hint_text()),
        None => Finding::bad(format!("{error:#}"), "see docs/cluster.md"),
    }
}
