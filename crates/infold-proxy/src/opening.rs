//! Reads the beginning of an answer before its client gets any of it. It may be a refusal that infold can mend, or a
//! stream that says only after status 200 that the request cannot be answered. If nothing can be mended, what was read
//! is passed on.
//!
//! Must hold: a stream is held back only while it says nothing, and never for long, so that its first words are not
//! late.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;
use infold_wire::ProviderRefusal;
use infold_wire::answer::{Opening, StreamStart};
use infold_wire::request::Api;
use tokio::time::{Instant, timeout, timeout_at};

use crate::decode::Decoder;
use crate::relay::{Answered, silence_message};

/// How many bytes of a refusal are read before it is passed on.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;
/// How many bytes of a stream are held back. The first events of a Responses stream repeat its instructions and tools.
const HELD_BYTES_MAX: usize = 1 << 20;

impl Answered {
    /// Reads a refusal, if its status may be about something that infold can mend.
    pub(crate) async fn read_refusal(mut self, silence: Duration) -> Self {
        if ProviderRefusal::may_come_with(self.head.status.as_u16())
            && let Some(text) = self.read_whole_refusal(silence).await
        {
            self.refused = ProviderRefusal::in_body(&text);
        }
        self
    }

    /// Reads a refusal to its end and decodes it; `None` if it is too long or breaks off. What was read is still
    /// relayed.
    pub(crate) async fn read_whole_refusal(&mut self, silence: Duration) -> Option<Vec<u8>> {
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
                    self.broken = Some(silence_message(silence).into());
                    break false;
                }
            }
        };
        self.read = read.freeze();
        let mut text = Vec::new();
        Decoder::of(&self.head.headers).push(&self.read, |decoded| text.extend_from_slice(decoded));
        is_whole.then_some(text)
    }

    /// Reads a stream up to the first event that says anything, for as long as `hold` at most.
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
                    let mut said = StreamStart::Nothing;
                    decoder.push(bytes, |decoded| said.clone_from(opening.push(decoded)));
                    match said {
                        StreamStart::Nothing if !decoder.is_lost() => {}
                        StreamStart::Nothing | StreamStart::Begun => break,
                        StreamStart::Failed(error) => {
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
