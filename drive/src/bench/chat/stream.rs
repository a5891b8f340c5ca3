//! A model on loopback that says a long text in small pieces, so many a second: paragraphs, lists and code.
//!
//! It knows just enough of Anthropic Messages for that. The pace is the clock's and not the reader's: a piece that is
//! late is made up for, so that a slow reader gets no fewer of them.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::upstream::read_request;

/// The pieces of an answer.
#[derive(Debug, Clone, Copy)]
pub struct StreamPace {
    pub deltas: usize,
    pub deltas_per_second: u32,
}

/// A running model. It stops when it is dropped.
pub struct StreamingModel {
    address: SocketAddr,
    sent: watch::Receiver<usize>,
    server: JoinHandle<()>,
}

impl StreamingModel {
    /// Starts a model on a free port of loopback.
    pub async fn start(pace: StreamPace) -> Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let address = listener.local_addr()?;
        let (counter, sent) = watch::channel(0);
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let counter = counter.clone();
                // A connection ends with its client, and with it the task.
                tokio::spawn(async move { serve(stream, pace, &counter).await });
            }
        });
        Ok(Self { address, sent, server })
    }

    /// Where it listens, without a trailing slash.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until so many pieces were sent.
    pub async fn until_sent(&self, deltas: usize) -> Result<()> {
        self.sent.clone().wait_for(|sent| *sent >= deltas).await?;
        Ok(())
    }
}

impl Drop for StreamingModel {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(stream: TcpStream, pace: StreamPace, counter: &watch::Sender<usize>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while read_request(&mut stream).await?.is_some() {
        answer(stream.get_mut(), pace, counter).await?;
    }
    Ok(())
}

async fn answer(stream: &mut TcpStream, pace: StreamPace, counter: &watch::Sender<usize>) -> Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    let usage = json!({"input_tokens": 1_000, "output_tokens": pace.deltas});
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    let block = json!({"type": "text", "text": ""});
    send(stream, &json!({"type": "message_start", "message": message})).await?;
    send(stream, &json!({"type": "content_block_start", "index": 0, "content_block": block})).await?;

    let mut ticks = interval(Duration::from_secs(1) / pace.deltas_per_second);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for text in (0..).flat_map(pieces_of_section).take(pace.deltas) {
        ticks.tick().await;
        let delta = json!({"type": "text_delta", "text": text});
        send(stream, &json!({"type": "content_block_delta", "index": 0, "delta": delta})).await?;
        counter.send_modify(|sent| *sent += 1);
    }

    let ending = json!({"stop_reason": "end_turn", "stop_sequence": null});
    send(stream, &json!({"type": "content_block_stop", "index": 0})).await?;
    send(stream, &json!({"type": "message_delta", "delta": ending, "usage": usage})).await?;
    send(stream, &json!({"type": "message_stop"})).await?;
    Ok(stream.write_all(b"0\r\n\r\n").await?)
}

/// Sends an event in one piece.
async fn send(stream: &mut TcpStream, event: &Value) -> Result<()> {
    let name = event["type"].as_str().unwrap_or_default();
    let event = format!("event: {name}\ndata: {event}\n\n");
    let chunk = format!("{:x}\r\n{event}\r\n", event.len());
    Ok(stream.write_all(chunk.as_bytes()).await?)
}

fn pieces_of_section(number: u64) -> Vec<String> {
    section(number).split_inclusive([' ', '\n']).map(str::to_owned).collect()
}

/// A part of the text: about 1,500 characters in each of the forms that a model likes.
fn section(number: u64) -> String {
    let mut text = format!(
        "## Part {number}\n\nThe **queue** of part {number} holds what was *asked for* and not yet done; `take_next` gives \
         the oldest entry, and an entry that fails goes back to the end, at most three times. What was done is never \
         taken again, because its number is written down before anyone is told.\n\n"
    );
    for item in 1..=4 {
        text.push_str(&format!(
            "- step {item}: look at `part_{number}_{item}.rs`, and write down **what** is missing there\n"
        ));
    }
    text.push_str(
        "\n1. first the *reader*,\n2. then the writer,\n   - with its lock,\n3. then all of it again.\n\n```rust\n",
    );
    for line in 1..=4 {
        text.push_str(&format!(
            "/// Takes entry {line} of part {number}.\npub fn take_{number}_{line}(queue: &mut Vec<u64>, most: usize) -> Option<u64> {{\n    \
             let at = queue.iter().position(|entry| *entry % {line} == 0)?; // the oldest\n    \
             (queue.len() <= most).then(|| queue.remove(at)).filter(|entry| \"{number}\".len() as u64 != *entry)\n}}\n\n"
        ));
    }
    text.push_str("```\n\nThat is all of this part, and > quotes, links such as [this](https://example.com) and ~~errors~~ are below.\n\n");
    text.push_str("| what | where |\n|---|---|\n| queue | memory |\n| numbers | disk |\n\n");
    text
}
