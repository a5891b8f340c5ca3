//! What opening and folding a branch costs: against the cheapest that the same server and the same
//! disk can do, in a crowd of sessions, and late in a long session.

pub mod before;
pub mod shared;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use infold_store::{Store, StoreSettings, Synchronous};
use infold_testkit::{CallAnswer, DaemonSetup, McpHttp, TempFolder};
use serde_json::json;

use super::figures::{Latencies, Table};
use super::{FoldArguments, crowd, growth, pairs, unlimited};
use xtask::workspace::Workspace;

const RATIO_MAX: f64 = 1.5;
const GROWTH_MAX: f64 = 1.2;

/// Makes all three measurements; the exit code is a failure when a target is missed.
pub async fn run(workspace: &Workspace, program: &Path, arguments: &FoldArguments) -> Result<ExitCode> {
    // Not the temporary folder, which may be in memory: what is durable must reach a disk.
    let folder = TempFolder::inside(&workspace.target().join("bench"))?;
    raise_open_files();
    let daemon = unlimited(DaemonSetup::new(program)).data(folder.join("data")).start().await?;
    let client = McpHttp::connect(daemon.base_url(), arguments.era.era()).await?;
    let client = Arc::new(client);
    let yardstick = Arc::new(open_store(&folder.join("yardstick.db"))?);

    let mut table = Table::default();
    let measured = pairs::measure(&client, &yardstick, arguments.rate, arguments.seconds).await?;
    show(&mut table, "open + fold", &measured.folds);
    show(&mut table, "2 no-op calls + 2 bare commits", &measured.yardstick);
    let ratio = measured.folds.median_ms() / measured.yardstick.median_ms();
    table.hold("ratio of the medians", ratio, RATIO_MAX, "×");

    let crowd = crowd::measure(&daemon, arguments.era.era(), arguments.sessions).await?;
    table.hold(&format!("refused of {} sessions at once", arguments.sessions), crowd.refused as f64, 0.0, "");
    table.show("all of them open and folded in", format!("{:.2} s", crowd.seconds));

    let growth = growth::measure(&client, arguments.branches).await?;
    table.show("branch 10 of a session, median", format!("{:.2} ms", growth.early.median_ms()));
    let late = format!("branch {} of a session, median", arguments.branches);
    table.show(&late, format!("{:.2} ms", growth.late.median_ms()));
    table.hold("ratio of the two", growth.ratio(), GROWTH_MAX, "×");
    Ok(table.finish())
}

fn show(table: &mut Table, name: &str, latencies: &Latencies) {
    for percent in [50.0, 95.0, 99.0] {
        let value = format!("{:.2} ms", latencies.percentile_ms(percent));
        table.show(&format!("{name}, p{percent}"), value);
    }
    table.show(&format!("{name}, pairs measured"), latencies.count().to_string());
}

/// A database of its own, on the same disk and with the settings that the daemon has by default.
fn open_store(path: &Path) -> Result<Store> {
    let settings = StoreSettings {
        synchronous: Synchronous::Full,
        busy_timeout_ms: 10_000,
        readers_max: 2,
        cluster: None,
        checkpoint_pages: 1_000,
    };
    Store::open(path, &settings).context("cannot open the yardstick's database")
}

/// Lets this process hold as many connections as the crowd needs, where the system allows it.
fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        eprintln!("the limit on open files stays as it is: {error}");
    }
}

/// Opens a branch in `session` and folds it.
pub async fn open_and_fold(client: &McpHttp, session: &str) -> Result<()> {
    let branch = open(client, session).await?;
    fold(client, &branch).await
}

/// Opens a branch below the main thread of `session` and folds it, beside others that do the same.
pub async fn open_and_fold_beside(client: &McpHttp, session: &str) -> Result<()> {
    let arguments = json!({
        "session_id": session,
        "description": "make the session longer",
        "parent_branch_id": "main",
    });
    let answer = accepted(client.call("branch_create", arguments).await?)?;
    fold(client, &answer.text_field("branch_id")).await
}

/// Opens a branch in `session`, and returns its id.
pub async fn open(client: &McpHttp, session: &str) -> Result<String> {
    let arguments = json!({"session_id": session, "description": "measure what a branch costs"});
    let answer = accepted(client.call("branch_create", arguments).await?)?;
    Ok(answer.text_field("branch_id"))
}

pub async fn fold(client: &McpHttp, branch: &str) -> Result<()> {
    let arguments = json!({"branch_id": branch, "message": "It costs little."});
    accepted(client.call("branch_return", arguments).await?)?;
    Ok(())
}

fn accepted(answer: CallAnswer) -> Result<CallAnswer> {
    if !answer.is_ok() {
        bail!("refused: {}", answer.summary());
    }
    Ok(answer)
}
