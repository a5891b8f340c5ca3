//! The requirements of context folding, each by a test that is named for it and drives the running
//! program as a client would: over MCP, and over the JSON API where the requirement is about it.
//! `docs/requirements.md` says which test shows which requirement; the last module here keeps it honest.

mod budget;
mod ending;
mod input;
mod isolation;
mod limits;
mod memories;
mod opening;
mod owners;
mod returning;
mod scrub_faults;
mod scrubbing;
mod status;
mod table;
mod timeout;
