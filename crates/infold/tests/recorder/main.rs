//! The flight recorder of the running daemon: what is told of each request through the JSON API, by
//! `infold show` and by `infold top`, after real work between a scripted agent and a strict model.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[path = "../support/mod.rs"]
mod support;

mod metering;
mod requests;
mod scene;
mod showing;
mod terminal;
