//! Speaks MCP for infold: the tools, over stdio and streamable HTTP, in both protocol eras.
//!
//! This is the only crate that names a type of the protocol library. It reads arguments, asks the
//! engine, and renders answers; it decides nothing about branches and stores nothing. In `gateway` it speaks to other
//! servers, as their client.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod answer;
mod arguments;
mod call;
mod client_line;
#[cfg(feature = "conformance")]
mod fixtures;
pub mod gateway;
mod http;
mod instructions;
mod metrics;
mod own_client;
mod refused;
mod relay;
mod resources;
mod server;
mod settings;
mod stdio;
#[cfg(test)]
mod testing;
mod tools;

#[cfg(feature = "conformance")]
pub use http::conformance_router;
pub use http::http_router;
pub use own_client::link_own_agent;
pub use relay::{Gateway, GatewayListing, GatewaySetup, HostedServer, ServerNow};
pub use server::{Server, ShownTools};
pub use settings::{ErrorStyle, SessionFrom, Settings, ToolFamily};
#[cfg(feature = "conformance")]
pub use stdio::serve_fixtures;
pub use stdio::{StdioError, serve_stdio, serve_streams};

/// The log target of the protocol library. At levels below `error` it logs whole messages, unscrubbed, so the
/// program keeps it at `error` whatever level is asked for.
pub const HELD_TO_ERROR_LOG_TARGET: &str = "rmcp";
