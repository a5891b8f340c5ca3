//! The connection: one message a line, on standard input and output. A line that no message can be is handed on as a few
//! words, which the protocol answers as what cannot be parsed, and the next line counts again.

use std::io;

use agent_client_protocol::Lines;
use futures::{Sink, Stream, sink, stream};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

/// Longest message that is read. An editor may put whole files into a prompt.
const LINE_BYTES_MAX: usize = 16 << 20;

/// Standard input and output.
pub fn standard()
-> Lines<impl Sink<String, Error = io::Error> + Send + 'static, impl Stream<Item = io::Result<String>> + Send + 'static>
{
    let output = sink::unfold(tokio::io::stdout(), |mut output, mut line: String| async move {
        line.push('\n');
        output.write_all(line.as_bytes()).await?;
        output.flush().await?;
        Ok::<_, io::Error>(output)
    });
    let input = stream::unfold(BufReader::new(tokio::io::stdin()), |mut input| async move {
        let line = next_line(&mut input, LINE_BYTES_MAX).await.transpose()?;
        Some((line, input))
    });
    Lines::new(output, input)
}

/// The next line that is not empty; `None` at the end of the input.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin), bytes_max: usize) -> io::Result<Option<String>> {
    loop {
        let mut line = BoundedLine { bytes: Vec::new(), is_too_long: false, bytes_max };
        let has_ended = loop {
            let available = input.fill_buf().await?;
            let end = available.iter().position(|byte| *byte == b'\n');
            line.add(&available[..end.unwrap_or(available.len())]);
            let (used, is_over) = (end.map_or(available.len(), |end| end + 1), available.is_empty());
            input.consume(used);
            if end.is_some() || is_over {
                break is_over;
            }
        };
        let text = line.text();
        if !text.is_empty() || has_ended {
            return Ok((!text.is_empty()).then_some(text));
        }
    }
}

/// A line as it is read. Of one that is too long nothing is kept.
struct BoundedLine {
    bytes: Vec<u8>,
    is_too_long: bool,
    bytes_max: usize,
}

impl BoundedLine {
    fn add(&mut self, part: &[u8]) {
        self.is_too_long |= self.bytes.len() + part.len() > self.bytes_max;
        match self.is_too_long {
            true => self.bytes = Vec::new(),
            false => self.bytes.extend_from_slice(part),
        }
    }

    fn text(self) -> String {
        if self.is_too_long {
            return format!("a line of more than {} bytes", self.bytes_max);
        }
        String::from_utf8(self.bytes)
            .map_or_else(|_| "a line that is no UTF-8".to_owned(), |text| text.trim().to_owned())
    }
}

#[cfg(test)]
mod tests;
