//! The connection to the servers that keep the shared log.

use std::collections::HashMap;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, stream};

use super::apply::Position;
use super::connect::{connect, unreachable};
use super::publish::random_name;
use super::settings::{ClusterSettings, CreateStream};
use super::{SharedState, note};
use crate::StoreError;

/// Under these names the stream says whose it is.
const CLUSTER_NAME: &str = "infold.cluster";
const KEY_PRINT: &str = "infold.key";
const FORMAT: (&str, &str) = ("infold.format", "2");
/// What the print of a key is derived for, and how long it is.
const PRINT_CONTEXT: &str = "infold 2026 print of a cluster's key";
const PRINT_CHARACTERS: usize = 16;
/// The sequence of a log's first message, unless it was made anew.
pub(super) const FIRST: u64 = 1;
/// A pause before a question is asked again.
pub(super) const PAUSE: Duration = Duration::from_millis(100);
/// How long the servers recognise an entry that is sent again.
const DUPLICATES: Duration = Duration::from_secs(120);
/// What a message needs beside its text: subject, headers.
const HEAD_BYTES: usize = 4 * 1024;
/// The longest part of an entry that goes into one message, whatever the servers would take.
const PART_BYTES_MAX: usize = 1024 * 1024;

/// The log, as it is reached from here.
#[derive(Clone)]
pub(super) struct Log {
    pub(super) context: jetstream::Context,
    pub(super) stream: stream::Stream,
    pub(super) client: async_nats::Client,
    pub(super) settings: ClusterSettings,
    /// The log's random name.
    pub(super) name: String,
    pub(super) part_bytes_max: usize,
    pub(super) state: SharedState,
}

impl Log {
    /// Connects, and finds or makes the stream. It is not made where there is an index of one, `indexed`: that may be all that
    /// is left.
    pub(super) async fn reach(
        settings: &ClusterSettings,
        secret: &[u8; 32],
        indexed: Option<&Position>,
        state: SharedState,
    ) -> Result<Self, StoreError> {
        let servers = Servers::reach(settings, secret, state).await?;
        match (servers.find().await?, settings.create) {
            (Some(stream), _) => servers.log(stream),
            (None, _) if let Some(position) = indexed => {
                let problem = format!(
                    "does not exist, but this machine has seen entries up to {} acknowledged",
                    position.applied
                );
                Err(unfit(settings, &problem, "see docs/cluster.md about a lost log"))
            }
            (None, CreateStream::IfAbsent) => servers.make(&random_name()?, FIRST).await,
            (None, CreateStream::Never) => {
                let remedy = "check the stream's name, or set store.nats.create = true once to make it";
                Err(unfit(settings, "does not exist", remedy))
            }
        }
    }

    /// How far the log goes, as a server says that leads it or did so until now: it may go further.
    pub(super) async fn seen(&self) -> Result<stream::State, StoreError> {
        let until = self.deadline();
        loop {
            let error = match self.stream.get_info().await {
                Ok(info) => {
                    note(&self.state, |state| {
                        state.leader = info.cluster.as_ref().and_then(|cluster| cluster.leader.clone());
                        state.problem = None;
                    });
                    return Ok(info.state);
                }
                Err(error) => error,
            };
            if Instant::now() >= until {
                return Err(self.unreachable(describe(&error)));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Makes a stream beside the log, if it is not there. One that lies beside another log is refused.
    pub(super) async fn make_beside(&self, config: stream::Config) -> Result<(), StoreError> {
        let metadata = HashMap::from([(CLUSTER_NAME.to_owned(), self.name.clone())]);
        let config = stream::Config { metadata, ..config };
        let until = self.deadline();
        loop {
            let error = match self.context.get_or_create_stream(config.clone()).await {
                Ok(stream) if stream.cached_info().config.metadata.get(CLUSTER_NAME) == Some(&self.name) => {
                    return Ok(());
                }
                Ok(_) => {
                    let problem = format!("has {} beside it, which is another log's", config.name);
                    let remedy = format!(
                        "if that is not needed, `nats stream rm {}`; or name another one with store.nats.stream",
                        config.name
                    );
                    return Err(self.unfit(&problem, &remedy));
                }
                Err(error) => error,
            };
            if Instant::now() >= until {
                return Err(unreachable(&self.settings, format!("the stream {} ({})", config.name, describe(&error))));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// How long to try. Once the cluster is known to be out of reach, nobody waits as long again until it has answered.
    pub(super) fn deadline(&self) -> Instant {
        let is_known = self.state.state.lock().unwrap_or_else(PoisonError::into_inner).problem.is_some();
        let wait = if is_known { self.settings.attempt_ms } else { self.settings.timeout_ms };
        Instant::now() + Duration::from_millis(wait)
    }

    pub(super) fn unreachable(&self, problem: String) -> StoreError {
        note(&self.state, |state| state.problem = Some(problem.clone()));
        unreachable(&self.settings, problem)
    }

    pub(super) fn subject(&self) -> String {
        format!("{}.log", self.settings.subject_prefix)
    }

    /// Where barriers go, beside the entries.
    pub(super) fn barrier_subject(&self) -> String {
        barrier_subject(&self.settings)
    }

    /// Where machines claim the duty.
    pub(super) fn duty_subject(&self) -> String {
        format!("{}.duty", self.settings.subject_prefix)
    }

    /// Where servers say what they have just stored.
    pub(super) fn stored_subject(&self) -> String {
        format!("{}.stored", self.settings.subject_prefix)
    }

    pub(super) fn unfit(&self, problem: &str, remedy: &str) -> StoreError {
        unfit(&self.settings, problem, remedy)
    }
}

/// The servers, before the log is found.
#[derive(Clone)]
pub(super) struct Servers {
    pub(super) context: jetstream::Context,
    client: async_nats::Client,
    settings: ClusterSettings,
    /// Identifies the secret that ids are made with: it is one for all machines.
    key_print: String,
    state: SharedState,
}

impl Servers {
    pub(super) async fn reach(
        settings: &ClusterSettings,
        secret: &[u8; 32],
        state: SharedState,
    ) -> Result<Self, StoreError> {
        let client = connect(settings, &state).await?;
        super::version::check_version(settings, &client.server_info().version)?;
        let mut context = jetstream::new(client.clone());
        context.set_timeout(Duration::from_millis(settings.attempt_ms));
        let print = blake3::Hash::from_bytes(blake3::derive_key(PRINT_CONTEXT, secret)).to_hex();
        let key_print = print.as_str()[..PRINT_CHARACTERS].to_owned();
        Ok(Self { context, client, settings: settings.clone(), key_print, state })
    }

    /// Finds the stream that the settings name; `None` if there is none.
    pub(super) async fn find(&self) -> Result<Option<stream::Stream>, StoreError> {
        find(&self.context, &self.settings).await
    }

    /// The log that a stream holds, if it is fit to.
    pub(super) fn log(self, stream: stream::Stream) -> Result<Log, StoreError> {
        let Self { context, client, settings, key_print, state } = self;
        let name = check(&settings, &stream.cached_info().config, &key_print)?;
        let part_bytes_max = client.server_info().max_payload.saturating_sub(HEAD_BYTES).min(PART_BYTES_MAX);
        note(&state, |state| {
            state.name.clone_from(&name);
            state.stream.clone_from(&settings.stream);
            state.replicas = stream.cached_info().config.num_replicas;
        });
        Ok(Log { context, stream, client, settings, name, part_bytes_max, state })
    }

    /// Makes the stream of a log whose messages are counted from `first`.
    pub(super) async fn make(self, name: &str, first: u64) -> Result<Log, StoreError> {
        let config = config(&self.settings, name, first, &self.key_print);
        let stream = make(&self.context, &self.settings, config).await?;
        self.log(stream)
    }
}

async fn find(context: &jetstream::Context, settings: &ClusterSettings) -> Result<Option<stream::Stream>, StoreError> {
    let until = Instant::now() + Duration::from_millis(settings.timeout_ms);
    loop {
        let error = match context.get_stream(&settings.stream).await {
            Ok(stream) => return Ok(Some(stream)),
            Err(error) => error,
        };
        if let jetstream::context::GetStreamErrorKind::JetStream(refused) = error.kind()
            && refused.error_code() == jetstream::ErrorCode::STREAM_NOT_FOUND
        {
            return Ok(None);
        }
        if Instant::now() >= until {
            return Err(unreachable(settings, format!("JetStream does not answer ({})", describe(&error))));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn config(settings: &ClusterSettings, name: &str, first: u64, key_print: &str) -> stream::Config {
    let prefix = &settings.subject_prefix;
    stream::Config {
        name: settings.stream.clone(),
        description: Some("What infold's machines share".to_owned()),
        subjects: vec![format!("{prefix}.log"), barrier_subject(settings)],
        discard: stream::DiscardPolicy::New,
        storage: stream::StorageType::File,
        num_replicas: settings.replicas,
        duplicate_window: DUPLICATES,
        // What is read has to be what the leader has.
        allow_direct: false,
        republish: Some(stream::Republish {
            source: format!("{prefix}.log"),
            destination: format!("{prefix}.stored"),
            headers_only: false,
        }),
        metadata: HashMap::from([
            (CLUSTER_NAME.to_owned(), name.to_owned()),
            (KEY_PRINT.to_owned(), key_print.to_owned()),
            (FORMAT.0.to_owned(), FORMAT.1.to_owned()),
        ]),
        first_sequence: (first > FIRST).then_some(first),
        ..Default::default()
    }
}

async fn make(
    context: &jetstream::Context,
    settings: &ClusterSettings,
    config: stream::Config,
) -> Result<stream::Stream, StoreError> {
    let until = Instant::now() + Duration::from_millis(settings.timeout_ms);
    loop {
        let error = match context.create_stream(config.clone()).await {
            Ok(stream) => return Ok(stream),
            Err(error) => error,
        };
        // Another machine may have been faster: its stream is the one to use.
        if let Some(stream) = find(context, settings).await? {
            return Ok(stream);
        }
        // Servers that have just started do not know each other yet.
        if Instant::now() >= until {
            let remedy = "the servers need JetStream, room on disk, and as many servers as store.nats.replicas says";
            return Err(unfit(settings, &format!("cannot be made ({})", describe(&error)), remedy));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Refuses a stream that is another program's, or that could lose or hide what was acknowledged. Returns the log's name.
fn check(settings: &ClusterSettings, config: &stream::Config, key_print: &str) -> Result<String, StoreError> {
    let problem = |problem: &str, remedy: &str| Err(unfit(settings, problem, remedy));
    let Some(name) = config.metadata.get(CLUSTER_NAME) else {
        return problem("was made by another program", "name another one with store.nats.stream");
    };
    let edit = |setting: &str| format!("`nats stream edit {} {setting}`", settings.stream);
    if config.metadata.get(FORMAT.0).map(String::as_str) != Some(FORMAT.1) {
        return problem("was made by another version of infold", "use the same version on all machines");
    }
    if config.metadata.get(KEY_PRINT).map(String::as_str) != Some(key_print) {
        let remedy = "copy infold.key from the folder `cluster` of a machine that works with it: `infold store key`";
        return problem("belongs to machines with another key", remedy);
    }
    if config.allow_direct {
        let remedy = format!("{}: reads may otherwise miss what was acknowledged", edit("--no-allow-direct"));
        return problem("answers reads from any server (allow_direct)", &remedy);
    }
    if config.num_replicas < settings.replicas {
        let found = format!("is kept on {} servers, not {}", config.num_replicas, settings.replicas);
        return problem(&found, &edit(&format!("--replicas {}", settings.replicas)));
    }
    let forgets = config.max_age > Duration::ZERO || config.max_messages > 0 || config.max_messages_per_subject > 0;
    if forgets || config.discard != stream::DiscardPolicy::New || config.storage != stream::StorageType::File {
        let remedy = "it needs storage File, discard New, and no max-age and max-msgs: make a new one";
        return problem("is set to forget entries", remedy);
    }
    Ok(name.clone())
}

fn barrier_subject(settings: &ClusterSettings) -> String {
    format!("{}.barrier", settings.subject_prefix)
}

pub(super) fn unfit(settings: &ClusterSettings, problem: &str, remedy: &str) -> StoreError {
    StoreError::Unfit {
        path: format!("the stream {}", settings.stream),
        problem: problem.to_owned(),
        remedy: remedy.to_owned(),
    }
}

/// An error with what caused it: the client's own words are short.
pub(super) fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let words = next.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = next.source();
    }
    text
}
