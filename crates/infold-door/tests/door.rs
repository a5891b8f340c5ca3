//! The door as a listener: who may come in, what is refused, and how it closes.

#![allow(clippy::expect_used, reason = "a test that cannot go on should stop")]

mod common;
mod limits;
mod matrix;
mod shutdown;
mod smuggling;
mod who;
