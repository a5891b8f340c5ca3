//! infold's agent in an editor: the Agent Client Protocol, version 1, over standard input and output.
//!
//! Each session of the editor's is a conversation (`crate::agent`), which decides everything; here it is put into the
//! protocol's words. All of them share one engine. Files and commands are the agent's own, inside of its fence: the
//! editor's methods for files and terminals are not used.
//!
//! What must hold: standard output has the protocol and nothing else; a session's id in the protocol is its name in
//! infold; whatever the peer sends or leaves out, what was recorded stays, and the end of its input is an orderly end.

mod answers;
mod calls;
mod commands;
mod errors;
mod lines;
mod options;
mod permission;
mod plan;
mod prompt;
mod replay;
mod servers;
mod session;
mod sessions;
mod updates;
mod work;

use std::sync::Arc;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AuthenticateRequest, CancelNotification, InitializeRequest, SetSessionModeRequest, SetSessionModeResponse,
};
use agent_client_protocol::{Agent, Client, Error, on_receive_notification, on_receive_request};
use tokio_util::sync::CancellationToken;

use crate::agent::{AgentFlags, finish_writing};
use crate::commands::Invocation;
use crate::parts;
use crate::signals::Stops;
use answers::Answers;
use sessions::EditorSessions;

/// The log target of the protocol's crate. What it warns of is answered, and it writes 30 kB about a parameter that does not
/// fit: an editor that does not read standard error would stop the program with it.
pub const HELD_TO_ERROR_LOG_TARGET: &str = "agent_client_protocol";

/// The connection to an editor.
type Editor = ConnectionTo<Client>;

/// Serves one editor. When its input ends, or a signal comes, turns are interrupted and everything is put on disk.
pub async fn serve(invocation: Invocation, flags: AgentFlags) -> anyhow::Result<()> {
    let mut stops = Stops::catch()?;
    let engine = parts::engine(&invocation.data_folder()?, &invocation.in_force.settings)?;
    let ended = CancellationToken::new();
    let timers = tokio::spawn({
        let (engine, ended) = (engine.clone(), ended.clone());
        async move { engine.run_timers(ended).await }
    });
    let sessions = Arc::new(EditorSessions::new(invocation, flags, engine.clone()));

    let served = tokio::select! {
        served = connect(Arc::clone(&sessions)) => served,
        () = stops.next() => Ok(()),
    };

    // An editor that is gone, however it went, is the end of the connection and no fault of infold's.
    if let Err(error) = served {
        tracing::warn!(%error, "the connection to the editor broke off");
    }
    sessions.end().await;
    ended.cancel();
    timers.await?;
    finish_writing(&engine).await;
    Ok(())
}

/// Answers an editor until its input ends.
async fn connect(sessions: Arc<EditorSessions>) -> Result<(), Error> {
    let answers = Answers(Arc::clone(&sessions));
    let (first, cancelled, modes) = (Arc::clone(&sessions), Arc::clone(&sessions), sessions);
    let each = || answers.clone();
    let (begun, loaded, resumed, listed, closed, prompted, chosen) =
        (each(), each(), each(), each(), each(), each(), each());
    Agent
        .v1()
        .name("infold")
        .on_receive_request(
            async move |request: InitializeRequest, responder, _: Editor| responder.respond(first.introduce(&request)),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |_: AuthenticateRequest, responder, _: Editor| responder.respond_with_error(errors::no_login()),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request, responder, editor: Editor| begun.begin(request, responder, editor),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request, responder, editor: Editor| loaded.load(request, responder, editor),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request, responder, editor: Editor| resumed.resume(request, responder, editor),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request, responder, _: Editor| listed.list(request, responder),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request, responder, _: Editor| closed.close(request, responder),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request, responder, editor: Editor| prompted.prompt(request, responder, editor),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request, responder, editor: Editor| chosen.choose(request, responder, editor),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: SetSessionModeRequest, responder, editor: Editor| {
                let set = modes.set_mode(&request.session_id, &request.mode_id.0, &editor);
                responder.respond_with_result(set.map(|_| SetSessionModeResponse::new()))
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |request: CancelNotification, _: Editor| {
                cancelled.cancel(&request.session_id);
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_to(lines::standard())
        .await
}
