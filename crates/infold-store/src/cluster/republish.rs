//! Making the shared log anew from an index, where the log has lost what the index has seen acknowledged.
//!
//! The new log is the old one by name, and goes on from where the index is: everything up to there is a base. A machine whose index
//! has come as far goes on, one that is behind begins anew from the base, and one that has seen more is refused: the
//! new log's messages are counted from far behind anything that the old one had, so nobody takes one for the other.
//!
//! What must hold: nothing is removed before the index was found whole, and no machine goes on before the new log has its first
//! entry. If this is cut off, it begins anew from the same index.

use async_nats::jetstream::{self, context, stream};

use super::apply::{self, Position};
use super::base::{self, Bases};
use super::entry::LogEntry;
use super::log::{Log, Servers, describe};
use super::publish::ChainKey;
use super::settings::ClusterSettings;
use super::{SharedState, documents, join};
use crate::{Store, StoreError, schema};

/// How many sequences lie between the last entry that an index has and the first one of the new log.
pub(super) const GAP: u64 = 1_000_000;

/// What is wrong with a log, and what an index could put in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostLog {
    /// What the log lacks.
    pub problem: String,
    /// The last entry that the index has.
    pub applied: u64,
    /// The hash over everything shared that the index has.
    pub digest: String,
}

/// A log that has to be made anew.
struct Replaceable {
    lost: LostLog,
    servers: Servers,
    name: String,
    position: Position,
    /// Whether there is a stream, though it lacks something.
    is_there: bool,
}

impl Store {
    /// Says what the log lacks of this index, which was opened without its cluster. Refuses if it lacks nothing.
    pub async fn lost_log(&self, settings: &ClusterSettings) -> Result<LostLog, StoreError> {
        Ok(self.find_lost(settings).await?.lost)
    }

    /// Makes the log anew from this index, which was opened without its cluster. No machine may be working meanwhile.
    pub async fn republish(&self, settings: &ClusterSettings) -> Result<LostLog, StoreError> {
        let Replaceable { lost, servers, name, position, is_there } = self.find_lost(settings).await?;
        let context = servers.context.clone();
        if is_there {
            remove(&context, settings, &settings.stream).await?;
        }
        let log = servers.make(&name, position.applied + GAP).await?;
        check_name(&log, &name)?;
        remove(&context, settings, &base::stream_name(settings)).await?;
        let key = ChainKey::of(self.secret());
        let head = self.publish_base(&Bases::reach(&log, &key).await?, 0, 0).await?;
        let digest = self.shared_digest().await?;
        if head.is_none_or(|head| head.applied != position.applied) || digest != lost.digest {
            return Err(log.unfit("was not made anew: the index changed meanwhile", "stop infold here, and try again"));
        }
        // Documents were published up to an event that may never have happened now. They follow from the new log.
        remove(&context, settings, &documents::stream_name(settings)).await?;
        let nothing = LogEntry { schema: schema::KNOWN, tables: Vec::new() }.encode()?;
        log.publish_first(&key, &position, &nothing).await?;
        Ok(lost)
    }

    async fn find_lost(&self, settings: &ClusterSettings) -> Result<Replaceable, StoreError> {
        self.look_for_damage().await?;
        let (joined, digest) =
            self.read(|transaction| Ok((apply::joined(transaction)?, super::tables::digest(transaction)?))).await?;
        let Some((name, position)) = joined.filter(|(_, position)| position.applied > 0) else {
            let remedy = "run this on a machine that has worked with the cluster";
            return Err(super::log::unfit(
                settings,
                "cannot be made anew from an index that has nothing of it",
                remedy,
            ));
        };
        let servers = Servers::reach(settings, self.secret(), SharedState::default()).await?;
        let stream = servers.find().await?;
        let is_there = stream.is_some();
        let problem = match stream {
            None => format!("the stream {} does not exist", settings.stream),
            Some(stream) => self.problem(&servers, stream, &name, &position).await?,
        };
        let lost = LostLog { problem, applied: position.applied, digest };
        Ok(Replaceable { lost, servers, name, position, is_there })
    }

    /// What a log lacks that is there.
    async fn problem(
        &self,
        servers: &Servers,
        stream: stream::Stream,
        name: &str,
        position: &Position,
    ) -> Result<String, StoreError> {
        let log = servers.clone().log(stream)?;
        check_name(&log, name)?;
        // Servers that take nothing now, because they are full or out of reach, have lost nothing.
        let newest = log.barrier().await?;
        match join::check(&log, newest, position).await {
            Ok(()) => {
                let problem = format!("has everything that this machine has, up to entry {}", position.applied);
                Err(log.unfit(&problem, "nothing has to be done"))
            }
            Err(StoreError::Unfit { path, problem, .. }) => Ok(format!("{path} {problem}")),
            Err(error) => Err(error),
        }
    }
}

fn check_name(log: &Log, name: &str) -> Result<(), StoreError> {
    if log.name == name {
        return Ok(());
    }
    let remedy = "if it has nothing that is needed, remove the stream, and try again";
    Err(log.unfit("is another log than the one that this machine's index was made from", remedy))
}

/// Removes a stream, if it is there.
async fn remove(context: &jetstream::Context, settings: &ClusterSettings, name: &str) -> Result<(), StoreError> {
    match context.delete_stream(name).await {
        Ok(_) => Ok(()),
        Err(error) if is_absent(&error) => Ok(()),
        Err(error) => Err(StoreError::Unreachable {
            servers: settings.servers.join(", "),
            problem: format!("the stream {name} cannot be removed ({})", describe(&error)),
        }),
    }
}

fn is_absent(error: &context::DeleteStreamError) -> bool {
    matches!(error.kind(), context::DeleteStreamErrorKind::JetStream(refused)
        if refused.error_code() == jetstream::ErrorCode::STREAM_NOT_FOUND)
}
