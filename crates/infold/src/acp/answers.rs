//! Answers requests of an editor. What takes time is done beside, so that the connection goes on meanwhile.

use std::sync::Arc;

use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    CloseSessionRequest, CloseSessionResponse, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest,
    LoadSessionResponse, NewSessionRequest, NewSessionResponse, PromptRequest, PromptResponse, ResumeSessionRequest,
    ResumeSessionResponse, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
};
use agent_client_protocol::{Error, JsonRpcResponse};

use super::Editor;
use super::session::EditorSession;
use super::sessions::EditorSessions;

/// Whoever answers. Each kind of request has one.
#[derive(Clone)]
pub struct Answers(pub Arc<EditorSessions>);

impl Answers {
    fn beside(&self, work: impl Future<Output = ()> + Send + 'static) -> Result<(), Error> {
        self.0.tasks.spawn(work);
        Ok(())
    }

    /// Begins a session.
    pub fn begin(
        &self,
        request: NewSessionRequest,
        responder: Responder<NewSessionResponse>,
        editor: Editor,
    ) -> Result<(), Error> {
        let sessions = Arc::clone(&self.0);
        self.beside(async move { opened(responder, sessions.begin(request).await, &editor) })
    }

    /// Opens a session again, and shows it.
    pub fn load(
        &self,
        request: LoadSessionRequest,
        responder: Responder<LoadSessionResponse>,
        editor: Editor,
    ) -> Result<(), Error> {
        let sessions = Arc::clone(&self.0);
        self.beside(async move { opened(responder, sessions.load(request, &editor).await, &editor) })
    }

    /// Opens a session again.
    pub fn resume(
        &self,
        request: ResumeSessionRequest,
        responder: Responder<ResumeSessionResponse>,
        editor: Editor,
    ) -> Result<(), Error> {
        let sessions = Arc::clone(&self.0);
        self.beside(async move { opened(responder, sessions.resume(request).await, &editor) })
    }

    /// Lists sessions.
    pub fn list(&self, request: ListSessionsRequest, responder: Responder<ListSessionsResponse>) -> Result<(), Error> {
        let sessions = Arc::clone(&self.0);
        self.beside(async move { answer(responder, sessions.list(&request).await) })
    }

    /// Closes a session.
    pub fn close(&self, request: CloseSessionRequest, responder: Responder<CloseSessionResponse>) -> Result<(), Error> {
        let sessions = Arc::clone(&self.0);
        self.beside(async move {
            let closed = sessions.close(&request.session_id).await;
            answer(responder, closed.map(|()| CloseSessionResponse::new()));
        })
    }

    /// Takes a turn. It begins at once and not beside, so that a cancellation right behind the prompt finds it.
    pub fn prompt(
        &self,
        request: PromptRequest,
        responder: Responder<PromptResponse>,
        editor: Editor,
    ) -> Result<(), Error> {
        match self.0.begin_turn(request, &responder) {
            Err(error) => responder.respond_with_error(error),
            Ok(turn) => self.beside(async move { answer(responder, turn.take(&editor).await) }),
        }
    }

    /// Changes what is chosen in a session.
    pub fn choose(
        &self,
        request: SetSessionConfigOptionRequest,
        responder: Responder<SetSessionConfigOptionResponse>,
        editor: Editor,
    ) -> Result<(), Error> {
        let sessions = Arc::clone(&self.0);
        self.beside(async move { answer(responder, sessions.set_option(&request, &editor).await) })
    }
}

/// Answers a request. If the editor is gone, nobody is there to get it.
fn answer<Response: JsonRpcResponse>(responder: Responder<Response>, response: Result<Response, Error>) {
    drop(responder.respond_with_result(response));
}

/// Answers a request for a session, and says then what can be done in it: before, the editor does not know it.
fn opened<Response: JsonRpcResponse>(
    responder: Responder<Response>,
    opened: Result<(Response, Arc<EditorSession>), Error>,
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
