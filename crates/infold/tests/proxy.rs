//! The running daemon between a scripted agent and a strict model: what the model is sent, what comes back,
//! and what is left behind.
//!
//! The agent behaves like Claude Code, Codex or OpenCode (`infold_testkit::agent`), the model refuses what
//! its provider would refuse (`infold_testkit::model`), so every test here is also a test of the providers'
//! rules. Modules under `cases` have one test for each of the hard cases of folding, named like it.

mod cases;
mod endings;
mod faults;
mod fidelity;
mod folding;
mod hidden_secrets;
mod memories;
mod network;
mod no_way_around;
mod notices;
mod others;
mod overflow;
mod recorder;
mod restarts;
pub mod scene;
mod scripts;
mod secrets;
mod sessions;
mod shaping;
mod space;
mod upstream;
mod wild;
mod withheld;
mod written;
