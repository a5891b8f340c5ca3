//! Hands the engine a copy of an answer while it is relayed, decoded.

use http::HeaderMap;
use infold_core::record::AnswerEnd;
use infold_engine::{AnswerListener, Legibility};

use crate::decode::Decoder;

/// Reads the copy.
pub(crate) struct Watch {
    decoder: Decoder,
    listener: AnswerListener,
}

impl Watch {
    pub(crate) fn new(listener: AnswerListener, headers: &HeaderMap) -> Self {
        Self { decoder: Decoder::of(headers), listener }
    }

    /// Whether the answer comes in an encoding that cannot be read.
    pub(crate) fn is_lost(&self) -> bool {
        self.decoder.is_lost()
    }

    /// Takes bytes that are about to be relayed.
    pub(crate) fn saw(&mut self, bytes: &[u8]) {
        let decoder = &mut self.decoder;
        self.listener.hear(|read| {
            decoder.push(bytes, read);
            if decoder.is_lost() { Legibility::Lost } else { Legibility::Plain }
        });
    }

    /// The answer is over.
    pub(crate) fn ended(&mut self, how: AnswerEnd) {
        self.listener.end(how);
    }
}
