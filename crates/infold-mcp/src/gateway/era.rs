//! The two eras of the protocol: how a connection begins in each, and what every request carries.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use super::error::LinkError;
use super::options::LinkIdentity;

/// The revision that the older era is asked for.
const LEGACY_VERSION: &str = "2025-11-25";
/// Revisions of the older era that are understood.
const LEGACY_VERSIONS: [&str; 4] = [LEGACY_VERSION, "2025-06-18", "2025-03-26", "2024-11-05"];
/// The revision of the newer era.
pub(super) const MODERN_VERSION: &str = "2026-07-28";
const META: &str = "_meta";
const PROGRESS_TOKEN: &str = "progressToken";
/// The keys in `_meta` by which a request of the newer era says itself who asks.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Which of the two eras a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEra {
    /// Up to 2025-11-25: a handshake, then requests within that session.
    Legacy,
    /// 2026-07-28: every request says itself who asks.
    Modern,
}

impl LinkEra {
    /// A word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

/// What a server says about itself.
#[derive(Debug, Clone)]
pub struct ServerAbout {
    /// The era that it speaks.
    pub era: LinkEra,
    /// The revision of the protocol.
    pub protocol: String,
    /// Its name.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// What it can do.
    pub capabilities: Value,
    /// How it wants to be used.
    pub instructions: Option<String>,
}

/// The parameters of the older era's handshake.
pub(super) fn initialize_params(identity: &LinkIdentity) -> Value {
    json!({
        "protocolVersion": LEGACY_VERSION,
        "capabilities": identity.capabilities,
        "clientInfo": identity.client_info,
    })
}

/// Reads the answer to `initialize`.
pub(super) fn initialized(mut result: Value) -> Result<ServerAbout, LinkError> {
    let protocol = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
    if !LEGACY_VERSIONS.contains(&protocol.as_str()) {
        return Err(LinkError::NotMcp(format!("its revision {protocol:?} is not known")));
    }
    let info = result.get_mut("serverInfo").map(Value::take).unwrap_or_default();
    Ok(about((LinkEra::Legacy, protocol), result, &info))
}

/// Reads the answer to `server/discover`. A server that does not have the newer revision is not of the newer era.
pub(super) fn discovered(mut result: Value) -> Result<ServerAbout, LinkError> {
    let versions = result.get("supportedVersions").and_then(Value::as_array);
    if !versions.is_some_and(|versions| versions.iter().any(|version| version == MODERN_VERSION)) {
        return Err(LinkError::NotMcp(format!("it does not have the revision {MODERN_VERSION}")));
    }
    let in_meta = result.pointer_mut("/_meta/io.modelcontextprotocol~1serverInfo").map(Value::take);
    let info = in_meta.or_else(|| result.get_mut("serverInfo").map(Value::take)).unwrap_or_default();
    Ok(about((LinkEra::Modern, MODERN_VERSION.to_owned()), result, &info))
}

fn about((era, protocol): (LinkEra, String), mut result: Value, info: &Value) -> ServerAbout {
    let text = |key: &str| info.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    ServerAbout {
        era,
        protocol,
        name: text("name"),
        version: text("version"),
        capabilities: result.get_mut("capabilities").map(Value::take).unwrap_or_default(),
        instructions: result.get("instructions").and_then(Value::as_str).map(str::to_owned),
    }
}

/// The parameters of a request, which are written with what is ours to say in place of what the caller may have said.
pub(super) struct RequestParams<'a> {
    pub(super) given: &'a Value,
    pub(super) era: LinkEra,
    pub(super) identity: &'a LinkIdentity,
    /// What the caller of this request can do, if it is not what the connection says.
    pub(super) capabilities: Option<&'a Value>,
    /// The token under which progress comes; `None` asks for none.
    pub(super) progress_token: Option<u64>,
}

impl RequestParams<'_> {
    /// What the caller says in `_meta` and we do not.
    fn given_meta(&self) -> impl Iterator<Item = (&String, &Value)> {
        let given = self.given.get(META).and_then(Value::as_object);
        given.into_iter().flatten().filter(|(key, _)| match key.as_str() {
            // A token of the caller's would be one of another connection.
            PROGRESS_TOKEN => false,
            VERSION | CLIENT_INFO | CAPABILITIES => self.era == LinkEra::Legacy,
            _ => true,
        })
    }
}

impl Serialize for RequestParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut params = serializer.serialize_map(None)?;
        for (key, value) in self.given.as_object().into_iter().flatten().filter(|(key, _)| *key != META) {
            params.serialize_entry(key, value)?;
        }
        if self.era == LinkEra::Modern || self.progress_token.is_some() || self.given_meta().next().is_some() {
            params.serialize_entry(META, &WrittenMeta(self))?;
        }
        params.end()
    }
}

/// The `_meta` of a request.
struct WrittenMeta<'a>(&'a RequestParams<'a>);

impl Serialize for WrittenMeta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(params) = self;
        let mut meta = serializer.serialize_map(None)?;
        for (key, value) in params.given_meta() {
            meta.serialize_entry(key, value)?;
        }
        if let Some(token) = params.progress_token {
            meta.serialize_entry(PROGRESS_TOKEN, &token)?;
        }
        if params.era == LinkEra::Modern {
            meta.serialize_entry(VERSION, MODERN_VERSION)?;
            meta.serialize_entry(CLIENT_INFO, &params.identity.client_info)?;
            meta.serialize_entry(CAPABILITIES, params.capabilities.unwrap_or(&params.identity.capabilities))?;
        }
        meta.end()
    }
}
