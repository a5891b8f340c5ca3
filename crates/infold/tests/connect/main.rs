//! `infold connect` and `infold disconnect`, on homes that are not the person's: what changes in agents'
//! files, and that all of it can be taken back.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

#[path = "../cli/home.rs"]
#[allow(dead_code, reason = "what the tests of the command line need is more than what these do")]
mod home;

mod back;
mod doctor;
mod files;
mod refused;
mod service;
