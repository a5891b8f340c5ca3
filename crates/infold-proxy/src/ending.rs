//! Answers that end when their connection does: nothing but what they say tells whether they are whole.

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::response::Parts;
use http_body::Body;
use hyper::body::Incoming;
use infold_wire::answer::Ending;

use crate::decode::Decoder;

/// Reads a copy of such an answer for its end.
pub(crate) struct EndingWatch {
    decoder: Decoder,
    ending: Ending,
    /// Whether an answer without a single byte is whole: many refusals have none.
    may_be_empty: bool,
    is_empty: bool,
}

impl EndingWatch {
    /// Starts to read an answer with this head; `None` if its connection tells where it ends, or nothing does.
    pub(crate) fn of(head: &Parts, body: &Incoming) -> Option<Self> {
        let headers = &head.headers;
        let is_framed = headers.contains_key(CONTENT_LENGTH) || headers.contains_key(TRANSFER_ENCODING);
        if is_framed || body.size_hint().exact().is_some() {
            return None;
        }
        let ending = Ending::of(headers.get(CONTENT_TYPE)?.to_str().ok()?)?;
        let may_be_empty = !head.status.is_success();
        Some(Self { decoder: Decoder::of(headers), ending, may_be_empty, is_empty: true })
    }

    /// Takes bytes that are about to be relayed.
    pub(crate) fn observe(&mut self, bytes: &[u8]) {
        self.is_empty &= bytes.is_empty();
        self.decoder.push(bytes, |decoded| self.ending.push(decoded));
    }

    /// Whether nothing is missing, as far as it shows.
    pub(crate) fn ends_whole(self) -> bool {
        self.decoder.is_lost() || (self.is_empty && self.may_be_empty) || self.ending.ends_whole()
    }
}
