//! `infold rescue` and `infold result`, run as a user runs them: sessions that no longer fit are made to,
//! in new files that their clients would load, and nothing is lost, cut in half or left behind.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

#[path = "../cli/home.rs"]
#[allow(dead_code, reason = "what the tests of the command line need is more than what these do")]
mod home;

mod bad_input;
mod claude;
mod codex;
mod counted;
mod interrupted;
mod reading_back;
mod recorded;
mod sessions;
mod words;
