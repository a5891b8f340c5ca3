//! The two eras of MCP that infold speaks, and the form of a request in each.

use serde_json::{Map, Value, json};

/// Which of the two eras of MCP a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// 2025-11-25: `initialize`, then requests within that session.
    Legacy,
    /// 2026-07-28: no handshake; each request says who sends it and what it understands.
    Modern,
}

impl Era {
    /// The protocol revision that a client of this era asks for.
    pub fn version(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }

    /// A JSON-RPC request of this era, with `meta` beside what the era itself demands in `_meta`.
    pub(crate) fn request(self, id: u64, method: &str, params: Value, meta: Map<String, Value>) -> Value {
        let mut params = match params {
            Value::Object(params) => params,
            _ => Map::new(),
        };
        let mut all_meta = match self {
            Self::Legacy => Map::new(),
            Self::Modern => self.request_meta(),
        };
        all_meta.extend(meta);
        if !all_meta.is_empty() {
            params.insert("_meta".to_owned(), Value::Object(all_meta));
        }
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    }

    /// What every request of the modern era carries, because there is no handshake to say it in.
    fn request_meta(self) -> Map<String, Value> {
        let mut meta = Map::new();
        meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), json!(self.version()));
        meta.insert("io.modelcontextprotocol/clientInfo".to_owned(), client_info());
        meta.insert("io.modelcontextprotocol/clientCapabilities".to_owned(), json!({}));
        meta
    }

    /// The parameters of the legacy era's handshake.
    pub(crate) fn initialize_params(self) -> Value {
        json!({
            "protocolVersion": self.version(),
            "capabilities": {},
            "clientInfo": client_info(),
        })
    }
}

fn client_info() -> Value {
    json!({"name": "infold-testkit", "version": env!("CARGO_PKG_VERSION")})
}
