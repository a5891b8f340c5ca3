//! infold's agent in an editor: the Agent Client Protocol, version 1, over standard input and output.
//!
//! Each session of the editor's is a conversation (`crate::agent`), which decides everything; here it is put into the
//! protocol's words. All of them share one engine. Files and commands are the agent's own, inside of its fence: the
//! editor's methods for files and terminals are not used.
//!
//! What must hold: standard output has the protocol and nothing else; a session's id in the protocol is its name in
//! infold; whatever the peer sends or leaves out, what was recorded stays, and the end of its input is an orderly end.

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
    AuthenticateRequest, CancelNotification, CloseSessionRequest, CloseSessionResponse, InitializeRequest,
    ListSessionsRequest, LoadSessionRequest, NewSessionRequest, PromptRequest, ResumeSessionRequest,
    SetSessionConfigOptionRequest, SetSessionModeRequest, SetSessionModeResponse,
};
use agent_client_protocol::{Agent, Client, Error, JsonRpcResponse, Responder, V1, on_receive_notification, on_receive_request};
use tokio_util::sync::CancellationToken;

use crate::agent::{AgentFlags, settle};
use crate::commands::Invocation;
use crate::parts;
use crate::signals::Stops;
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
    settle(&engine).await;
    Ok(())
}

/// Answers an editor until its input ends. What takes time is done beside, so that a cancellation is always heard.
async fn connect(sessions: Arc<EditorSessions>) -> Result<(), Error> {
    let for_each = || Arc::clone(&sessions);
    let (first, fresh, load, resume, list) = (for_each(), for_each(), for_each(), for_each(), for_each());
    let (prompt, cancel, close, mode, option) = (for_each(), for_each(), for_each(), for_each(), for_each());
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
            async move |request: NewSessionRequest, responder, editor: Editor| {
                let sessions = Arc::clone(&fresh);
                fresh.tasks.spawn(async move {
                    let begun = sessions.begin(request).await;
                    answer_and_announce(responder, begun, &editor);
                });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: LoadSessionRequest, responder, editor: Editor| {
                let sessions = Arc::clone(&load);
                load.tasks.spawn(async move {
                    let loaded = sessions.load(request, &editor).await;
                    answer_and_announce(responder, loaded, &editor);
                });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ResumeSessionRequest, responder, editor: Editor| {
                let sessions = Arc::clone(&resume);
                resume.tasks.spawn(async move {
                    let resumed = sessions.resume(request).await;
                    answer_and_announce(responder, resumed, &editor);
                });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ListSessionsRequest, responder, _: Editor| {
                let sessions = Arc::clone(&list);
                list.tasks.spawn(async move { answer(responder, sessions.list(&request).await) });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: CloseSessionRequest, responder, _: Editor| {
                let sessions = Arc::clone(&close);
                close.tasks.spawn(async move {
                    let closed = sessions.close(&request.session_id).await;
                    answer(responder, closed.map(|()| CloseSessionResponse::new()));
                });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, editor: Editor| {
                // The turn begins here and not beside, so that a cancellation right behind it finds it.
                match prompt.begin_turn(request, &responder) {
                    Ok(turn) => drop(prompt.tasks.spawn(async move { answer(responder, turn.take(&editor).await) })),
                    Err(error) => responder.respond_with_error(error)?,
                }
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |cancelled: CancelNotification, _: Editor| {
                cancel.cancel(&cancelled.session_id);
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: SetSessionModeRequest, responder, editor: Editor| {
                let set = mode.set_mode(&request.session_id, &request.mode_id.0, &editor);
                responder.respond_with_result(set.map(|_| SetSessionModeResponse::new()))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: SetSessionConfigOptionRequest, responder, editor: Editor| {
                let sessions = Arc::clone(&option);
                option.tasks.spawn(async move { answer(responder, sessions.set_option(&request, &editor).await) });
                Ok(())
            },
            on_receive_request!(),
        )
        .connect_to(lines::standard())
        .await
}

/// Answers a request. If the editor is gone, there is nobody to tell.
fn answer<Response: JsonRpcResponse>(responder: Responder<Response, V1>, response: Result<Response, Error>) {
    drop(responder.respond_with_result(response));
}

/// Answers a request for a session, and says then what can be done in it: before, the editor does not know it.
fn answer_and_announce<Response: JsonRpcResponse>(
    responder: Responder<Response, V1>,
    opened: Result<(Response, Arc<session::EditorSession>), Error>,
    editor: &Editor,
) {
    match opened {
        Err(error) => answer(responder, Err(error)),
        Ok((response, session)) => {
            answer(responder, Ok(response));
            session.announce(editor);
        }
    }
}
