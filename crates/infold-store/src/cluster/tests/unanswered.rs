//! Servers whose answers are lost on the way: what they have stored is never said to be refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use infold_core::Command;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy};
use tokio::net::{TcpListener, TcpStream};

use crate::tests::{append_of, fresh, load_of, settings, shared_cluster};
use crate::{EndedBranches, Store};

const FULL: &str =
    r#"{"error":{"code":503,"err_code":10023,"description":"insufficient resources"},"stream":"T","seq":0}"#;

/// What becomes of a server's next acknowledgements: the first is lost, and so many after it say that there is no room.
#[derive(Default)]
struct Way {
    is_losing: AtomicUsize,
    refusals: AtomicUsize,
}

impl Way {
    /// What a client is sent in place of an acknowledgement; `None` if nothing.
    fn instead<'a>(&self, acknowledged: &'a [u8]) -> Option<&'a [u8]> {
        let takes = |left: &AtomicUsize| {
            left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
        };
        if takes(&self.is_losing) {
            return None;
        }
        Some(if takes(&self.refusals) { FULL.as_bytes() } else { acknowledged })
    }

    /// Passes on what a server says to a client.
    async fn pass(&self, server: impl AsyncReadExt + Unpin, mut client: impl AsyncWriteExt + Unpin) -> Option<()> {
        let mut server = BufReader::new(server);
        loop {
            let mut line = String::new();
            if server.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            let Some(bytes) = line.strip_prefix("MSG ").and_then(|words| words.split_whitespace().last()) else {
                let bytes = line.strip_prefix("HMSG ").and_then(|words| words.split_whitespace().last());
                let mut body = vec![0; bytes.map_or(0, |bytes| bytes.parse::<usize>().unwrap() + 2)];
                server.read_exact(&mut body).await.ok()?;
                client.write_all(&[line.as_bytes(), &body].concat()).await.ok()?;
                continue;
            };
            let mut body = vec![0; bytes.parse::<usize>().unwrap() + 2];
            server.read_exact(&mut body).await.ok()?;
            let body = &body[..body.len() - 2];
            // Other answers say of which type they are.
            let is_acknowledgement = line.contains("_INBOX.") && !body.starts_with(b"{\"type\":");
            let Some(said) = (if is_acknowledgement { self.instead(body) } else { Some(body) }) else { continue };
            let head = line.trim_end().strip_suffix(bytes).unwrap();
            let message = [head.as_bytes(), said.len().to_string().as_bytes(), b"\r\n", said, b"\r\n"].concat();
            client.write_all(&message).await.ok()?;
        }
    }
}

/// Puts something between clients and a server. Returns where clients connect.
async fn between(server: String, way: Arc<Way>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = server.strip_prefix("nats://").unwrap().to_owned();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (mut said, to_client) = client.into_split();
            let (from_server, mut to_server) = TcpStream::connect(&server).await.unwrap().into_split();
            let way = Arc::clone(&way);
            tokio::spawn(async move { copy(&mut said, &mut to_server).await });
            tokio::spawn(async move { way.pass(from_server, to_client).await });
        }
    });
    format!("nats://{address}")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_servers_have_stored_is_not_refused_because_they_say_later_that_they_are_full() {
    let folder = TempDir::new().unwrap();
    let Some(mut shared) = shared_cluster(folder.path()) else { return };
    let way = Arc::new(Way::default());
    // None of these questions is answered in less time than that, but for those that are lost.
    (shared.attempt_ms, shared.timeout_ms) = (500, 3_000);
    shared.servers = vec![between(shared.servers[0].clone(), Arc::clone(&way)).await];
    let settings = crate::StoreSettings { cluster: Some(shared), ..settings() };
    let store = Store::open(&folder.path().join("infold.db"), &settings).unwrap();
    for (name, refusals) in [("soon", 1), ("never", usize::MAX / 2)] {
        way.is_losing.store(1, Ordering::SeqCst);
        way.refusals.store(refusals, Ordering::SeqCst);
        store.append(append_of(&fresh(name), &Command::Start, 10)).await.unwrap();
        assert_eq!(way.is_losing.load(Ordering::SeqCst), 0);
        way.refusals.store(0, Ordering::SeqCst);
        assert!(store.load(load_of(name, EndedBranches::Nothing)).await.unwrap().is_some());
    }
    way.refusals.store(1, Ordering::SeqCst);
    let refused = store.append(append_of(&fresh("full"), &Command::Start, 10)).await.unwrap_err();
    assert!(refused.to_string().contains("takes no more entries"), "{refused}");
}
