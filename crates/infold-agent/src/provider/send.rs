//! How requests leave the agent. Who gives it a [`SendModel`] knows addresses, keys and connections; the agent does not.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;

use super::ProviderApi;

/// Sends a request to a model, and gives the answer while it comes in.
pub type SendModel =
    Arc<dyn Fn(OutgoingRequest) -> BoxFuture<'static, Result<IncomingAnswer, SendFault>> + Send + Sync>;

/// A request as it is sent.
#[derive(Debug, Clone)]
pub struct OutgoingRequest {
    /// Whose API it is for; [`ProviderApi::path`] says where it is posted.
    pub api: ProviderApi,
    /// The body, in the provider's own form.
    pub body: Bytes,
}

/// An answer of a provider, whatever its status.
pub struct IncomingAnswer {
    /// The HTTP status.
    pub status: u16,
    /// How long the provider asks to wait before the next attempt, if it says so.
    pub retry_after_ms: Option<u64>,
    /// The body, decoded, in pieces that may end anywhere. A fault is the last one.
    pub pieces: BoxStream<'static, Result<Bytes, SendFault>>,
}

/// Why a request had no answer, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendFault {
    /// Nothing can be sent as things are set: there is no key, or no address. The words say what to set.
    #[error("{0}")]
    Unusable(String),
    /// The provider could not be reached.
    #[error("{0}")]
    Unreached(String),
    /// The answer broke off, or the provider said nothing for too long.
    #[error("{0}")]
    BrokeOff(String),
}
