//! A small coding agent in which folding is native: each branch is a thread of its own, branches run side by side, and
//! every compaction has a receipt and a way back.
//!
//! What a session is follows from its log: [`session`] says what [`record`]s lead to and what a thread needs next, and does
//! nothing. [`Agent`] does it: `turn` asks a model, `calls` and `branches` carry out what it wants, `compact` starts a
//! thread anew. [`provider`] turns a thread into a request and an answer into entries, [`tools`] does what a model asks for.
//! Requests go through the same operation of the engine as those of a client behind the proxy.

mod agent;
mod ask;
mod asked;
mod branches;
mod calls;
mod carried;
mod compact;
mod entry;
pub mod image;
pub mod instructions;
mod own_tools;
mod pacing;
pub mod points;
pub mod provider;
pub mod record;
pub mod session;
pub mod setup;
pub mod snapshot;
mod stop;
pub mod tools;
mod turn;
pub mod watch;
pub mod whole;

pub use agent::CodingAgent;
pub use entry::{ResultOutcome, SpokenBy, ThreadEntry};
pub use stop::Stop;
