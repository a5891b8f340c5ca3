//! The cheapest thing that servers can be asked to keep, to measure others by.

use anyhow::{Context, Result};
use async_nats::jetstream::{self, stream};

use super::NatsCluster;

const SUBJECT: &str = "testkit-bare";
/// What a message says: as little as an entry of infold's log has after packing.
const PAYLOAD: [u8; 256] = [7; 256];

/// A stream that nobody reads.
#[derive(Debug)]
pub struct BareStream {
    context: jetstream::Context,
}

impl BareStream {
    /// Makes the stream, on this many servers.
    pub async fn make(cluster: &NatsCluster, replicas: usize) -> Result<Self> {
        let context = jetstream::new(cluster.client().await?);
        let config = stream::Config {
            name: SUBJECT.to_owned(),
            subjects: vec![SUBJECT.to_owned()],
            num_replicas: replicas,
            ..stream::Config::default()
        };
        context.create_stream(config).await.context("cannot make a stream")?;
        Ok(Self { context })
    }

    /// Publishes one message, and waits until it is acknowledged.
    pub async fn publish(&self) -> Result<()> {
        self.context.publish(SUBJECT, PAYLOAD.to_vec().into()).await?.await?;
        Ok(())
    }
}
