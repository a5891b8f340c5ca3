//! `infold rescue` and `infold result`, run as a user runs them: sessions that no longer fit are made to,
//! in new files that their clients would load, and nothing is lost, cut in half or left behind.

use crate::cli::home;

mod bad_input;
mod claude;
mod codex;
mod counted;
mod interrupted;
mod reading_back;
mod recorded;
mod sessions;
mod words;
