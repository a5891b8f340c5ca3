//! MCP over standard input and output, for one client whose principal is known beforehand.

mod lines;

use infold_core::Principal;
use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::server::{RelayServer, Server};

/// The buffer between the streams and the server, in bytes.
const PIPE_BYTES: usize = 64 << 10;
/// How many answers to broken lines may wait to be written.
const ANSWERS_WAITING_MAX: usize = 16;

/// Why serving over standard input and output failed.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The client did not begin with the protocol's handshake.
    #[error("the client did not start an MCP session: {0}")]
    Handshake(#[source] Box<ServerInitializeError>),
    /// The task that serves the client failed.
    #[error("serving over standard input and output failed")]
    Serving(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Serves one client on standard input and output until it closes its end or `shutdown` is cancelled.
///
/// Where standard input is not a pipe, a read of it cannot be interrupted: after a shutdown the program
/// should leave without waiting for its runtime's blocking threads.
pub async fn serve_stdio(server: &Server, caller: Principal, shutdown: CancellationToken) -> Result<(), StdioError> {
    let (input, output) = rmcp::transport::io::stdio_pipes();
    serve_streams(server, caller, (input, output), shutdown).await
}

/// Like [`serve_stdio`], with the fixtures of the conformance suite beside infold's tools.
#[cfg(feature = "conformance")]
pub async fn serve_fixtures(server: &Server, caller: Principal, shutdown: CancellationToken) -> Result<(), StdioError> {
    let line_bytes_max = server.settings().message_bytes_max;
    let fixtures = crate::fixtures::FixtureServer::new(server.for_caller(caller));
    serve_handler(fixtures, line_bytes_max, rmcp::transport::io::stdio_pipes(), shutdown).await
}

/// Like [`serve_stdio`], on any pair of streams.
pub async fn serve_streams<R, W>(
    server: &Server,
    caller: Principal,
    (input, output): (R, W),
    shutdown: CancellationToken,
) -> Result<(), StdioError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let line_bytes_max = server.settings().message_bytes_max;
    let server = server.for_caller(caller);
    if server.relays() {
        return serve_handler(RelayServer(server), line_bytes_max, (input, output), shutdown).await;
    }
    serve_handler(server, line_bytes_max, (input, output), shutdown).await
}

async fn serve_handler<S, R, W>(
    server: S,
    line_bytes_max: usize,
    (input, output): (R, W),
    shutdown: CancellationToken,
) -> Result<(), StdioError>
where
    S: ServerHandler,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (to_server, server_input) = tokio::io::duplex(PIPE_BYTES);
    let (server_output, from_server) = tokio::io::duplex(PIPE_BYTES);
    let (answer, answers) = mpsc::channel(ANSWERS_WAITING_MAX);
    let sifting = tokio::spawn(lines::sift(input, to_server, answer, line_bytes_max));
    let pumping = tokio::spawn(lines::pump(from_server, answers, output));

    let transport = AsyncRwTransport::new_server(server_input, server_output).with_max_line_length(line_bytes_max);
    let served = serve(server, transport, shutdown).await;

    // The server is done. Reading is stopped by force, because it may wait on an input that nobody closes.
    sifting.abort();
    let _ = sifting.await;
    match pumping.await {
        Ok(_written_or_nobody_reads) => served,
        Err(problem) => served.and(Err(StdioError::Serving(Box::new(problem)))),
    }
}

async fn serve<S: ServerHandler>(
    server: S,
    transport: AsyncRwTransport<RoleServer, DuplexStream, DuplexStream>,
    shutdown: CancellationToken,
) -> Result<(), StdioError> {
    let running = match server.serve_with_ct(transport, shutdown).await {
        Ok(running) => running,
        // The client went away, or the program is shutting down, before any request came.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(problem) => return Err(StdioError::Handshake(Box::new(problem))),
    };
    match running.waiting().await {
        Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
        Ok(QuitReason::JoinError(problem)) | Err(problem) => Err(StdioError::Serving(Box::new(problem))),
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
