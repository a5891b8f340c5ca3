//! The demonstration: an agent's recorded moves and a scripted model, with the real daemon between them.
//!
//! Nothing in it is staged but the model's words. The agent sends whole requests as a client does, reads
//! real files (of infold's own source, which are in the program), and calls infold's tools over MCP; the
//! daemon plans and forwards; the model records what it gets. What is drawn is counted on both sides.

pub mod agent;
pub mod bill;
pub mod drawing;
pub mod model;
pub mod scene;
mod tools;

/// The model that requests name. It has a price in the settings.
pub const MODEL: &str = "claude-opus-5-5";
