//! Requests and recordings of real agents, read, edited, written and converted.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod conversions;
mod real_data;
mod requests;
mod requests_properties;
mod requests_recorded;
mod requests_support;
mod support;
