//! Reads a child's output line by line. A line over the bound is read to its end and dropped; only its two ends are kept,
//! because they may say whose answer it was.

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

use super::message::ENDS_BYTES;
use super::pace::Pace;

/// What reading a line gave.
#[derive(Debug, PartialEq)]
pub(super) enum ChildLine {
    /// A line with something in it, which may be a message.
    Whole(Vec<u8>),
    /// A line that is longer than any message may be.
    TooLong { head: Vec<u8>, tail: Vec<u8> },
}

/// Reads lines of a bounded length.
pub(super) struct ChildLines<R> {
    input: BufReader<R>,
    bytes_max: usize,
}

impl<R: AsyncRead + Unpin> ChildLines<R> {
    pub(super) fn new(input: R, bytes_max: usize) -> Self {
        Self { input: BufReader::new(input), bytes_max }
    }

    /// The next line that is not empty; `None` if the input has ended. A last line needs no line end.
    pub(super) async fn next(&mut self, pace: &mut Pace) -> std::io::Result<Option<ChildLine>> {
        loop {
            let mut line = Vec::new();
            let most = self.bytes_max as u64 + 1;
            if (&mut self.input).take(most).read_until(b'\n', &mut line).await? == 0 {
                return Ok(None);
            }
            if !line.ends_with(b"\n") && line.len() > self.bytes_max {
                return self.skip(line, pace).await.map(Some);
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(ChildLine::Whole(line)));
            }
            pace.message(line.len()).await;
        }
    }

    /// Reads the rest of a line that is too long.
    async fn skip(&mut self, mut begun: Vec<u8>, pace: &mut Pace) -> std::io::Result<ChildLine> {
        let mut tail = begun.split_off(begun.len().saturating_sub(ENDS_BYTES));
        begun.truncate(ENDS_BYTES);
        begun.shrink_to_fit();
        pace.bytes(self.bytes_max).await;
        loop {
            let piece = self.input.fill_buf().await?;
            let end = piece.iter().position(|byte| *byte == b'\n');
            let bytes = end.map_or(piece.len(), |end| end + 1);
            tail.extend_from_slice(&piece[..bytes]);
            self.input.consume(bytes);
            tail.drain(..tail.len().saturating_sub(ENDS_BYTES));
            if end.is_some() || bytes == 0 {
                return Ok(ChildLine::TooLong { head: begun, tail });
            }
            pace.bytes(bytes).await;
        }
    }
}
