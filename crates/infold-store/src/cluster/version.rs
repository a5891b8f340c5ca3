//! Which servers are new enough to keep the log.

use super::settings::ClusterSettings;
use crate::StoreError;

/// The oldest release that is used, as its first two numbers.
const OLDEST: (u64, u64) = (2, 12);

/// Refuses a server that is older, or that does not say how old it is.
pub(super) fn check_version(settings: &ClusterSettings, version: &str) -> Result<(), StoreError> {
    let mut numbers = version.trim_start_matches('v').split('.').map(|number| number.parse::<u64>().ok());
    let found = numbers.next().flatten().zip(numbers.next().flatten());
    if found.is_some_and(|found| found >= OLDEST) {
        return Ok(());
    }
    Err(StoreError::Unfit {
        path: format!("the server at {}", settings.servers.join(", ")),
        problem: format!("is nats-server {version}, which is too old"),
        remedy: format!("use {}.{} or newer on every server", OLDEST.0, OLDEST.1),
    })
}
