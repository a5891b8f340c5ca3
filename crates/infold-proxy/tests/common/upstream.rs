//! An upstream that records requests as bytes and plays its answers act by act.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};

/// One thing that an upstream does.
#[derive(Clone)]
pub enum Act {
    /// Sends these bytes as they are.
    Send(Vec<u8>),
    /// Waits until the test notifies it.
    Wait(Arc<Notify>),
    /// Waits until the other side has closed, and reports that on `closed`.
    UntilClosed,
    /// Sends these bytes over and over until nobody takes any more for half a second, then reports on `written`
    /// how many went, and waits for `go_on`; then closes.
    Flood { piece: Vec<u8>, times: usize, go_on: Arc<Notify> },
    /// Closes the connection in order.
    Close,
    /// Resets the connection.
    Reset,
}

/// The act that sends this text.
pub fn send(text: impl AsRef<[u8]>) -> Act {
    Act::Send(text.as_ref().to_vec())
}

/// The act that sends a whole answer with a Content-Length.
pub fn whole(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Act {
    let body = body.as_ref();
    let mut bytes = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    Act::Send(bytes)
}

/// A request, byte for byte as it came.
#[derive(Debug, Clone)]
pub struct Received {
    pub head: String,
    pub body: Vec<u8>,
}

pub struct Upstream {
    pub address: SocketAddr,
    pub received: Arc<Mutex<Vec<Received>>>,
    /// Gets a message for every connection that the other side closed.
    pub closed: mpsc::UnboundedReceiver<()>,
    /// Gets the number of bytes of each flood that went out before nobody took any more.
    pub written: mpsc::UnboundedReceiver<usize>,
    /// Gets the number of each request when it has come.
    pub came: mpsc::UnboundedReceiver<usize>,
}

#[derive(Clone)]
struct Reports {
    closed: mpsc::UnboundedSender<()>,
    written: mpsc::UnboundedSender<usize>,
    came: mpsc::UnboundedSender<usize>,
}

impl Upstream {
    /// Starts an upstream that plays `play(n)` for the n-th request, from 0.
    pub async fn start(play: impl Fn(usize) -> Vec<Act> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback can be listened on");
        let address = listener.local_addr().expect("an address");
        let received = Arc::new(Mutex::new(Vec::new()));
        let (closed_in, closed) = mpsc::unbounded_channel();
        let (written_in, written) = mpsc::unbounded_channel();
        let (came_in, came) = mpsc::unbounded_channel();
        let reports = Reports { closed: closed_in, written: written_in, came: came_in };
        let play = Arc::new(play);
        let all = Arc::clone(&received);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // Each act is seen when it is done, not when the next one is.
                stream.set_nodelay(true).expect("an option");
                let (play, all, reports) = (Arc::clone(&play), Arc::clone(&all), reports.clone());
                tokio::spawn(async move { serve(stream, &*play, &all, &reports).await });
            }
        });
        Self { address, received, closed, written, came }
    }

    /// Starts an upstream that gives the same answer to every request.
    pub async fn always(acts: Vec<Act>) -> Self {
        Self::start(move |_| acts.clone()).await
    }

    /// The bodies that came, as text.
    pub fn texts(&self) -> Vec<String> {
        self.requests().iter().map(|got| String::from_utf8_lossy(&got.body).into_owned()).collect()
    }

    pub fn requests(&self) -> Vec<Received> {
        self.received.lock().expect("nobody panics").clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    play: &(dyn Fn(usize) -> Vec<Act> + Send + Sync),
    all: &Mutex<Vec<Received>>,
    reports: &Reports,
) {
    let mut unread = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut unread).await {
        let number = {
            let mut all = all.lock().expect("nobody panics");
            all.push(request);
            all.len() - 1
        };
        let _ = reports.came.send(number);
        for act in play(number) {
            if !perform(act, &mut stream, reports).await {
                return;
            }
        }
    }
}

/// Does one thing, and says whether the connection goes on.
async fn perform(act: Act, stream: &mut TcpStream, reports: &Reports) -> bool {
    match act {
        Act::Send(bytes) => stream.write_all(&bytes).await.is_ok(),
        Act::Wait(notify) => {
            notify.notified().await;
            true
        }
        Act::UntilClosed => {
            let mut buffer = [0; 1024];
            while matches!(stream.read(&mut buffer).await, Ok(count) if count > 0) {}
            let _ = reports.closed.send(());
            false
        }
        Act::Flood { piece, times, go_on } => {
            flood(stream, &piece, times, reports, &go_on).await;
            false
        }
        Act::Close => {
            let _ = stream.shutdown().await;
            false
        }
        Act::Reset => {
            let _ = stream.set_zero_linger();
            false
        }
    }
}

async fn flood(stream: &mut TcpStream, piece: &[u8], times: usize, reports: &Reports, go_on: &Notify) {
    let mut written = 0;
    let mut is_reported = false;
    for _ in 0..times {
        let mut rest = piece;
        while !rest.is_empty() {
            let patience = std::time::Duration::from_millis(500);
            let count = match tokio::time::timeout(patience, stream.write(rest)).await {
                Ok(Ok(count)) => count,
                Ok(Err(_)) => return,
                Err(_) => {
                    if !is_reported {
                        is_reported = true;
                        let _ = reports.written.send(written);
                        go_on.notified().await;
                    }
                    continue;
                }
            };
            written += count;
            rest = &rest[count..];
        }
    }
    let _ = stream.shutdown().await;
}

async fn read_request(stream: &mut TcpStream, unread: &mut Vec<u8>) -> Option<Received> {
    let end = loop {
        if let Some(at) = find(unread, b"\r\n\r\n") {
            break at + 4;
        }
        read_more(stream, unread).await?;
    };
    let head = String::from_utf8_lossy(&unread[..end]).into_owned();
    unread.drain(..end);
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let length = length.unwrap_or(0);
    while unread.len() < length {
        read_more(stream, unread).await?;
    }
    let body = unread.drain(..length).collect();
    Some(Received { head, body })
}

async fn read_more(stream: &mut TcpStream, unread: &mut Vec<u8>) -> Option<()> {
    let mut buffer = [0; 64 * 1024];
    match stream.read(&mut buffer).await {
        Ok(count) if count > 0 => unread.extend_from_slice(&buffer[..count]),
        Ok(_) | Err(_) => return None,
    }
    Some(())
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
