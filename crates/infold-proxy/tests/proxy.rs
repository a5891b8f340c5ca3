//! The proxy behind a real listener, between a client and an upstream that tests control.

#![allow(clippy::expect_used, reason = "a test that cannot go on should stop")]

mod common;
mod faults;
mod fidelity;
mod openings;
mod planning;
mod recording;
mod refusals;
mod rescues;
mod streams;
