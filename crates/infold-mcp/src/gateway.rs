//! Connections to other MCP servers, of which infold is the client: children that speak over their standard streams, and
//! servers over streamable HTTP, in both protocol eras.
//!
//! Messages are raw JSON here, and not the protocol library's types, so that one odd tool or block of a server never
//! fails a whole list or call. Nothing that a server does may hold up or harm anyone but itself: everything it sends is
//! bounded in bytes, number and time, and what nobody asked for is dropped and counted.
//!
//! What is said here by a server, in errors too, is not scrubbed yet: that is for those who show or store it. Which
//! servers there are, whether they may be used and when they are started again is decided elsewhere.

mod child;
mod era;
mod error;
mod hiding;
mod http;
mod lines;
mod link;
mod listing;
mod login;
mod message;
mod options;
mod pace;
mod queue;
mod router;
mod stream;

pub use child::ChildWay;
pub use era::{LinkEra, ServerAbout};
pub use error::{LinkError, RpcError};
pub(crate) use hiding::{SECRET_BYTES_MIN, without_values};
pub(crate) use http::marks_arguments;
pub use http::{HeadersHelper, HttpWay};
pub use link::ServerLink;
pub use listing::{ListKind, Listed};
pub use login::{
    Forgotten, HttpLogin, LoginError, LoginFlow, LoginPlace, LoginRequest, LoginReturn, LoginStamp, LoginStore,
    SessionBus, StoreWish, keyring_problem,
};
pub(crate) use message::with;
pub(crate) use options::LinkTerms;
pub use options::{
    Ask, CallNotice, CallOptions, LinkCounts, LinkEvent, LinkIdentity, LinkLimits, LinkSetup, LinkWay, ListLimits,
};

#[cfg(test)]
mod tests;
