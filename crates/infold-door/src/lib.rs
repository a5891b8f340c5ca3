//! How HTTP requests reach infold, for every surface alike.
//!
//! A request passes through the parts in this order: `accept` takes the connection and bounds
//! it, `strict` reads the raw head and refuses what two parsers could read in two ways,
//! `guard` checks Host and Origin and finds out who is asking, and only then does the surfaces'
//! router see it, with an [`infold_core::Principal`] in its extensions.
//!
//! Must hold: no route is reached without Host and Origin checked; no route but `/healthz` and
//! `/readyz` is reached without a principal; nothing here waits, grows or repeats without a bound.
//!
//! Left to others: content types, what a principal may do, what the routes are, and ending their own
//! streams when infold shuts down.
#![cfg_attr(test, allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on should stop"))]

mod accept;
mod awake;
mod guard;
mod jwt;
pub mod peer;
mod refusal;
mod settings;
mod strict;
mod token;

pub use accept::{Closed, Door};
pub use guard::{PUBLIC_PATHS, TOKEN_HEADER};
pub use settings::{DoorError, DoorSettings, JwtSettings, LongBody, Validator};
pub use token::{TOKEN_FILE, Token, TokenError};
