//! What chores share: where the repository is, what they install, how they report, and
//! the documents that they write tables into.

#![allow(clippy::print_stdout, reason = "what a chore prints is its result")]

pub mod document;
pub mod report;
pub mod tools;
pub mod workspace;
