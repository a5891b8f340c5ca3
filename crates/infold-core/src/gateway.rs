//! The gateway: what is decided about the tools of other MCP servers.
//!
//! Starting servers, calling their tools and keeping what they answer are other crates' work.

mod parameters;
mod search;
mod stem;
mod words;

pub use search::{SearchedTool, ToolHit, ToolIndex};
