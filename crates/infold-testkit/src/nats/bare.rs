//! The cheapest thing that servers can be asked to keep, to measure others by.

use anyhow::{Context, Result, bail};
use async_nats::jetstream::{self, stream};

use super::NatsCluster;

const SUBJECT: &str = "testkit-bare";
/// What a message says: as little as an entry of infold's log has after packing.
const PAYLOAD: [u8; 256] = [7; 256];

/// How many streams are made until one is led by the right server.
const TRIES_MAX: usize = 50;

/// A stream that nobody reads.
#[derive(Debug)]
pub struct BareStream {
    context: jetstream::Context,
}

impl BareStream {
    /// Makes the stream, on this many servers, of which the first is asked.
    pub async fn make(cluster: &NatsCluster, replicas: usize) -> Result<Self> {
        let context = jetstream::new(cluster.client_of(0).await?);
        let config = stream::Config {
            name: SUBJECT.to_owned(),
            subjects: vec![SUBJECT.to_owned()],
            num_replicas: replicas,
            ..stream::Config::default()
        };
        context.create_stream(config).await.context("cannot make a stream")?;
        Ok(Self { context })
    }

    /// Makes the stream where the server leads it that leads another one: how far the two are from each other would otherwise be
    /// up to chance.
    pub async fn make_beside(cluster: &NatsCluster, other: &str, replicas: usize) -> Result<Self> {
        for _ in 0..TRIES_MAX {
            let bare = Self::make(cluster, replicas).await?;
            if cluster.until_leader(SUBJECT).await? == cluster.until_leader(other).await? {
                return Ok(bare);
            }
            bare.context.delete_stream(SUBJECT).await.context("cannot remove a stream")?;
        }
        bail!("no stream of {TRIES_MAX} was led by the server that leads {other}")
    }

    /// Publishes one message, and waits until it is acknowledged.
    pub async fn publish(&self) -> Result<()> {
        self.context.publish(SUBJECT, PAYLOAD.to_vec().into()).await?.await?;
        Ok(())
    }
}
