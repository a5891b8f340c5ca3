//! Reads every request's raw head before the HTTP parser does, and refuses what two parsers could
//! understand in two ways.
//!
//! `machine` follows a connection's bytes and says which may pass; `head` judges one whole head;
//! `chunked` follows a body whose length is not known beforehand; `stream` puts the three between
//! the socket and the parser. All but `stream` are pure.
//!
//! Must hold: the parser never sees a byte of a head that was not approved as a whole, and every
//! approved head has exactly one Host.

mod chunked;
mod head;
mod machine;
mod stream;

pub(crate) use head::HEADERS_MAX;
pub(crate) use stream::{LINGER, RefusalSlot, StrictStream};
