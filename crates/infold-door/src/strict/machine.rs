//! Follows one connection's bytes from head to body to the next head, and says which may pass.
//!
//! Pure: however the bytes are cut into pieces, the same bytes pass and the same byte is refused.

use http::StatusCode;

use super::chunked::{ChunkProgress, Chunked};
use super::head::{Framing, is_forbidden, judge};
use crate::refusal::DoorRefusal;

/// What the next byte of the connection is part of.
#[derive(Debug)]
enum HeadState {
    /// A head, of which these bytes have arrived. None of them has been passed on.
    Head(Vec<u8>),
    /// A body, of which this many bytes are still to come.
    Length(u64),
    /// A chunked body.
    Chunked(Chunked),
    /// Nothing: a byte before it was refused.
    Broken,
}

/// Why a connection cannot go on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// A head was refused; nothing of it was passed on.
    Head(DoorRefusal),
    /// A body breaks its form after part of it was passed on.
    Body(&'static str),
}

/// What a connection is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaits {
    /// A head's first byte.
    Request,
    /// The rest of a head.
    Head,
    /// The rest of a body.
    Body,
    /// Nothing, because it is broken.
    Nothing,
}

/// Follows one connection through the sequence of its requests.
#[derive(Debug)]
pub(super) struct Machine {
    state: HeadState,
    head_bytes_max: usize,
}

impl Machine {
    pub(super) fn new(head_bytes_max: usize) -> Self {
        Self { state: HeadState::Head(Vec::new()), head_bytes_max }
    }

    pub(super) fn awaits(&self) -> Awaits {
        match &self.state {
            HeadState::Head(bytes) if bytes.is_empty() => Awaits::Request,
            HeadState::Head(_) => Awaits::Head,
            HeadState::Length(_) | HeadState::Chunked(_) => Awaits::Body,
            HeadState::Broken => Awaits::Nothing,
        }
    }

    /// Takes the next bytes of the connection and appends to `approved` those that may pass. After
    /// an error nothing more may be fed; what was approved before it stays approved.
    pub(super) fn feed(&mut self, mut bytes: &[u8], approved: &mut Vec<u8>) -> Result<(), Broken> {
        while !bytes.is_empty() {
            let used = match self.feed_some(bytes, approved) {
                Ok(used) => used,
                Err(broken) => {
                    self.state = HeadState::Broken;
                    return Err(broken);
                }
            };
            bytes = &bytes[used..];
        }
        Ok(())
    }

    /// Takes bytes up to the end of the present head or body, and says how many it took.
    fn feed_some(&mut self, bytes: &[u8], approved: &mut Vec<u8>) -> Result<usize, Broken> {
        match &mut self.state {
            HeadState::Head(head) => {
                let (used, ended) = extend_head(head, bytes, self.head_bytes_max).map_err(Broken::Head)?;
                if ended {
                    let framing = judge(head).map_err(Broken::Head)?;
                    approved.append(head);
                    self.state = self.after_head(framing);
                }
                Ok(used)
            }
            HeadState::Length(left) => {
                let used = (*left).min(bytes.len() as u64) as usize;
                approved.extend_from_slice(&bytes[..used]);
                self.state = after_bytes(*left - used as u64);
                Ok(used)
            }
            HeadState::Chunked(chunked) => match chunked.feed(bytes) {
                ChunkProgress::More => {
                    approved.extend_from_slice(bytes);
                    Ok(bytes.len())
                }
                ChunkProgress::Ended(used) => {
                    approved.extend_from_slice(&bytes[..used]);
                    self.state = HeadState::Head(Vec::new());
                    Ok(used)
                }
                ChunkProgress::Broken(good, reason) => {
                    approved.extend_from_slice(&bytes[..good]);
                    Err(Broken::Body(reason))
                }
            },
            HeadState::Broken => Ok(bytes.len()),
        }
    }

    fn after_head(&self, framing: Framing) -> HeadState {
        match framing {
            Framing::Length(length) => after_bytes(length),
            Framing::Chunked => HeadState::Chunked(Chunked::new(self.head_bytes_max)),
        }
    }
}

fn after_bytes(left: u64) -> HeadState {
    if left == 0 { HeadState::Head(Vec::new()) } else { HeadState::Length(left) }
}

/// Adds bytes to a head until it ends. Returns how many were used, and whether the head ended.
///
/// Line ends, control characters and size are judged byte by byte, because a head that is wrong in
/// one of these might never end.
fn extend_head(head: &mut Vec<u8>, bytes: &[u8], head_bytes_max: usize) -> Result<(usize, bool), DoorRefusal> {
    let mut used = bytes.len();
    let mut is_ended = false;
    // The last four bytes. No byte of a head is 0, so 0 says that there is none before.
    let mut last_four = head.iter().rev().take(4).rev().fold(0_u32, |last, byte| last << 8 | u32::from(*byte));
    let mut index = 0;
    while index < bytes.len() {
        let plain = plain_run(&bytes[index..], last_four, head_bytes_max.saturating_sub(head.len() + index));
        last_four = plain.iter().rev().take(4).rev().fold(last_four, |last, byte| last << 8 | u32::from(*byte));
        index += plain.len();
        let Some(byte) = bytes.get(index).copied() else { break };
        match (last_four.to_be_bytes()[3], byte) {
            (b'\r', b'\n') => {}
            (_, b'\n') => {
                return Err(DoorRefusal::malformed("a line ends in LF without CR: end lines in CR LF"));
            }
            (b'\r', _) => {
                return Err(DoorRefusal::malformed("a CR has no LF behind it: end lines in CR LF"));
            }
            (0, b'\r') => {
                return Err(DoorRefusal::malformed("an empty line comes before the request line"));
            }
            (_, b'\r') => {}
            (_, byte) if is_forbidden(byte) => {
                return Err(DoorRefusal::malformed(format!("the head has the control character 0x{byte:02x} in it")));
            }
            _ => {}
        }
        if head.len() + index == head_bytes_max {
            return Err(DoorRefusal::new(
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "head_too_large",
                format!("the head is larger than {head_bytes_max} bytes: send less"),
            ));
        }
        last_four = last_four << 8 | u32::from(byte);
        if last_four == u32::from_be_bytes(*b"\r\n\r\n") {
            (used, is_ended) = (index + 1, true);
            break;
        }
        index += 1;
    }
    head.extend_from_slice(&bytes[..used]);
    Ok((used, is_ended))
}

/// The bytes of a head, as many as there is room for, up to the next one that has to be judged by itself.
fn plain_run(bytes: &[u8], last_four: u32, room_bytes: usize) -> &[u8] {
    let is_line_end = last_four.to_be_bytes()[3] == b'\r';
    let room_bytes = if is_line_end { 0 } else { room_bytes.min(bytes.len()) };
    let plain = bytes[..room_bytes].iter().take_while(|byte| !is_forbidden(**byte)).count();
    &bytes[..plain]
}

#[cfg(test)]
mod tests;
