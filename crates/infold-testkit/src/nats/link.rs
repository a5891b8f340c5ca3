//! A link: the way from one server to another, which can be cut.
//!
//! A server that wants a route to another connects to the link instead, which carries bytes both ways.

use std::io;
use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// How much is carried at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// Connections of one link at a time; more are closed at once. Two servers have four or five.
const CONNECTIONS_MAX: usize = 64;

/// What a link does with bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// It carries them.
    Open,
    /// It holds them back, as a network does that drops packets: connections stay, and nobody learns of it. What is held
    /// back is carried once the link is open again, as packets are that are sent again.
    Silent,
    /// It closes every connection, so that both ends know.
    Closed,
}

/// A link. Its connections are closed when it is dropped.
#[derive(Debug)]
pub struct Link {
    port: u16,
    state: watch::Sender<LinkState>,
    serving: JoinHandle<()>,
}

impl Link {
    /// A link that leads to a port of loopback.
    pub async fn start(target: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen for a link")?;
        let port = listener.local_addr()?.port();
        let (state, seen) = watch::channel(LinkState::Open);
        let serving = tokio::spawn(serve(listener, target, seen));
        Ok(Self { port, state, serving })
    }

    /// Where it is entered.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Cuts or restores it, in both directions.
    pub fn set(&self, state: LinkState) {
        self.state.send_replace(state);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Takes connections for as long as the link exists. They end with this.
async fn serve(listener: TcpListener, target: u16, state: watch::Receiver<LinkState>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((near, _)) = accepted && connections.len() < CONNECTIONS_MAX {
                    connections.spawn(carry(near, target, state.clone()));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Carries one connection until an end closes it, or the link is closed.
async fn carry(near: TcpStream, target: u16, mut state: watch::Receiver<LinkState>) {
    let (mut going, coming) = (state.clone(), state.clone());
    let carried = async move {
        until_audible(&mut going).await;
        let far = TcpStream::connect((Ipv4Addr::LOCALHOST, target)).await?;
        near.set_nodelay(true)?;
        far.set_nodelay(true)?;
        let ((near_read, near_write), (far_read, far_write)) = (near.into_split(), far.into_split());
        tokio::try_join!(pump(near_read, far_write, going), pump(far_read, near_write, coming))
    };
    // How it ended does not matter here: both ends see a closed connection.
    tokio::select! {
        _ = carried => {}
        _ = state.wait_for(|state| *state == LinkState::Closed) => {}
    }
}

/// Carries one direction, its end included. What was read is never lost while the link is silent.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut state: watch::Receiver<LinkState>,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = from.read(&mut chunk).await?;
        until_audible(&mut state).await;
        if count == 0 {
            return to.shutdown().await;
        }
        to.write_all(&chunk[..count]).await?;
    }
}

/// Waits until the link is not silent.
async fn until_audible(state: &mut watch::Receiver<LinkState>) {
    // It fails only where the link is gone, and this task with it.
    let _ = state.wait_for(|state| *state != LinkState::Silent).await;
}
