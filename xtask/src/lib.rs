//! What chores share: where the repository is, what they install, and how they report.

#![allow(clippy::print_stdout, reason = "what a chore prints is its result")]

pub mod report;
pub mod tools;
pub mod workspace;
