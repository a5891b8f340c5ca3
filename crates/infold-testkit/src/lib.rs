//! What tests and chores need to drive the real program: a daemon in a folder of its own, small MCP
//! clients of both eras over HTTP and stdio, a model that plays a script, an agent that does what it says,
//! random numbers that can be repeated, and a disk that can lose power.
//!
//! The clients here are deliberately thin: they send what a test says and show what came back,
//! header, `_meta` and all, where a full SDK would hide it. Nothing in the program may depend on
//! this crate.

pub mod agent;
mod answer;
mod daemon;
mod disk;
mod era;
mod limits;
mod mcp_http;
mod mcp_stdio;
pub mod model;
mod seed;
mod sse;
mod temp;
mod trace;

pub use answer::{CallAnswer, CallError, JsonRpcError};
pub use daemon::{Daemon, DaemonSetup};
pub use disk::Disk;
pub use era::Era;
pub use limits::documented_limits;
pub use mcp_http::McpHttp;
pub use mcp_stdio::McpStdio;
pub use seed::{Rng, Seed};
pub use temp::TempFolder;
pub use trace::{Action, FileNumber, Step, Trace};
