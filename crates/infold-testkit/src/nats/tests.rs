//! The servers do what the tests of the store rely on: they acknowledge in order, elect, refuse without a majority, and
//! forget nothing.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use async_nats::HeaderMap;
use async_nats::header::NATS_EXPECTED_LAST_SEQUENCE;
use async_nats::jetstream::context::{Context, PublishError, PublishErrorKind};
use async_nats::jetstream::publish::PublishAck;
use async_nats::jetstream::stream::{Config, StorageType};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;

use super::monitor::until_some;
use super::node::PortTaken;
use super::server::with_other_ports;
use super::{BareStream, NatsCluster, NatsServer, NatsSetup, nats_program};
use crate::TempFolder;

const STREAM: &str = "events";
/// Of how many publications the quickest is taken.
const PUBLICATIONS: usize = 20;
/// Set in the process that a test starts to kill it.
const TO_BE_KILLED: &str = "TESTKIT_TO_BE_KILLED";
/// What the line with the servers' addresses begins with.
const STARTED: &str = "servers started: ";

async fn make_stream(context: &Context, replicas: usize) -> Result<()> {
    let config = Config {
        name: STREAM.to_owned(),
        subjects: vec!["events.>".to_owned()],
        storage: StorageType::File,
        num_replicas: replicas,
        ..Config::default()
    };
    context.create_stream(config).await?;
    Ok(())
}

/// Publishes a message that must become the one after `last`.
async fn append(context: &Context, last: u64) -> Result<PublishAck, PublishError> {
    let mut headers = HeaderMap::new();
    headers.insert(NATS_EXPECTED_LAST_SEQUENCE, last.to_string());
    context.publish_with_headers("events.a", headers, format!("after {last}").into()).await?.await
}

/// Publishes as soon as there is a leader to acknowledge it, and the client's server knows of it.
async fn append_in_time(context: &Context, last: u64) -> Result<u64> {
    until_some("an acknowledgement", async || Ok(append(context, last).await.ok())).await.map(|ack| ack.sequence)
}

async fn messages(context: &Context) -> Result<u64> {
    Ok(context.get_stream(STREAM).await?.info().await?.state.messages)
}

#[tokio::test]
async fn servers_start_with_other_ports_if_theirs_were_taken() -> Result<()> {
    let mut starts = 0;
    let started = with_other_ports(async || {
        starts += 1;
        if starts == 1 { Err(PortTaken).context("while starting") } else { Ok("ready") }
    });
    assert_eq!(started.await?, "ready");
    Ok(())
}

#[tokio::test]
async fn one_server_keeps_what_it_acknowledged() -> Result<()> {
    let Some(mut server) = NatsServer::start().await? else { return Ok(()) };
    let context = async_nats::jetstream::new(server.client().await?);
    make_stream(&context, 1).await?;
    assert_eq!(append(&context, 0).await?.sequence, 1);

    server.kill()?;
    server.restart().await?;

    let context = async_nats::jetstream::new(server.client().await?);
    assert_eq!(append(&context, 0).await.unwrap_err().kind(), PublishErrorKind::WrongLastSequence);
    assert_eq!(append(&context, 1).await?.sequence, 2);
    Ok(())
}

#[tokio::test]
async fn a_cluster_elects_another_leader_and_keeps_what_was_acknowledged() -> Result<()> {
    let Some(mut cluster) = NatsCluster::start(3).await? else { return Ok(()) };
    let context = async_nats::jetstream::new(cluster.client().await?);
    make_stream(&context, 3).await?;
    assert_eq!(append_in_time(&context, 0).await?, 1);
    assert_eq!(append(&context, 0).await.unwrap_err().kind(), PublishErrorKind::WrongLastSequence);

    let first = cluster.until_leader(STREAM).await?;
    cluster.kill(first)?;
    let second = cluster.until_leader(STREAM).await?;
    assert_ne!(second, first);
    assert_eq!(append_in_time(&context, 1).await?, 2);

    cluster.restart(first)?;
    cluster.until_ready().await?;
    assert_eq!(messages(&context).await?, 2);
    Ok(())
}

#[tokio::test]
async fn a_partitioned_leader_acknowledges_nothing_and_catches_up_when_healed() -> Result<()> {
    let Some(mut cluster) = NatsCluster::start(3).await? else { return Ok(()) };
    make_stream(&async_nats::jetstream::new(cluster.client().await?), 3).await?;
    let old = cluster.until_leader(STREAM).await?;
    let in_minority = async_nats::jetstream::new(cluster.client_of(old).await?);
    let in_majority = async_nats::jetstream::new(cluster.client_of((old + 1) % 3).await?);
    assert_eq!(append_in_time(&in_minority, 0).await?, 1);

    cluster.partition(old)?;
    let new = cluster.until_leader(STREAM).await?;
    assert_ne!(new, old);
    assert_eq!(append_in_time(&in_majority, 1).await?, 2);
    // The same place in the stream: had this been acknowledged, one of the two would be lost.
    let refused = append(&in_minority, 1).await.unwrap_err().kind();
    assert!(!matches!(refused, PublishErrorKind::WrongLastSequence), "the parted server cannot know the new message");

    cluster.heal(old)?;
    cluster.until_ready().await?;
    assert_eq!(append_in_time(&in_minority, 2).await?, 3);
    assert_eq!(messages(&in_majority).await?, 3);
    Ok(())
}

#[tokio::test]
async fn a_paused_leader_is_replaced_and_comes_back() -> Result<()> {
    let Some(mut cluster) = NatsCluster::start(3).await? else { return Ok(()) };
    make_stream(&async_nats::jetstream::new(cluster.client().await?), 3).await?;
    let old = cluster.until_leader(STREAM).await?;
    let beside = async_nats::jetstream::new(cluster.client_of((old + 1) % 3).await?);

    cluster.pause(old)?;
    assert_ne!(cluster.until_leader(STREAM).await?, old);
    assert_eq!(append_in_time(&beside, 0).await?, 1);

    cluster.resume(old)?;
    cluster.until_ready().await?;
    Ok(())
}

/// How long the quickest of some publications took.
async fn quickest(stream: &BareStream) -> Result<Duration> {
    let mut quickest = Duration::MAX;
    for _ in 0..PUBLICATIONS {
        let begun = Instant::now();
        stream.publish().await?;
        quickest = quickest.min(begun.elapsed());
    }
    Ok(quickest)
}

#[tokio::test]
async fn while_slow_disk_lasts_publishing_takes_longer_and_then_no_more() -> Result<()> {
    let Some(mut cluster) = NatsCluster::start(3).await? else { return Ok(()) };
    let stream = BareStream::make(&cluster, 3).await?;
    let before = quickest(&stream).await?;

    // With two slow disks of three, each acknowledgement waits for one.
    cluster.slow_disk(0)?;
    cluster.slow_disk(1)?;
    let meanwhile = quickest(&stream).await?;
    cluster.usual_disk(0)?;
    cluster.usual_disk(1)?;
    let after = quickest(&stream).await?;

    // Being watched makes a server a little slower too, but not this much.
    assert!(3 * before.max(after) < meanwhile, "{before:?}, {meanwhile:?} while slow, {after:?}");
    Ok(())
}

#[tokio::test]
async fn a_slow_disk_ends_with_its_server() -> Result<()> {
    let Some(mut cluster) = NatsCluster::start(3).await? else { return Ok(()) };
    cluster.slow_disk(0)?;
    cluster.pause(0)?;
    assert!(cluster.slow_disk(0).is_err(), "it is slow already");

    cluster.kill(0)?;
    cluster.usual_disk(0)?;
    cluster.restart(0)?;
    cluster.slow_disk(0)?;
    cluster.until_ready().await?;
    cluster.usual_disk(0)?;
    cluster.until_ready().await
}

#[tokio::test]
async fn a_server_can_be_without_jetstream_without_room_or_with_another_password() -> Result<()> {
    let Some(plain) = NatsSetup::default().without_jetstream().start_server().await? else { return Ok(()) };
    let context = async_nats::jetstream::new(plain.client().await?);
    assert!(make_stream(&context, 1).await.is_err());

    let small = NatsSetup::default().sync_by_default().file_store_bytes_max(4_000).start_server().await?;
    let small = small.context("it was there")?;
    let context = async_nats::jetstream::new(small.client().await?);
    make_stream(&context, 1).await?;
    assert!(context.publish("events.a", vec![0; 8_000].into()).await?.await.is_ok(), "the first is let in");
    let full = context.publish("events.a", vec![0; 8_000].into()).await?.await.unwrap_err();
    assert!(full.to_string().contains("insufficient resources"), "{full}");

    let closed = NatsSetup::default().with_wrong_password().start_server().await?.context("it was there")?;
    let refused = closed.client().await.unwrap_err();
    assert!(format!("{refused:#}").contains("authorization violation"), "{refused:#}");
    Ok(())
}

/// What the test below does in a process of its own, until it is killed.
async fn start_servers_and_wait() -> Result<()> {
    let Some(mut cluster) = NatsCluster::start(3).await? else { return Ok(()) };
    cluster.pause(0)?;
    eprintln!("{STARTED}{}", cluster.client_urls().join(" "));
    std::io::stdin().read_line(&mut String::new())?;
    Ok(())
}

#[tokio::test]
async fn servers_end_with_a_test_that_is_killed() -> Result<()> {
    if std::env::var_os(TO_BE_KILLED).is_some() {
        return start_servers_and_wait().await;
    }
    if nats_program()?.is_none() {
        return Ok(());
    }
    // What is killed cannot remove its folders, so they are made in ours.
    let folder = TempFolder::new()?;
    let mut test = Command::new(std::env::current_exe()?);
    test.env("TMPDIR", folder.path());
    test.args(["--exact", "--nocapture", "nats::tests::servers_end_with_a_test_that_is_killed"]).env(TO_BE_KILLED, "1");
    let mut test =
        test.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true).spawn()?;
    let mut lines = BufReader::new(test.stderr.take().context("no output")?).lines();
    let urls = loop {
        let line = lines.next_line().await?.context("it started nothing")?;
        if let Some(urls) = line.strip_prefix(STARTED) {
            break urls.to_owned();
        }
    };
    let addresses: Vec<&str> = urls.split(' ').map(|url| url.trim_start_matches("nats://")).collect();
    assert_eq!(addresses.len(), 3);
    for address in &addresses {
        TcpStream::connect(address).await?;
    }

    test.kill().await?;

    for address in addresses {
        until_some("the end of a server", async || Ok(TcpStream::connect(address).await.err())).await?;
    }
    Ok(())
}
