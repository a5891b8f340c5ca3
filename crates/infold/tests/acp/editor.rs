//! An editor: the client of the protocol's own crate, at the other end of the program's standard input and output.

use std::process::Stdio;
use std::sync::{Arc, Mutex};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, ClientCapabilities, ContentBlock, InitializeRequest, LoadSessionRequest, NewSessionRequest,
    PermissionOptionKind, PromptRequest, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SelectedPermissionOutcome, SessionId, SessionNotification, StopReason,
};
use agent_client_protocol::{Agent, Client, Error, Lines, on_receive_notification, on_receive_request};
use futures::{sink, stream};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines as ReadLines};
use tokio::process::{ChildStdin, ChildStdout};

use crate::agent::scene::Scene;
use crate::support::{PATIENCE, POLL};

/// What the person at the editor answers to every question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Person {
    /// Picks the option of this kind.
    Picks(PermissionOptionKind),
    /// Closes the question.
    Cancels,
    /// Does not answer.
    IsAway,
}

pub const ALLOWS: Person = Person::Picks(PermissionOptionKind::AllowOnce);
pub const REJECTS: Person = Person::Picks(PermissionOptionKind::RejectOnce);

/// An editor that is connected.
#[derive(Clone)]
pub struct Editor {
    pub connection: ConnectionTo<Agent>,
    learnt: Arc<Learnt>,
    process: i32,
}

/// What an editor has learnt.
#[derive(Default)]
struct Learnt {
    updates: Mutex<Vec<(SessionId, Value)>>,
    questions: Mutex<Vec<Value>>,
}

/// An editor and how it is played.
pub struct PlayedModel<'a> {
    scene: &'a Scene,
    arguments: Vec<&'a str>,
    person: Person,
    can: ClientCapabilities,
}

impl<'a> PlayedModel<'a> {
    pub fn new(scene: &'a Scene, person: Person) -> Self {
        Self { scene, arguments: Vec::new(), person, can: ClientCapabilities::new() }
    }

    #[must_use]
    pub fn with(mut self, arguments: &[&'a str]) -> Self {
        self.arguments.extend(arguments);
        self
    }

    #[must_use]
    pub fn can(mut self, can: ClientCapabilities) -> Self {
        self.can = can;
        self
    }

    /// Starts the program, lets the editor do something, and ends the connection. The program has to end well then, unless
    /// it was killed.
    pub async fn does<T>(self, what: impl AsyncFnOnce(Editor) -> T) -> T {
        let arguments: Vec<&str> = ["acp"].into_iter().chain(self.arguments).collect();
        let mut child = self.scene.command(&arguments).stdin(Stdio::piped()).spawn().unwrap();
        let process = child.id().unwrap().cast_signed();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let learnt: Arc<Learnt> = Arc::default();
        let (shown, asked, person) = (Arc::clone(&learnt), Arc::clone(&learnt), self.person);
        let client = Client
            .v1()
            .on_receive_notification(
                async move |update: SessionNotification, _cx| {
                    let value = serde_json::to_value(&update.update).unwrap();
                    shown.updates.lock().unwrap().push((update.session_id, value));
                    Ok(())
                },
                on_receive_notification!(),
            )
            .on_receive_request(
                async move |question: RequestPermissionRequest, responder, cx: ConnectionTo<Agent>| {
                    asked.questions.lock().unwrap().push(serde_json::to_value(&question).unwrap());
                    match outcome(person, &question) {
                        Some(outcome) => responder.respond(RequestPermissionResponse::new(outcome)),
                        None => cx.spawn(async move {
                            responder.cancellation().cancelled().await;
                            responder.respond(RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled))
                        }),
                    }
                },
                on_receive_request!(),
            );
        let can = self.can;
        let playing = client.connect_with(lines(input, output), async |connection| {
            let hello = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(can);
            let met = connection.send_request(hello).block_task().await?;
            assert_eq!(met.protocol_version, ProtocolVersion::V1);
            assert!(met.agent_capabilities.prompt_capabilities.image, "images are taken");
            Ok(what(Editor { connection, learnt, process }).await)
        });
        let done = tokio::time::timeout(PATIENCE * 3, playing).await.expect("the editor is done in time").unwrap();
        let ended = tokio::time::timeout(PATIENCE, child.wait()).await.expect("the program ends in time").unwrap();
        assert!(ended.success() || ended.code().is_none(), "{ended}");
        done
    }
}

fn outcome(person: Person, question: &RequestPermissionRequest) -> Option<RequestPermissionOutcome> {
    match person {
        Person::IsAway => None,
        Person::Cancels => Some(RequestPermissionOutcome::Cancelled),
        Person::Picks(kind) => {
            let option = question.options.iter().find(|option| option.kind == kind).expect("the option is offered");
            Some(RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone())))
        }
    }
}

type Input = ReadLines<BufReader<ChildStdout>>;

/// The program's standard input and output. A line that is no JSON is a line that must not be there.
fn lines(
    input: ChildStdin,
    output: ChildStdout,
) -> Lines<
    impl futures::Sink<String, Error = std::io::Error> + Send + 'static,
    impl futures::Stream<Item = std::io::Result<String>> + Send + 'static,
> {
    let sink = sink::unfold(input, |mut input, line: String| async move {
        input.write_all(format!("{line}\n").as_bytes()).await?;
        Ok::<_, std::io::Error>(input)
    });
    let read = |mut lines: Input| async move {
        let line = lines.next_line().await.transpose()?;
        if let Ok(line) = &line {
            serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error} on standard output: {line}"));
        }
        Some((line, lines))
    };
    Lines::new(sink, stream::unfold(BufReader::new(output).lines(), read))
}

impl Editor {
    /// Begins a session in the scene's folder.
    pub async fn begin(&self, scene: &Scene) -> SessionId {
        let request = NewSessionRequest::new(scene.file(""));
        self.connection.send_request(request).block_task().await.unwrap().session_id
    }

    /// Opens a session again.
    pub async fn load(&self, scene: &Scene, session: &SessionId) -> Result<(), Error> {
        let request = LoadSessionRequest::new(session.clone(), scene.file(""));
        self.connection.send_request(request).block_task().await.map(drop)
    }

    /// Says something, and waits for the end of the turn.
    pub async fn say(&self, session: &SessionId, words: &str) -> Result<StopReason, Error> {
        self.prompt(session, vec![words.into()]).await
    }

    pub async fn prompt(&self, session: &SessionId, blocks: Vec<ContentBlock>) -> Result<StopReason, Error> {
        let request = PromptRequest::new(session.clone(), blocks);
        Ok(self.connection.send_request(request).block_task().await?.stop_reason)
    }

    /// Carries a slash command out, and returns what was said.
    pub async fn command(&self, session: &SessionId, words: &str) -> String {
        let before = self.said(session).len();
        assert_eq!(self.say(session, words).await.unwrap(), StopReason::EndTurn, "{words}");
        self.said(session)[before..].to_owned()
    }

    pub fn cancel(&self, session: &SessionId) {
        self.connection.send_notification(CancelNotification::new(session.clone())).unwrap();
    }

    /// All updates of a session so far.
    pub fn updates(&self, session: &SessionId) -> Vec<Value> {
        let updates = self.learnt.updates.lock().unwrap();
        updates.iter().filter(|(of, _)| of == session).map(|(_, update)| update.clone()).collect()
    }

    /// Those of a kind.
    pub fn of_kind(&self, session: &SessionId, kind: &str) -> Vec<Value> {
        self.updates(session).into_iter().filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// All words of the agent.
    pub fn said(&self, session: &SessionId) -> String {
        let chunks = self.of_kind(session, "agent_message_chunk");
        chunks.iter().map(|chunk| chunk["content"]["text"].as_str().unwrap()).collect()
    }

    /// A call as all updates together show it.
    pub fn call(&self, session: &SessionId, title: &str) -> Value {
        let announced = self.of_kind(session, "tool_call").into_iter().find(|call| call["title"] == title);
        let mut call = announced.unwrap_or_else(|| panic!("no call {title}: {:#?}", self.updates(session)));
        for update in self.of_kind(session, "tool_call_update") {
            if update["toolCallId"] == call["toolCallId"] {
                for (field, value) in update.as_object().unwrap() {
                    call[field] = value.clone();
                }
            }
        }
        call
    }

    /// What the person was asked.
    pub fn questions(&self) -> Vec<Value> {
        self.learnt.questions.lock().unwrap().clone()
    }

    pub fn kill(&self) {
        kill_process(Pid::from_raw(self.process).unwrap(), Signal::KILL).unwrap();
    }
}

/// Waits until something holds.
pub async fn until(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{what} does not happen"));
}
