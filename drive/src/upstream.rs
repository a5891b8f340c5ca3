//! A provider on loopback that says the same to everyone, as fast as it can, and keeps the last request of
//! each session, or every request. It knows just enough HTTP for that: the strict model is for tests, this is for
//! measuring and comparing.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

const HEAD_LINE_BYTES_MAX: u64 = 64 << 10;
const HEAD_LINES_MAX: usize = 200;
const BODY_BYTES_MAX: usize = 64 << 20;
const BYTES_PER_TOKEN: usize = 3;
/// The headers in which clients name their session.
const SESSION_HEADERS: [&str; 3] = ["x-claude-code-session-id", "session_id", "session-id"];

/// A running provider. It stops when it is dropped.
#[derive(Debug)]
pub struct RecordingUpstream {
    address: SocketAddr,
    stored: Arc<Mutex<StoredRequests>>,
    server: JoinHandle<()>,
}

/// The requests that have been stored and not been taken.
#[derive(Debug, Default)]
struct StoredRequests {
    last: HashMap<String, Vec<u8>>,
    every: Vec<Vec<u8>>,
}

impl StoredRequests {
    fn take(&mut self, request: Request, retention: Retention, address: &str) {
        match retention {
            Retention::Last => _ = self.last.insert(request.session, request.body),
            Retention::Every => {
                let head = request.head.replace(address, "<upstream>");
                self.every.push([head.as_bytes(), &request.body].concat());
            }
            Retention::None => {}
        }
    }
}

/// Which requests are stored for whoever measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// The last body of each session.
    Last,
    /// All of them, head and body, until they are taken.
    Every,
    /// No request at all.
    None,
}

impl RecordingUpstream {
    /// Starts a provider on a free port of loopback.
    pub async fn start(retention: Retention) -> Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let address = listener.local_addr()?;
        let stored = Arc::new(Mutex::new(StoredRequests::default()));
        let shared = Arc::clone(&stored);
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&shared);
                // A connection ends with its client, and with it the task.
                tokio::spawn(async move { serve(stream, retention, &shared).await });
            }
        });
        Ok(Self { address, stored, server })
    }

    /// Where it listens, without a trailing slash.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Takes the last request of a session.
    pub fn take(&self, session: &str) -> Option<Vec<u8>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).last.remove(session)
    }

    /// Takes every request since it was last asked, each as it came, but for its own address.
    pub fn take_every(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.stored.lock().unwrap_or_else(PoisonError::into_inner).every)
    }
}

impl Drop for RecordingUpstream {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(stream: TcpStream, retention: Retention, stored: &Mutex<StoredRequests>) -> Result<()> {
    stream.set_nodelay(true)?;
    let address = stream.local_addr()?.to_string();
    let mut stream = BufReader::with_capacity(64 << 10, stream);
    while let Some(request) = read_request(&mut stream).await? {
        let answer = answer(&request, retention);
        stored.lock().unwrap_or_else(PoisonError::into_inner).take(request, retention, &address);
        stream.get_mut().write_all(answer.as_bytes()).await?;
    }
    Ok(())
}

/// A request as it came.
#[derive(Debug)]
pub struct Request {
    /// The request line and the headers, with an empty line at the end.
    pub head: String,
    /// The path, with its query.
    pub path: String,
    session: String,
    /// What was posted.
    pub body: Vec<u8>,
}

/// Reads the next request; nothing if the client is done.
pub async fn read_request(stream: &mut (impl AsyncBufReadExt + Unpin)) -> Result<Option<Request>> {
    let first = line(stream).await?;
    let Some(path) = first.split(' ').nth(1).map(str::to_owned) else { return Ok(None) };
    let (mut session, mut length) = (String::new(), 0);
    let mut head = format!("{first}\n");
    for _ in 0..HEAD_LINES_MAX {
        let header = line(stream).await?;
        head.push_str(&format!("{header}\n"));
        let Some((name, value)) = header.split_once(':') else { break };
        let name = name.to_ascii_lowercase();
        if name == "content-length" {
            length = value.trim().parse().context("an odd length")?;
        } else if name == "transfer-encoding" {
            bail!("the measuring provider reads no chunks");
        } else if SESSION_HEADERS.contains(&name.as_str()) {
            session = value.trim().to_owned();
        }
    }
    if length > BODY_BYTES_MAX {
        bail!("a body of {length} bytes");
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Some(Request { head, path, session, body }))
}

async fn line(stream: &mut (impl AsyncBufReadExt + Unpin)) -> Result<String> {
    let mut line = Vec::new();
    stream.take(HEAD_LINE_BYTES_MAX).read_until(b'\n', &mut line).await?;
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

/// The answer that everyone gets. Where only last requests are stored it reports no usage, so that infold does not
/// calibrate its counting by it.
fn answer(request: &Request, retention: Retention) -> String {
    let tokens = request.body.len() / BYTES_PER_TOKEN;
    let usage = match retention {
        Retention::Last => String::new(),
        Retention::Every | Retention::None => format!(",\"usage\":{{\"input_tokens\":{tokens},\"output_tokens\":2}}"),
    };
    let body = if request.path.contains("count_tokens") {
        format!(r#"{{"input_tokens":{tokens}}}"#)
    } else if request.path.contains("messages") {
        format!(
            r#"{{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[{{"type":"text","text":"ok"}}],"stop_reason":"end_turn","stop_sequence":null{usage}}}"#
        )
    } else {
        let output = r#"[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ok","annotations":[]}]}]"#;
        format!(r#"{{"id":"resp_1","object":"response","status":"completed","model":"gpt","output":{output}{usage}}}"#)
    };
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}
