//! Servers that ask for a login: what works before it, how it is made, and what is left of it when things go wrong.

mod clients;
mod commands;
mod helper;
mod kept;
mod renewal;
mod secrets;

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result};
use infold_testkit::oauth::{OauthServer, browse};
use infold_testkit::{Daemon, DaemonSetup, Era, McpHttp, TempFolder};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

use super::mark;
use super::relaying::{as_setting, echo_tools, said, server, text_result};

/// What a caller reads of a server that needs a login.
const WORDS: &str = "locked needs a login: ask the user to run `infold servers login locked`";

/// A daemon with a server that asks for a login, called `locked`, and another one that does not.
struct LoginScene {
    server: OauthServer,
    settings: Vec<String>,
    daemon: Daemon,
    client: McpHttp,
    other: String,
}

/// How a command ended.
#[derive(Debug)]
struct LoginEnd {
    code: i32,
    stdout: String,
    stderr: String,
}

impl LoginScene {
    async fn new() -> Result<Self> {
        Self::with(|_, entry| entry, |setup| setup).await
    }

    /// A scene whose entry or daemon is another one.
    async fn with(
        entry: impl FnOnce(&OauthServer, Value) -> Value,
        change: impl FnOnce(DaemonSetup) -> DaemonSetup,
    ) -> Result<Self> {
        let (locked, other) = (OauthServer::start().await?, mark());
        let entry = entry(&locked, json!({ "name": "locked", "url": locked.url() }));
        let servers = [entry, server(&other, &echo_tools(), &text_result("from the other one"))];
        let settings = vec![format!("gateway.servers={}", as_setting(&servers))];
        let daemon = change(setup(&settings)).start().await?;
        let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
        Ok(Self { server: locked, settings, daemon, client, other })
    }

    /// A scene in which the user has logged in.
    async fn logged_in() -> Result<Self> {
        let scene = Self::new().await?;
        scene.log_in().await?;
        assert_eq!(scene.call("read").await?, ("read is done".to_owned(), false));
        Ok(scene)
    }

    /// Another daemon on the same data.
    async fn second_daemon(&self) -> Result<(Daemon, McpHttp)> {
        let daemon = setup(&self.settings).data(self.daemon.data()).start().await?;
        let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
        Ok((daemon, client))
    }

    async fn call(&self, tool: &str) -> Result<(String, bool)> {
        call(&self.client, tool).await
    }

    /// A command on the daemon's data, with its settings.
    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = self.daemon.program(arguments);
        for setting in &self.settings {
            command.args(["--set", setting]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    async fn run(&self, arguments: &[&str]) -> Result<LoginEnd> {
        ended(self.program(arguments).spawn()?).await
    }

    /// Logs in as a user would, with a browser that is opened by hand.
    async fn log_in(&self) -> Result<LoginEnd> {
        let ended = self.follow(self.program(&["servers", "login", "locked", "--no-browser"])).await?;
        anyhow::ensure!(ended.code == 0, "{ended:?}");
        Ok(ended)
    }

    /// Opens the address that a command shows, and waits for its end.
    async fn follow(&self, mut command: Command) -> Result<LoginEnd> {
        let mut login = StartedLogin::begin(command.spawn()?).await?;
        login.page = browse(&login.address).await?;
        login.end().await
    }

    /// The files in which logins are kept.
    fn login_files(&self) -> Result<Vec<PathBuf>> {
        let folder = std::fs::read_dir(self.daemon.data().join("credentials"))?;
        let files = folder.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        Ok(files.into_iter().filter(|path| path.extension().is_some_and(|kind| kind == "json")).collect())
    }

    /// The one login that is kept.
    fn kept(&self) -> Result<Value> {
        let files = self.login_files()?;
        let [file] = files.as_slice() else { anyhow::bail!("{files:?}") };
        Ok(serde_json::from_str(&std::fs::read_to_string(file)?)?)
    }
}

fn setup(settings: &[String]) -> DaemonSetup {
    let setup = DaemonSetup::new(env!("CARGO_BIN_EXE_infold"))
        .env("PATH", &std::env::var("PATH").unwrap_or_default())
        .env("DBUS_SESSION_BUS_ADDRESS", "")
        .set("gateway.list_wait_ms", 20_000)
        .set("telemetry.log_level", "trace");
    settings
        .iter()
        .filter_map(|setting| setting.split_once('='))
        .fold(setup, |setup, (key, value)| setup.set(key, value))
}

async fn call(client: &McpHttp, tool: &str) -> Result<(String, bool)> {
    Ok(said(client.call(&format!("locked__{tool}"), json!({})).await?))
}

/// A login that waits for its user.
struct StartedLogin {
    child: Child,
    stderr: BufReader<tokio::process::ChildStderr>,
    shown: String,
    address: String,
    page: String,
}

impl StartedLogin {
    /// Reads until the command shows the address to open.
    async fn begin(mut child: Child) -> Result<Self> {
        let mut stderr = BufReader::new(child.stderr.take().context("no standard error")?);
        let mut shown = String::new();
        loop {
            let begin = shown.len();
            anyhow::ensure!(stderr.read_line(&mut shown).await? > 0, "no address was shown: {shown}");
            if shown[begin..].starts_with("http") {
                let address = shown[begin..].trim().to_owned();
                return Ok(Self { child, stderr, shown, address, page: String::new() });
            }
        }
    }

    async fn end(mut self) -> Result<LoginEnd> {
        self.stderr.read_to_string(&mut self.shown).await?;
        let ended = ended(self.child).await?;
        Ok(LoginEnd { stderr: self.shown, ..ended })
    }
}

async fn ended(child: Child) -> Result<LoginEnd> {
    let output = child.wait_with_output().await?;
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().unwrap_or(-1);
    Ok(LoginEnd { code, stdout: text(&output.stdout), stderr: text(&output.stderr) })
}

#[tokio::test]
async fn others_work_before_a_login_and_a_login_is_enough_for_a_running_daemon() -> Result<()> {
    let scene = LoginScene::new().await?;
    let listed = scene.client.list_tools().await?;
    let listed: Vec<&str> = listed.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(!listed.iter().any(|name| name.starts_with("locked")), "{listed:?}");
    let answer = scene.client.call(&format!("{}__read_file", scene.other), json!({ "path": "a" })).await?;
    assert_eq!(said(answer), ("from the other one".to_owned(), false));
    assert_eq!(scene.call("read").await?, (WORDS.to_owned(), true));
    let found = scene.client.call("tool_search", json!({ "query": "read" })).await?;
    assert_eq!(found.result["structuredContent"]["needs_login"], json!([WORDS]));

    let ended = scene.log_in().await?;
    assert_eq!(ended.stdout, "logged in to locked; its tokens are in a private file in the data folder\n");
    assert_eq!(scene.call("read").await?, ("read is done".to_owned(), false));
    let listed = scene.client.list_tools().await?;
    assert!(listed.iter().any(|tool| tool["name"] == "locked__read"), "{listed:?}");
    assert_eq!(scene.server.wrong(), Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn a_login_that_is_over_is_said_of_tools_that_are_known() -> Result<()> {
    let scene = LoginScene::logged_in().await?;
    scene.server.revoke_all();
    assert_eq!(scene.call("read").await?, (WORDS.to_owned(), true));
    assert_eq!(scene.call("write").await?, (WORDS.to_owned(), true));
    let answer = scene.client.call(&format!("{}__read_file", scene.other), json!({ "path": "a" })).await?;
    assert_eq!(said(answer), ("from the other one".to_owned(), false));

    scene.log_in().await?;
    assert_eq!(scene.call("read").await?, ("read is done".to_owned(), false));
    Ok(())
}
