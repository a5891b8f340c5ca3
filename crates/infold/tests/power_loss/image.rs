//! Looks at a disk after a power loss: it must open as the program opens it, be sound, and hold once
//! what was acknowledged.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use infold_core::{Event, Owner};
use infold_store::{FeedQuery, RecordedEvent, Store, StoreSettings, Synchronous};

use crate::power_loss::workload::{Answer, Operation};

const DATABASE: &str = "infold.db";

/// More events than any recording has.
const EVENTS_MAX: usize = 1_000_000;

/// What is on a disk, against what was acknowledged.
#[derive(Debug)]
pub enum Verdict {
    /// Everything that was acknowledged is there.
    Whole {
        /// How many operations were acknowledged.
        acknowledged: usize,
    },
    /// Something that was acknowledged is missing.
    Lost {
        /// The first thing that is missing.
        what: String,
    },
}

/// Opens the database in `image` and compares it with what was acknowledged. A database that does
/// not open, is unsound, or holds something twice is an error.
pub async fn examine(image: &Path, required: &[Answer]) -> Result<Verdict> {
    let path = image.join(DATABASE);
    if !path.exists() && !required.is_empty() {
        return Ok(Verdict::Lost { what: "the whole database".to_owned() });
    }
    let settings = StoreSettings {
        synchronous: Synchronous::Full,
        busy_timeout_ms: 10_000,
        readers_max: 1,
        cluster: None,
        checkpoint_pages: 1_000,
    };
    let store = Store::open(&path, &settings).context("the database does not open")?;
    let query = FeedQuery { owner: Owner::local(), session: None, after: 0, limit: EVENTS_MAX };
    let events = store.events(query).await.context("the events cannot be read")?;
    check_soundness(&path)?;

    let counted = Counted::of(&events);
    counted.refuse_doubles()?;
    let missing = required.iter().find(|answer| !counted.has(&answer.operation));
    let untaught = untaught(&path, required, &counted)?;
    Ok(match missing {
        Some(answer) => Verdict::Lost { what: format!("{:?}", answer.operation) },
        None if untaught.is_some() => Verdict::Lost { what: format!("the lesson of {untaught:?}") },
        None => Verdict::Whole { acknowledged: required.len() },
    })
}

/// A branch whose return was acknowledged with a lesson that is neither kept nor waits to be learnt. A lesson is kept
/// once. Branches that were rolled back to are left out: what they taught may be taken back.
fn untaught(path: &Path, required: &[Answer], counted: &Counted) -> Result<Option<String>> {
    let database = rusqlite::Connection::open(path)?;
    let doubled: u64 = database.query_row(
        "SELECT count(*) FROM (SELECT 1 FROM memories WHERE branch IS NOT NULL
         GROUP BY branch, generation, ordinal HAVING count(*) > 1)",
        [],
        |row| row.get(0),
    )?;
    ensure!(doubled == 0, "{doubled} lessons are there twice");
    let mut statement = database.prepare("SELECT branch FROM memory_lessons UNION SELECT branch FROM memories")?;
    let taught = statement.query_map([], |row| row.get::<_, Option<String>>(0))?;
    let taught: HashSet<String> = taught.filter_map(|branch| branch.transpose()).collect::<Result<_, _>>()?;
    let is_untaught = |operation: &&Operation| match operation {
        Operation::Folded { branch, .. } => !taught.contains(branch) && !counted.rolled_back.contains_key(branch),
        Operation::Opened { .. } | Operation::RolledBack { .. } => false,
    };
    let operations = required.iter().map(|answer| &answer.operation);
    Ok(operations.into_iter().find(is_untaught).map(|operation| operation.branch().to_owned()))
}

/// How often each thing happened, according to the log.
#[derive(Debug, Default)]
struct Counted {
    opened: HashMap<(String, String), usize>,
    folded: HashMap<(String, String), usize>,
    rolled_back: HashMap<String, usize>,
}

impl Counted {
    fn of(events: &[RecordedEvent]) -> Self {
        let mut counted = Self::default();
        for recorded in events {
            match &recorded.event {
                Event::BranchOpened(opening) => {
                    let key = (opening.branch.to_string(), tag(opening.description.as_str()));
                    *counted.opened.entry(key).or_default() += 1;
                }
                Event::BranchEnded { branch, result, .. } => {
                    let key = (branch.to_string(), tag(result.as_str()));
                    *counted.folded.entry(key).or_default() += 1;
                }
                Event::RolledBack { to, .. } => *counted.rolled_back.entry(to.to_string()).or_default() += 1,
                _ => {}
            }
        }
        counted
    }

    fn has(&self, operation: &Operation) -> bool {
        match operation {
            Operation::Opened { branch, tag } => self.opened.contains_key(&(branch.clone(), tag.clone())),
            Operation::Folded { branch, tag } => self.folded.contains_key(&(branch.clone(), tag.clone())),
            Operation::RolledBack { branch } => self.rolled_back.contains_key(branch),
        }
    }

    /// Each call was made once, so each tag and each rollback may be there once.
    fn refuse_doubles(&self) -> Result<()> {
        for counts in [&self.opened, &self.folded] {
            let mut tags: HashMap<&str, usize> = HashMap::new();
            for ((_, tag), count) in counts {
                *tags.entry(tag).or_default() += count;
            }
            let doubled = tags.iter().find(|(tag, count)| !tag.is_empty() && **count > 1);
            ensure!(doubled.is_none(), "there more than once: {doubled:?}");
        }
        let doubled = self.rolled_back.iter().find(|(_, count)| **count > 1);
        ensure!(doubled.is_none(), "rolled back to more than once: {doubled:?}");
        Ok(())
    }
}

/// The tag at the beginning of a text; empty if there is none.
fn tag(text: &str) -> String {
    let tagged = text.strip_prefix("[tag-").and_then(|rest| rest.split_once(']'));
    tagged.map(|(inner, _)| format!("[tag-{inner}]")).unwrap_or_default()
}

/// Checks that SQLite finds no fault, and that the tables beside the log agree with it.
fn check_soundness(path: &Path) -> Result<()> {
    let database = rusqlite::Connection::open(path)?;
    let fault: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    ensure!(fault == "ok", "the database is damaged: {fault}");
    let torn_sessions: u64 = database.query_row(
        "SELECT count(*) FROM sessions WHERE version <>
         (SELECT count(*) FROM events WHERE events.session_id = sessions.id)",
        [],
        |row| row.get(0),
    )?;
    ensure!(torn_sessions == 0, "{torn_sessions} sessions disagree with their logs");
    let open_agrees: bool = database.query_row(
        "SELECT count(*) = 0 FROM branches WHERE open <> (state ->> '$.status' IN ('created', 'active'))",
        [],
        |row| row.get(0),
    )?;
    ensure!(open_agrees, "branches are listed as open that are not, or the other way round");
    Ok(())
}
