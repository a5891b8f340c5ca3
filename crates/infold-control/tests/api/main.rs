//! Drives the whole router in-process, on a real store in a temporary folder. Every answer is held
//! against what the OpenAPI description says of it (`contract`), whatever else a test looks at.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]

mod archive;
mod branches;
mod client;
mod contract;
mod errors;
mod events;
mod forks;
mod health;
mod idempotency;
mod memories;
mod openapi;
mod requests;
mod results;
mod scrub;
mod sessions;
mod snapshots;
