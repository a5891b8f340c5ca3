//! What other programs can watch: documents about sessions and branches, under subjects of their own, in a stream beside the
//! log. They follow from the log, and nothing that infold decides is read from them.

use std::collections::HashSet;

use async_nats::HeaderMap;
use async_nats::jetstream::{self, stream};
use futures::TryStreamExt;
use rusqlite::Transaction;

use super::log::{Log, describe};
use super::publish::random_name;
use super::settings::ClusterSettings;
use crate::load::session_key;
use crate::{SessionKey, Store, StoreError};

/// In place of the project, where a session has none.
const NO_PROJECT: &str = "no-project";
/// What documents are about, behind owner, project and session.
const ABOUT: [&str; 3] = ["branches.*", "events.*.*", STATE];
/// What every session with documents has.
const STATE: &str = "meta.session_state";
/// Says of which event a document is.
const EVENT: &str = "Infold-Event";
/// How many documents are published at once. Servers take up to a thousand.
const BATCH_MAX: usize = 500;

/// A document about a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The session that it is about.
    pub session: DocumentedSession,
    /// What of the session: `branches.…`, `events.…` or `meta.session_state`.
    pub about: String,
    /// Whether it takes the place of the one before.
    pub keep: KeepDocuments,
    /// The event that it was made for.
    pub event: u64,
    /// The document itself: JSON, without secrets.
    pub json: String,
}

/// A session as subjects name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentedSession {
    /// Whose it is, and its name.
    pub key: SessionKey,
    /// The hash of its project's path.
    pub project: Option<String>,
}

/// What becomes of earlier documents of the same subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepDocuments {
    /// Only the newest one is kept.
    Newest,
    /// All are kept, in order.
    All,
}

/// Up to where documents were published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentCursor {
    /// The last event of which everything was published.
    pub event: u64,
    /// The sequence of the message that says so.
    sequence: u64,
}

/// Documents that are published together with the cursor behind them: all or none of it is stored.
#[derive(Default)]
struct DocumentBatch {
    subjects: HashSet<String>,
    messages: Vec<(String, HeaderMap, String)>,
    /// The last event that it has everything of.
    up_to: u64,
}

impl DocumentBatch {
    /// Whether the documents of one more event have room in it. Of a subject that is in it nothing can be replaced.
    fn takes(&self, of_event: &[(String, &Document)]) -> bool {
        let replaces = |(subject, document): &(String, &Document)| {
            document.keep == KeepDocuments::Newest && self.subjects.contains(subject)
        };
        self.messages.len() + of_event.len() <= BATCH_MAX && !of_event.iter().any(replaces)
    }

    fn behind(cursor: DocumentCursor) -> Self {
        Self { up_to: cursor.event, ..Self::default() }
    }

    fn add(&mut self, of_event: &[(String, &Document)]) {
        for (subject, document) in of_event {
            let mut headers = HeaderMap::new();
            headers.insert(EVENT, document.event.to_string().as_str());
            if document.keep == KeepDocuments::Newest {
                headers.insert("Nats-Rollup", "sub");
            }
            self.subjects.insert(subject.clone());
            self.messages.push((subject.clone(), headers, document.json.clone()));
        }
    }
}

/// The way to the documents' stream.
pub(super) struct Documents {
    context: jetstream::Context,
    client: async_nats::Client,
    stream: String,
    cursor: String,
    /// What every subject begins with.
    prefix: String,
}

/// A part of a subject. What a subject gives a meaning to, or does not allow, is written as its bytes.
fn token(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_:".contains(&byte);
    let written = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(written).collect()
}

impl Documents {
    /// Finds the stream, or makes it.
    pub(super) async fn reach(log: &Log) -> Result<Self, StoreError> {
        let settings = &log.settings;
        let name = stream_name(settings);
        let cursor = format!("{}.documented", settings.subject_prefix);
        // A stream's subjects cannot begin with any word: the servers' own do too.
        let prefix = settings.documents_prefix.clone();
        let mut subjects: Vec<String> = ABOUT.iter().map(|about| format!("{prefix}.*.*.*.{about}")).collect();
        subjects.push(cursor.clone());
        let config = stream::Config {
            name: name.clone(),
            description: Some("Sessions and branches of infold, for programs that watch them".to_owned()),
            subjects,
            storage: stream::StorageType::File,
            num_replicas: settings.replicas,
            allow_rollup: true,
            allow_atomic_publish: true,
            ..Default::default()
        };
        log.make_beside(config).await?;
        Ok(Self { context: log.context.clone(), client: log.client.clone(), stream: name, cursor, prefix })
    }

    fn subject(&self, session: &DocumentedSession) -> String {
        let project = session.project.as_deref().unwrap_or(NO_PROJECT);
        let (owner, id) = (token(session.key.owner.as_str()), token(session.key.id.as_str()));
        format!("{}.{owner}.{}.{id}", self.prefix, token(project))
    }

    /// Publishes a batch, and moves the cursor behind it, unless another machine has moved it.
    async fn commit(&self, batch: DocumentBatch, cursor: DocumentCursor) -> Result<DocumentCursor, StoreError> {
        let name = random_name()?;
        let count = batch.messages.len() + 1;
        let in_batch = |headers: &mut HeaderMap, number: usize| {
            headers.insert("Nats-Batch-Id", name.as_str());
            headers.insert("Nats-Batch-Sequence", number.to_string().as_str());
        };
        for (number, (subject, mut headers, json)) in batch.messages.into_iter().enumerate() {
            in_batch(&mut headers, number + 1);
            let sent = self.client.publish_with_headers(subject, headers, json.into()).await;
            sent.map_err(|error| failed(&error))?;
        }
        let mut headers = HeaderMap::new();
        in_batch(&mut headers, count);
        headers.insert("Nats-Batch-Commit", "1");
        headers.insert("Nats-Rollup", "sub");
        headers.insert("Nats-Expected-Last-Subject-Sequence", cursor.sequence.to_string().as_str());
        headers.insert(EVENT, batch.up_to.to_string().as_str());
        let sent =
            async { self.context.publish_with_headers(self.cursor.clone(), headers, bytes::Bytes::new()).await?.await };
        let sequence = sent.await.map_err(|error| failed(&error))?.sequence;
        Ok(DocumentCursor { event: batch.up_to, sequence })
    }
}

/// The stream beside a log that holds its documents.
pub(super) fn stream_name(settings: &ClusterSettings) -> String {
    format!("{}_STATE", settings.stream)
}

fn failed(error: &dyn std::error::Error) -> StoreError {
    StoreError::Unreachable { servers: "the stream of documents".to_owned(), problem: describe(error) }
}

impl Store {
    /// Up to where documents were published; `None` where nobody can watch.
    pub async fn document_cursor(&self) -> Result<Option<DocumentCursor>, StoreError> {
        let Some(documents) = self.documents() else { return Ok(None) };
        let stream = documents.context.get_stream(&documents.stream).await.map_err(|error| failed(&error))?;
        match stream.get_last_raw_message_by_subject(&documents.cursor).await {
            Ok(message) => {
                let event = message.headers.get(EVENT).and_then(|event| event.as_str().parse().ok()).unwrap_or(0);
                Ok(Some(DocumentCursor { event, sequence: message.sequence }))
            }
            Err(error) if error.kind() == stream::LastRawMessageErrorKind::NoMessageFound => {
                Ok(Some(DocumentCursor { event: 0, sequence: 0 }))
            }
            Err(error) => Err(failed(&error)),
        }
    }

    /// Publishes documents behind a cursor, in order and each once. `up_to` is the last event that was looked at.
    pub async fn publish_documents(
        &self,
        mut cursor: DocumentCursor,
        published: &[Document],
        up_to: u64,
    ) -> Result<DocumentCursor, StoreError> {
        let Some(documents) = self.documents() else { return Ok(cursor) };
        let mut batch = DocumentBatch::behind(cursor);
        for of_event in published.chunk_by(|one, next| one.event == next.event) {
            let subject = |document: &Document| format!("{}.{}", documents.subject(&document.session), document.about);
            let of_event: Vec<_> = of_event.iter().map(|document| (subject(document), document)).collect();
            for part in of_event.chunks(BATCH_MAX) {
                if !batch.takes(part) {
                    cursor = documents.commit(batch, cursor).await?;
                    batch = DocumentBatch::behind(cursor);
                }
                batch.add(part);
            }
            // What was published of a part of an event's documents is published again if the rest is not.
            batch.up_to = of_event.last().map_or(batch.up_to, |(_, document)| document.event);
        }
        batch.up_to = up_to;
        documents.commit(batch, cursor).await
    }

    /// Deletes documents about sessions that are not there any more, whenever they have lapsed and whoever noticed.
    pub async fn forget_lapsed_documents(&self) -> Result<(), StoreError> {
        let Some(documents) = self.documents() else { return Ok(()) };
        let stream = documents.context.get_stream(&documents.stream).await.map_err(|error| failed(&error))?;
        // Documents first: a session that has some is in the log by then, if it has not lapsed.
        let filter = format!("{}.*.*.*.{STATE}", documents.prefix);
        let documented = stream.info_with_subjects(filter).await.map_err(|error| failed(&error))?;
        let documented: Vec<_> = documented.try_collect().await.map_err(|error| failed(&error))?;
        self.fresh().await?;
        let live = self.read(documented_sessions).await?;
        let live: HashSet<String> = live.iter().map(|session| documents.subject(session)).collect();
        for (subject, _) in &documented {
            let Some(session) = subject.strip_suffix(STATE).and_then(|session| session.strip_suffix('.')) else {
                continue;
            };
            if !live.contains(session) {
                stream.purge().filter(format!("{session}.>")).await.map_err(|error| failed(&error))?;
            }
        }
        Ok(())
    }

    fn documents(&self) -> Option<&Documents> {
        self.inner.cluster.as_ref().and_then(|shown| shown.documents.get())
    }
}

/// All sessions whose live state is there, as subjects name them.
fn documented_sessions(transaction: &Transaction<'_>) -> Result<Vec<DocumentedSession>, StoreError> {
    let mut statement = transaction.prepare("SELECT owner, name, project FROM sessions")?;
    let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
    rows.map(|row| {
        let (key, project) = row?;
        Ok(DocumentedSession { key: session_key(key)?, project })
    })
    .collect()
}
