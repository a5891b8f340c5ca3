//! What people recognise a session by in a list: a short id that can be typed, and the folder it works in.

use std::collections::BTreeMap;

use infold_core::SessionId;
use infold_engine::ListedSession;

use crate::draw::{Style, columns, one_line};

/// Characters of a UUID that are shown, unless another session's begins with the same ones.
const UUID_CHARS_MIN: usize = 8;
const UUID_CHARS: usize = 36;
/// Most columns of a folder, unless its last part alone is longer.
const FOLDER_COLUMNS: usize = 24;

/// A short id for each session: as much of it as no other session's id begins with. Ids that people chose stay whole.
pub fn short_ids(sessions: &[ListedSession]) -> BTreeMap<SessionId, String> {
    let mut ids: Vec<&SessionId> = sessions.iter().map(|session| &session.id).collect();
    ids.sort();
    let mut short = BTreeMap::new();
    for (at, id) in ids.iter().enumerate() {
        // In alphabetical order, the ids that share most with this one are beside it.
        let before = at.checked_sub(1).and_then(|at| ids.get(at));
        let after = ids.get(at + 1).filter(|after| !after.as_str().starts_with(id.as_str()));
        let shared = before.into_iter().chain(after).map(|other| shared_chars(id.as_str(), other.as_str()));
        let needed = shared.max().unwrap_or(0) + 1;
        let shown = shortest(id.as_str()).max(needed).min(id.as_str().len());
        short.insert((*id).clone(), id.as_str()[..shown].to_owned());
    }
    short
}

/// How many characters both begin with. Ids are ASCII, so bytes are characters.
fn shared_chars(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}

/// Fewest characters of an id that are shown: up to the first part of the UUID in it, or all.
fn shortest(id: &str) -> usize {
    let starts = 0..=id.len().saturating_sub(UUID_CHARS);
    let uuid_at = starts.into_iter().find(|at| id.get(*at..at + UUID_CHARS).is_some_and(is_uuid));
    uuid_at.map_or(id.len(), |at| at + UUID_CHARS_MIN)
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// A folder in few columns: `~` for the home folder, and of a long path its end, which says more than its beginning.
pub fn short_folder(folder: &str, home: Option<&str>, style: &Style) -> String {
    let folder = one_line(folder);
    let below_home = home.and_then(|home| folder.strip_prefix(home)).filter(|rest| rest.starts_with('/'));
    let folder = match below_home {
        Some(rest) => format!("~{rest}"),
        None if Some(folder.as_str()) == home => "~".to_owned(),
        None => folder,
    };
    if columns(&folder) <= FOLDER_COLUMNS {
        return folder;
    }
    let more = style.either("…", "...");
    let mut kept = String::new();
    for part in folder.rsplit('/') {
        if columns(&kept) + columns(part) + 1 + columns(more) > FOLDER_COLUMNS && !kept.is_empty() {
            break;
        }
        kept = format!("/{part}{kept}");
    }
    format!("{more}{kept}")
}

#[cfg(test)]
mod tests;
