//! What tests and chores need to run the real program: a daemon in a folder of its own, small MCP clients
//! of both eras over HTTP and stdio, a model that plays a script, an agent that makes the calls the model
//! asks for, a server that asks for a login, NATS servers that can be killed and cut off, random numbers that can be
//! repeated, a clock that can be moved, long results with errors in them, and a disk that can lose power.
//!
//! The clients here are thin on purpose: they send what a test gives them and show all of the answer,
//! with its header and `_meta`, which a full SDK would hide. Nothing in the program may depend on this crate.

pub mod agent;
mod answer;
mod clock;
mod daemon;
mod disk;
mod embeddings;
mod era;
mod limits;
mod mcp_http;
mod mcp_stdio;
mod memory_rules;
pub mod misbehave;
pub mod model;
pub mod nats;
pub mod oauth;
pub mod planted;
mod seed;
mod sse;
mod temp;
pub mod terminal;
mod trace;

pub use answer::{CallAnswer, CallError, JsonRpcError};
pub use clock::MovedClock;
pub use daemon::{Daemon, DaemonSetup};
pub use disk::Disk;
pub use embeddings::{Embeddings, EmbeddingsMood};
pub use era::Era;
pub use limits::documented_limits;
pub use mcp_http::McpHttp;
pub use mcp_stdio::McpStdio;
pub use memory_rules::documented_memory_rules;
pub use seed::{Rng, Seed};
pub use temp::TempFolder;
pub use trace::{Action, FileNumber, Step, Trace};
