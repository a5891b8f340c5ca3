//! Looks at what an answer begins with, before its client sees any of it: a refusal, or a stream that says only
//! after 200 that the request cannot be answered. What was read is passed on all the same, if nothing can be mended.
//!
//! Must hold: a stream is held back only while it says nothing, and never for long, so the first thing that it
//! says is not a moment late.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;
use infold_wire::ProviderRefusal;
use infold_wire::answer::{Opening, Said};
use infold_wire::request::Api;
use tokio::time::{Instant, timeout, timeout_at};

use crate::decode::Decoder;
use crate::relay::{Answered, said_nothing};

/// Most bytes of a refusal that are read before it is passed on.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;
/// Most bytes of a stream that are held back. The first events of a Responses stream repeat its instructions and tools.
const HELD_BYTES_MAX: usize = 1 << 20;

impl Answered {
    /// Reads a refusal, if it is one that may be about something that can be mended.
    pub(crate) async fn read_refusal(mut self, silence: Duration) -> Self {
        if ProviderRefusal::may_come_with(self.head.status.as_u16())
            && let Some(told) = self.refusal(silence).await
        {
            self.refused = ProviderRefusal::in_body(&told);
        }
        self
    }

    /// Reads the whole of a refusal, decoded, if it is not too long.
    pub(crate) async fn refusal(&mut self, silence: Duration) -> Option<Vec<u8>> {
        if self.body.size_hint().lower() > REFUSAL_BYTES_MAX as u64 {
            return None;
        }
        let mut read = BytesMut::new();
        let is_whole = loop {
            if read.len() > REFUSAL_BYTES_MAX {
                break false;
            }
            match timeout(silence, self.body.frame()).await {
                Ok(Some(Ok(frame))) => read.extend_from_slice(frame.data_ref().unwrap_or(&Bytes::new())),
                Ok(Some(Err(error))) => {
                    self.broken = Some(error.into());
                    break false;
                }
                Ok(None) => break true,
                Err(_) => {
                    self.broken = Some(said_nothing(silence).into());
                    break false;
                }
            }
        };
        self.read = read.freeze();
        let mut told = Vec::new();
        Decoder::of(&self.head.headers).push(&self.read, |decoded| told.extend_from_slice(decoded));
        is_whole.then_some(told)
    }

    /// Reads a stream up to the first event that says anything, for so long at most.
    pub(crate) async fn read_opening(mut self, api: Api, hold: Duration) -> Self {
        let mut decoder = Decoder::of(&self.head.headers);
        if !self.head.status.is_success() || !self.is_stream() || decoder.is_lost() {
            return self;
        }
        let until = Instant::now() + hold;
        let mut opening = Opening::new(api);
        let mut read = BytesMut::new();
        while read.len() <= HELD_BYTES_MAX {
            match timeout_at(until, self.body.frame()).await {
                Ok(Some(Ok(frame))) => {
                    let Some(bytes) = frame.data_ref() else { continue };
                    read.extend_from_slice(bytes);
                    let mut said = Said::Nothing;
                    decoder.push(bytes, |decoded| said.clone_from(opening.push(decoded)));
                    match said {
                        Said::Nothing if !decoder.is_lost() => {}
                        Said::Nothing | Said::Begun => break,
                        Said::Failed(error) => {
                            self.refused =
                                ProviderRefusal::of(error.kind.as_deref().unwrap_or_default(), &error.message);
                            break;
                        }
                    }
                }
                Ok(Some(Err(error))) => {
                    self.broken = Some(error.into());
                    break;
                }
                Ok(None) | Err(_) => break,
            }
        }
        self.read = read.freeze();
        self
    }
}
