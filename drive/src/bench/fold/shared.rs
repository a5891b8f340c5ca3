//! What opening and folding costs where several machines share the state: against two bare publications that three servers
//! acknowledge, in a crowd of sessions, and how long another machine's index takes to have it.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use infold_testkit::nats::{BareStream, NatsCluster, NatsSetup, SHARED_STREAM, connected};
use infold_testkit::{Daemon, DaemonSetup, McpHttp, Rng, TempFolder};

use super::super::figures::{Latencies, Table};
use super::super::{FoldArguments, crowd, unlimited};
use super::{open, open_and_fold, raise_open_files, show};
use xtask::workspace::Workspace;

const SERVERS: usize = 3;
const RATIO_MAX: f64 = 2.0;
/// Sessions that the folds go round.
const SESSIONS: usize = 200;
/// Where chance begins. The same order each time, so that runs can be compared.
const ORDER_SEED: u64 = 7;
/// Pairs before anything is counted.
const WARM_UP_PAIRS: usize = 100;
/// How many openings the index is measured with, how long it may take, and the pause between two looks.
const LAGS: usize = 500;
const LAG_MAX: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// Makes all measurements; the exit code is a failure when a target is missed.
pub async fn run(workspace: &Workspace, program: &Path, arguments: &FoldArguments) -> Result<ExitCode> {
    let folder = TempFolder::inside(&workspace.target().join("bench"))?;
    raise_open_files();
    let setup = NatsSetup::default().inside(&folder.join("servers"));
    let cluster = setup.start_cluster(SERVERS).await?.context("`cargo xtask test` installs the NATS server")?;
    let password = folder.join("password");
    std::fs::write(&password, cluster.password())?;
    let machine = |name: &str| {
        // Bare publications are sent to the same server.
        connected(unlimited(DaemonSetup::new(program)), &cluster.client_urls()[..1], &password).data(folder.join(name))
    };
    let first = machine("first").start().await?;
    let client = McpHttp::connect(first.base_url(), arguments.era.era()).await?;
    let mut table = Table::default();
    pairs(&mut table, &client, &cluster, arguments.seconds).await?;
    // Another machine has a processor of its own, so it does not run before it is asked about.
    let mut taken = Command::new(program);
    taken.args(["store", "key", "--quiet", "--from"]).arg(first.data().join("cluster/infold.key"));
    ensure!(taken.arg("--data").arg(folder.join("second")).status()?.success(), "the second machine has no key");
    let second = machine("second").start().await?;
    lag(&mut table, &client, &second).await?;
    let crowd = crowd::measure(&first, arguments.era.era(), arguments.sessions).await?;
    table.hold(&format!("refused of {} sessions at once", arguments.sessions), crowd.refused as f64, 0.0, "");
    table.show("all of them open and folded in", format!("{:.2} s", crowd.seconds));
    Ok(table.finish())
}

/// Opens and folds, and publishes twice, one after the other, in an order that chance decides.
async fn pairs(table: &mut Table, client: &McpHttp, cluster: &NatsCluster, seconds: u32) -> Result<()> {
    let bare = BareStream::make_beside(cluster, SHARED_STREAM, SERVERS).await?;
    let before = messages(cluster).await?;
    let mut order = Rng::new(ORDER_SEED);
    let (mut folds, mut publications, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    let ends = Instant::now() + Duration::from_secs(seconds.into());
    for pair in 0.. {
        if Instant::now() >= ends {
            break;
        }
        let is_fold_first = order.chance(50);
        for is_fold in [is_fold_first, !is_fold_first] {
            let began = Instant::now();
            if is_fold {
                open_and_fold(client, &format!("pair-{}", pair % SESSIONS)).await?;
                folds.push(began.elapsed());
            } else {
                bare.publish().await?;
                bare.publish().await?;
                publications.push(began.elapsed());
                client.no_op().await?;
                client.no_op().await?;
                calls.push(began.elapsed());
            }
        }
    }
    ensure!(folds.len() > WARM_UP_PAIRS, "there was no time for {WARM_UP_PAIRS} pairs");
    let per_pair = (messages(cluster).await? - before) as f64 / folds.len() as f64;
    table.show("messages in the log for each open + fold", format!("{per_pair:.2}"));
    let counted = |durations: Vec<Duration>| Latencies::new(durations.into_iter().skip(WARM_UP_PAIRS));
    let (folds, publications, calls) = (counted(folds), counted(publications), counted(calls));
    show(table, "open + fold", &folds);
    show(table, "2 bare publications", &publications);
    table.hold("ratio of the medians", folds.median_ms() / publications.median_ms(), RATIO_MAX, "×");
    let with_calls = folds.median_ms() / calls.median_ms();
    table.show("the same, to 2 publications + 2 no-op calls", format!("{with_calls:.2}×"));
    Ok(())
}

/// How many messages the shared log has had.
async fn messages(cluster: &NatsCluster) -> Result<u64> {
    let context = async_nats::jetstream::new(cluster.client().await?);
    Ok(context.get_stream(SHARED_STREAM).await?.cached_info().state.last_sequence)
}

/// How long after an acknowledgement at one machine another one lists the session, as far as its index has come by itself.
async fn lag(table: &mut Table, client: &McpHttp, other: &Daemon) -> Result<()> {
    let url = format!("{}/api/v1/sessions?limit=1", other.base_url());
    let mut lags = Vec::new();
    for number in 0..LAGS {
        let name = format!("lag-{number}");
        open(client, &name).await?;
        let acknowledged = Instant::now();
        while !client.http().get(&url).send().await?.text().await?.contains(&format!("\"{name}\"")) {
            ensure!(acknowledged.elapsed() < LAG_MAX, "{name} is not in the other machine's index");
            tokio::time::sleep(LOOK_EVERY).await;
        }
        lags.push(acknowledged.elapsed());
    }
    show(table, "until another machine lists it", &Latencies::new(lags));
    Ok(())
}
