//! `infold run`, with programs in the agents' places that show what they were given: the agent's terminal,
//! arguments, signals and exit code are its own, and its requests go through infold.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

#[path = "../cli/home.rs"]
#[allow(dead_code, reason = "what the tests of the command line need is more than what these do")]
mod home;

mod mistakes;
mod passing_through;
mod saving;
mod stand_in;
mod terminal;
