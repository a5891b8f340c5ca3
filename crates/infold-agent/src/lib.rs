//! A small coding agent in which folding is native: each branch is a thread of its own, branches run side by side, and
//! every compaction has a receipt and a way back.
//!
//! What is decided is decided by values: [`Entry`] is what a thread has said, `provider` turns a thread into a request and an
//! answer into entries, `tools` does what a model asks for. Requests go through the same operation of the engine as those of
//! a client behind the proxy.

mod entry;
pub mod provider;
pub mod tools;

pub use entry::{Entry, ResultOutcome, SpokenBy};
