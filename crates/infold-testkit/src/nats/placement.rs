//! Whether a new cluster takes streams yet.
//!
//! Servers may all be healthy, for a moment, while the one that places streams has not learned of each other one that it
//! can keep any; it refuses them then ("no suitable peers for placement"). Nothing but trying shows that.

use anyhow::{Context, Result};
use async_nats::ConnectOptions;
use async_nats::jetstream;
use async_nats::jetstream::stream::{Config, StorageType};

use super::NATS_USER;
use super::monitor::until_some;

/// The stream that is made and removed again, and its only subject.
const PROBE: &str = "testkit-probe";

/// Waits until a stream can be kept by this many servers.
pub async fn until_streams_can_be_placed(url: &str, password: &str, replicas: usize) -> Result<()> {
    let options = ConnectOptions::with_user_and_password(NATS_USER.to_owned(), password.to_owned());
    let client = options.connect(url).await.context("cannot connect to the cluster")?;
    let context = jetstream::new(client);
    let config = Config {
        name: PROBE.to_owned(),
        subjects: vec![PROBE.to_owned()],
        storage: StorageType::Memory,
        num_replicas: replicas,
        ..Config::default()
    };
    until_some("a cluster that takes streams", async || Ok(context.create_stream(&config).await.ok())).await?;
    context.delete_stream(PROBE).await.context("cannot remove the probe")?;
    Ok(())
}
