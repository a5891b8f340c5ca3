//! Passes lines between the standard streams and the protocol library. The library drops a line that it cannot
//! read, so that its sender would wait for ever. Here such a line gets an error as its answer, and so does one
//! that is too long. Input that ends without a line end counts as a line too.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::mpsc;

const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;

/// What reading a line gave.
enum StdioLine {
    /// A whole line, which may be a message.
    Whole,
    /// A line that is longer than any message may be. It was read to its end and dropped.
    TooLong,
    /// No line, because the input has ended.
    None,
}

/// Passes lines that are JSON to the server, and has the others answered with an error.
pub(super) async fn sift(
    input: impl AsyncRead + Unpin,
    mut server: DuplexStream,
    answers: mpsc::Sender<String>,
    line_bytes_max: usize,
) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        let problem = match next(&mut input, &mut line, line_bytes_max).await {
            Ok(StdioLine::Whole) if line.trim_ascii().is_empty() => continue,
            Ok(StdioLine::Whole) if is_json(&line) => {
                // The server is gone, so there is no reason to read on.
                if server.write_all(&line).await.is_err() {
                    return;
                }
                continue;
            }
            Ok(StdioLine::Whole) => (PARSE_ERROR, "The line is not JSON: send one JSON-RPC message a line".to_owned()),
            Ok(StdioLine::TooLong) => {
                (INVALID_REQUEST, format!("The message is larger than {line_bytes_max} bytes: send less at once"))
            }
            Ok(StdioLine::None) | Err(_) => return,
        };
        let error = json!({ "code": problem.0, "message": problem.1 });
        if answers.send(json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string()).await.is_err() {
            return;
        }
    }
}

/// Whether a line is JSON that the library can read. It is read whole, because what only skips a string or a number does
/// not notice that it has no value.
fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<Value>(line).is_ok()
}

/// Reads the next line, with its end, into `line`.
async fn next<R: AsyncRead + Unpin>(
    input: &mut BufReader<R>,
    line: &mut Vec<u8>,
    bytes_max: usize,
) -> std::io::Result<StdioLine> {
    line.clear();
    let bytes = input.take(bytes_max as u64 + 1).read_until(b'\n', line).await?;
    if bytes == 0 {
        return Ok(StdioLine::None);
    }
    if line.ends_with(b"\n") {
        return Ok(StdioLine::Whole);
    }
    if bytes <= bytes_max {
        // The input ended without a line end.
        line.push(b'\n');
        return Ok(StdioLine::Whole);
    }
    while !line.ends_with(b"\n") {
        line.clear();
        if input.take(bytes_max as u64 + 1).read_until(b'\n', line).await? == 0 {
            break;
        }
    }
    Ok(StdioLine::TooLong)
}

/// Writes the server's lines and the answers to lines that never reached it, each whole.
pub(super) async fn pump(
    server: DuplexStream,
    mut answers: mpsc::Receiver<String>,
    mut output: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let mut server = BufReader::new(server);
    let mut line = Vec::new();
    loop {
        tokio::select! {
            // If the other branch is taken, what was already read of the line stays in `line`.
            read = server.read_until(b'\n', &mut line) => {
                if read? == 0 {
                    break;
                }
                output.write_all(&line).await?;
                line.clear();
            }
            Some(answer) = answers.recv() => write_line(&mut output, &answer).await?,
        }
        output.flush().await?;
    }
    while let Ok(answer) = answers.try_recv() {
        write_line(&mut output, &answer).await?;
    }
    output.flush().await
}

async fn write_line(output: &mut (impl AsyncWrite + Unpin), line: &str) -> std::io::Result<()> {
    output.write_all(line.as_bytes()).await?;
    output.write_all(b"\n").await
}
