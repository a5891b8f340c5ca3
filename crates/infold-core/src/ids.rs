//! Names of things: sessions, branches, blobs, projects.
//!
//! A caller chooses a session's name. infold makes a branch's, and puts a code into it that only this database's key
//! can make. So text in some tool's output that merely looks like a branch id is not taken for one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A session's name: 1 to 128 of `A-Z a-z 0-9 . _ : -`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

/// Why a text is not a session's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("session_id must be 1 to 128 characters, each one of A-Z a-z 0-9 . _ : -")]
pub struct BadSessionId;

impl SessionId {
    /// Prefix of the names of sessions that hold what a rescue offloaded from a transcript.
    pub const RESCUED: &str = "rescue:";
    /// Most characters a session's name may have.
    pub const CHARS_MAX: usize = 128;

    /// Takes a text as a session's name, if it keeps to the rules for one.
    pub fn parse(text: &str) -> Result<Self, BadSessionId> {
        let allowed = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b':' | b'-');
        if text.is_empty() || text.len() > Self::CHARS_MAX || !text.bytes().all(allowed) {
            return Err(BadSessionId);
        }
        Ok(Self(text.to_owned()))
    }

    /// A name for a session that nobody named, made of 16 random bytes.
    pub fn mint(random: [u8; 16]) -> Self {
        Self(format!("sess_{}", uuid_text(random, 4)))
    }

    /// The name of the session that a client calls `session`; `agent` is the agent in it, if that is not the main one.
    /// A name that breaks the rules is hashed.
    pub fn of_client(session: &str, agent: Option<&str>) -> Self {
        let name = match agent {
            Some(agent) => format!("{session}:{agent}"),
            None => session.to_owned(),
        };
        Self::parse(&name).unwrap_or_else(|_| Self::hashed(name.as_bytes()))
    }

    /// A name made from a hash of `bytes`: the same bytes always give the same name.
    pub fn hashed(bytes: &[u8]) -> Self {
        Self(format!("x-{}", &blake3::hash(bytes).to_hex()[..32]))
    }

    /// The name as the caller spells it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SessionId {
    type Error = BadSessionId;
    fn try_from(text: String) -> Result<Self, BadSessionId> {
        Self::parse(&text)
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The key that branch ids of one database are made with.
#[derive(Clone)]
pub struct IdKey([u8; 32]);

impl IdKey {
    /// Derives the key for ids from a database's secret.
    pub fn derive(secret: &[u8; 32]) -> Self {
        Self(blake3::derive_key("infold 2026 branch ids", secret))
    }

    fn code(&self, random: &[u8; 8]) -> [u8; 8] {
        let digest = blake3::keyed_hash(&self.0, random);
        let mut code = [0; 8];
        code.copy_from_slice(&digest.as_bytes()[..8]);
        code
    }
}

impl fmt::Debug for IdKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdKey(..)")
    }
}

/// A branch's id, `br_<uuid>`. Half of the uuid is random, half proves that this database made it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BranchId(String);

impl BranchId {
    /// Makes an id from eight random bytes and the code that `key` gives them.
    pub fn mint(random: [u8; 8], key: &IdKey) -> Self {
        // The version bits are fixed before the code is made, so that it covers what is shown.
        let mut head = random;
        head[6] = (head[6] & 0x0f) | 0x80;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&head);
        bytes[8..].copy_from_slice(&key.code(&head));
        Self(format!("br_{}", uuid_text(bytes, 8)))
    }

    /// Reads an id that this database made; anything else is `None`, whatever it looks like.
    pub fn verify(text: &str, key: &IdKey) -> Option<Self> {
        let bytes = uuid_bytes(text.strip_prefix("br_")?)?;
        let mut head = [0; 8];
        head.copy_from_slice(&bytes[..8]);
        let id = Self::mint(head, key);
        (id.0 == text).then_some(id)
    }

    /// Reads an id back from the store, where only verified ids are written.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The whole id, with its `br_`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BranchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The handle of an offloaded result, `res_<uuid>`; a model passes it to `read_result` as `ref_id`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlobId(String);

impl BlobId {
    /// Makes a handle from 16 random bytes.
    pub fn mint(random: [u8; 16]) -> Self {
        Self(format!("res_{}", uuid_text(random, 4)))
    }

    /// Reads a handle; `None` if it does not have the form of one.
    pub fn parse(text: &str) -> Option<Self> {
        uuid_bytes(text.strip_prefix("res_")?)?;
        Some(Self(text.to_owned()))
    }

    /// The whole handle, with its `res_`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A hash of a project's path, which names the project in state keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProjectHash(String);

impl ProjectHash {
    /// Hashes a path that has been normalised already.
    pub fn of(normalised_path: &str) -> Self {
        Self(blake3::hash(normalised_path.as_bytes()).to_hex()[..16].to_owned())
    }

    /// The hash as 16 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads a hash back from the store, where only hashes are written.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }
}

/// One line of a session's tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Thread {
    /// The session's own thread.
    Main,
    /// The thread of this branch.
    Branch(BranchId),
}

impl Thread {
    /// The branch that the thread belongs to; `None` for the main thread.
    pub fn branch(&self) -> Option<&BranchId> {
        match self {
            Self::Main => None,
            Self::Branch(id) => Some(id),
        }
    }
}

impl From<String> for Thread {
    fn from(text: String) -> Self {
        if text == "main" { Self::Main } else { Self::Branch(BranchId(text)) }
    }
}

impl From<Thread> for String {
    fn from(thread: Thread) -> Self {
        match thread {
            Thread::Main => "main".to_owned(),
            Thread::Branch(id) => id.0,
        }
    }
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.branch().map_or("main", BranchId::as_str))
    }
}

fn uuid_text(mut bytes: [u8; 16], version: u8) -> String {
    bytes[6] = (bytes[6] & 0x0f) | (version << 4);
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.extend([byte >> 4, byte & 0x0f].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])));
    }
    text
}

fn uuid_bytes(text: &str) -> Option<[u8; 16]> {
    let dashes_fit =
        text.len() == 36 && text.bytes().enumerate().all(|(at, c)| (c == b'-') == matches!(at, 8 | 13 | 18 | 23));
    if !dashes_fit || !text.bytes().all(|c| c == b'-' || c.is_ascii_digit() || (b'a'..=b'f').contains(&c)) {
        return None;
    }
    let hex: String = text.chars().filter(|c| *c != '-').collect();
    let mut bytes = [0; 16];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
