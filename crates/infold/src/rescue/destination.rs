//! Where the new recording goes, so that its client finds it, and how to go on from there.

use std::path::{Path, PathBuf};

use anyhow::Context;
use infold_wire::{NewSession, RescueClient};
use time::OffsetDateTime;
use time::macros::format_description;

use super::Rescue;
use crate::data_folder::quoted;

/// Lengths of an id, and of the time in front of it in the name of a rollout (a recording of Codex).
const UUID_CHARS: usize = 36;
const ROLLOUT_TIME_CHARS: usize = 19;

/// Where a new recording goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The id of the new session and that of the old one.
    pub session: NewSession,
    pub path: PathBuf,
    /// What the user types to resume the session.
    pub go_on: String,
}

impl Destination {
    /// Chooses the place of the new recording: beside the original, or `output` if the user named one.
    pub fn of(rescue: &Rescue, output: Option<&Path>, folder: &Path) -> anyhow::Result<Self> {
        let client = rescue.client();
        // Clients look for a session by the id in the name of its file; Claude Code, given a path, goes by
        // the id in the lines. So the lines get the id that the name has.
        let named = output.filter(|output| !output.is_dir()).and_then(|output| id_in_name(client, output));
        let id = named.map_or_else(|| new_id(client), Ok)?;
        let name = match client {
            RescueClient::ClaudeCode => format!("{id}.jsonl"),
            RescueClient::Codex => format!("rollout-{}-{id}.jsonl", now()?),
        };
        let original = rescue.original();
        let path = match output {
            Some(output) if output.is_dir() => output.join(&name),
            Some(output) => output.to_owned(),
            // A compressed recording is not in the folder where its client looks.
            None if original.is_packed() => folder.join(&name),
            None => original.path().with_file_name(&name),
        };
        let is_beside = path.parent() == original.path().parent() && !original.is_packed();
        let location = if is_beside { Location::BesideOriginal } else { Location::OtherFolder };
        let go_on = go_on(client, &id, &path, location, &name)?;
        Ok(Self { session: NewSession { id, old_id: rescue.session().id.clone().unwrap_or_default() }, path, go_on })
    }
}

/// Where a new recording is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Location {
    /// The folder of the original, where the client looks.
    BesideOriginal,
    /// A folder in which the client does not look.
    OtherFolder,
}

/// What the user types to resume the session. A file in a folder or with a name that its client does not look for has
/// to be moved or renamed first.
fn go_on(client: RescueClient, id: &str, path: &Path, location: Location, name: &str) -> anyhow::Result<String> {
    let path = std::path::absolute(path)?;
    let has_name = id_in_name(client, &path).as_deref() == Some(id);
    Ok(match (client, has_name, location) {
        (RescueClient::ClaudeCode, true, Location::BesideOriginal) => format!("claude --resume {id}"),
        (RescueClient::ClaudeCode, true, Location::OtherFolder) => format!("claude --resume {}", quoted(&path)),
        (RescueClient::ClaudeCode, false, _) => {
            format!("rename it to {name}, then: claude --resume {}", quoted(&path.with_file_name(name)))
        }
        (RescueClient::Codex, true, Location::BesideOriginal) => format!("codex resume {id}"),
        (RescueClient::Codex, ..) => format!("put it into ~/.codex/sessions as {name}, then: codex resume {id}"),
    })
}

/// The id in a file's name; `None` if the name is not one that the client gives.
fn id_in_name(client: RescueClient, path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    let id = match client {
        RescueClient::ClaudeCode => name,
        RescueClient::Codex => name.strip_prefix("rollout-")?.get(ROLLOUT_TIME_CHARS..)?.strip_prefix('-')?,
    };
    let is_hex = |(at, c): (usize, char)| match at {
        8 | 13 | 18 | 23 => c == '-',
        _ => c.is_ascii_hexdigit(),
    };
    (id.len() == UUID_CHARS && id.char_indices().all(is_hex)).then(|| id.to_owned())
}

/// A new id of the kind that the client makes: random, and for Codex with the time in front.
fn new_id(client: RescueClient) -> anyhow::Result<String> {
    match client {
        RescueClient::ClaudeCode => random_id(),
        RescueClient::Codex => {
            let now_ms = OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000;
            let mut bytes = random()?;
            bytes[..6].copy_from_slice(&now_ms.to_be_bytes()[10..]);
            Ok(uuid(bytes, 7))
        }
    }
}

/// A random UUID.
pub fn random_id() -> anyhow::Result<String> {
    Ok(uuid(random()?, 4))
}

fn random() -> anyhow::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no random numbers: {error}"))?;
    Ok(bytes)
}

fn uuid(mut bytes: [u8; 16], version: u8) -> String {
    bytes[6] = bytes[6] & 0x0f | version << 4;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// The current time as it is written in the names of rollouts.
fn now() -> anyhow::Result<String> {
    let form = format_description!("[year]-[month]-[day]T[hour]-[minute]-[second]");
    OffsetDateTime::now_utc().format(form).context("the time cannot be written")
}
