//! The checks of the database, if there is one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use infold_core::Principal;
use infold_store::{Health, SessionQuery, Store, StoreError, StoredCalibration};

use super::{Check, Finding};
use crate::commands::sessions::now_ms;
use crate::data_folder::{DATABASE, quoted};
use crate::draw::{ago, duration, thousands};
use crate::parts;
use crate::settings::{Settings, Synchronous};

/// The file name of the database's write-ahead log. Without its database it is worth a look.
const LOG: &str = "infold.db-wal";
/// How far the newest event may lie in the future before the clock is not to be trusted.
const CLOCK_SKEW_MAX_MS: u64 = 60_000;
/// Thousandths of infold's estimate that a provider reports if both count alike.
const COUNTS_AGREE_PER_MILLE: u64 = 1_000;
/// How far a provider's figure may be from that before it is worth a note.
const COUNTS_APART_PER_MILLE: u64 = 300;
/// The beginning of 2025, before infold existed: a clock that shows less is wrong.
const CLOCK_MIN_MS: u64 = 1_735_689_600_000;

/// Checks the database's mode, structure, durability and token counts, and the clock against its latest event.
pub fn look(folder: &Path, settings: &Settings) -> anyhow::Result<Vec<Check>> {
    let path = folder.join(DATABASE);
    let Ok(metadata) = fs::metadata(&path).or_else(|_| fs::metadata(folder.join(LOG))) else {
        let finding = Finding::Note("does not exist yet; it is created on first use".to_owned());
        return Ok(vec![Check { name: "database", finding }, Check { name: "clock", finding: clock(None) }]);
    };
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        let what = format!("other users can read {} (mode {mode:04o})", path.display());
        let hint = format!("chmod 600 {}*", quoted(&path));
        return Ok(vec![Check { name: "database", finding: Finding::bad(what, hint) }]);
    }
    let looked = parts::asking_runtime()?.block_on(async {
        let store = Store::open(&path, &parts::store_settings(settings))?;
        let health = store.health().await?;
        let query = SessionQuery { owner: Principal::local().owner, offset: 0, limit: 1 };
        let newest = store.sessions(query).await?;
        let counts = store.calibrations().await?;
        let memories = memories(&store).await?;
        Ok::<_, StoreError>((health, newest.first().map(|row| row.session.active_at_ms), counts, memories))
    });
    Ok(match looked {
        Ok((health, newest_ms, counts, memories)) => vec![
            Check { name: "database", finding: structure(&health, &path) },
            Check { name: "durability", finding: durability(&health, settings) },
            Check { name: "token counts", finding: token_counts(&counts) },
            Check { name: "memories", finding: memories },
            Check { name: "clock", finding: clock(newest_ms) },
        ],
        Err(error) => vec![Check { name: "database", finding: cannot_open(&error, &path) }],
    })
}

fn cannot_open(error: &StoreError, path: &Path) -> Finding {
    if let StoreError::Unfit { path, problem, remedy } = error {
        return Finding::bad(format!("{path} {problem}"), remedy);
    }
    let hint = match error {
        StoreError::TooNew { .. } => "install the infold that made it, or a newer one".to_owned(),
        StoreError::DiskFull => "free some space".to_owned(),
        StoreError::File { .. } => "fix that file, and run `infold doctor` again".to_owned(),
        StoreError::Busy => "find the process that holds it, and try again".to_owned(),
        _ => format!("keep a copy of {}, and start with another folder (--data DIR)", quoted(path)),
    };
    Finding::bad(error.to_string(), hint)
}

fn structure(health: &Health, path: &Path) -> Finding {
    if health.check != "ok" {
        return Finding::bad(
            format!("SQLite's quick check failed: {}", health.check),
            format!("keep a copy of {}, and restore it from a backup", quoted(path)),
        );
    }
    Finding::Good(format!(
        "opens; schema {} of {}, SQLite {}, {} sessions, {} events",
        health.schema,
        health.schema_known,
        health.sqlite,
        thousands(health.sessions),
        thousands(health.events)
    ))
}

fn durability(health: &Health, settings: &Settings) -> Finding {
    if !health.journal_mode.eq_ignore_ascii_case("wal") {
        return Finding::bad(
            format!("the journal mode is {}, not a write-ahead log", health.journal_mode),
            "move the data folder to a local disk: network disks do not support a write-ahead log",
        );
    }
    match settings.store.synchronous {
        Synchronous::Full => Finding::Good("write-ahead log, synchronous=full: survives power loss".to_owned()),
        Synchronous::Normal => {
            Finding::Note("store.synchronous is \"normal\": a power failure can lose the latest writes".to_owned())
        }
    }
}

/// Checks that memories can be found, and that all ended branches could be learnt from.
async fn memories(store: &Store) -> Result<Finding, StoreError> {
    if let Err(error) = store.check_memory_words().await {
        let hint = "start infold: it makes the index anew from the memories";
        return Ok(Finding::bad(format!("cannot be searched: {error}"), hint));
    }
    let counts = store.memory_counts(Principal::local().owner, 0).await?;
    let failures = store.learning_failures().await?;
    let said = format!("{} are shown, {} wait for review", thousands(counts.live), thousands(counts.waiting));
    Ok(match failures.first() {
        Some((_, problem)) => {
            Finding::Note(format!("{said}; {} ends of branches could not be learnt from ({problem})", failures.len()))
        }
        None => Finding::Good(said),
    })
}

/// Compares the providers' token counts with infold's. Until a provider's are known, budgets rely on infold's own.
fn token_counts(counts: &[StoredCalibration]) -> Finding {
    if counts.is_empty() {
        return Finding::Note("not calibrated yet: no provider has reported token counts".to_owned());
    }
    let ratios = counts.iter().map(|count| {
        let ratio = count.per_mille as f64 / 1_000.0;
        let requests = thousands(count.samples);
        format!("{}: the provider counts {ratio:.2} times infold's estimate ({requests} requests)", count.family)
    });
    let ratios = ratios.collect::<Vec<_>>().join(", ");
    let is_far = |count: &StoredCalibration| count.per_mille.abs_diff(COUNTS_AGREE_PER_MILLE) > COUNTS_APART_PER_MILLE;
    if counts.iter().any(is_far) { Finding::Note(ratios) } else { Finding::Good(ratios) }
}

/// Checks the clock. Deadlines are points in time, so a clock that jumped would end branches early or late.
fn clock(newest_ms: Option<u64>) -> Finding {
    let now_ms = now_ms();
    if now_ms < CLOCK_MIN_MS {
        return Finding::bad("the clock is years slow", "set the clock");
    }
    match newest_ms {
        Some(newest_ms) if newest_ms > now_ms + CLOCK_SKEW_MAX_MS => Finding::bad(
            format!("the clock is {} behind the latest event", duration(newest_ms - now_ms)),
            "set the clock: branch deadlines depend on it",
        ),
        Some(newest_ms) => Finding::Good(format!("plausible; the latest event was {}", ago(now_ms, newest_ms))),
        None => Finding::Good("set".to_owned()),
    }
}
