//! `infold servers login`: the user agrees in a browser, and infold keeps the tokens. `infold servers logout` removes them.

mod callback;

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use infold_core::gateway::ServerState;
use infold_engine::{Engine, ServerNote};
use infold_mcp::gateway::{
    Forgotten, LinkError, LinkIdentity, LinkSetup, LoginError, LoginFlow, LoginPlace, LoginRequest, LoginReturn,
    LoginStore, ServerLink,
};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc;

use super::check;
use crate::commands::Invocation;
use crate::draw::one_line;
use crate::failure::{Refused, tell};
use crate::gateway::{LoginTarget, describe_way, link_way, login_store, login_target, store_wish};
use crate::help;
use crate::output::Form;
use crate::parts;
use callback::{Callback, CallbackPage};

/// How long the user has, if nothing else is said.
const TIMEOUT_MS: u64 = 5 * 60 * 1_000;
/// The program that opens an address in the user's browser.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Arguments of `servers login`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "For servers that ask for OAuth. Your browser opens, you agree there, and infold keeps what it gets: in the \
         system's keyring or in a private file, as gateway.credentials says. A daemon that runs takes note by itself.",
        "On a machine without a browser, open the address elsewhere. The browser ends at an address that begins with \
         http://127.0.0.1 and cannot be shown: paste it here.",
    ],
    &[
        ("infold servers login github", "log in to a server of your settings"),
        ("infold servers login github --no-browser", "show the address, and open nothing"),
        ("infold servers logout github", "remove what is kept"),
    ],
))]
pub struct LoginArgs {
    /// The server's name
    name: String,
    /// Open no browser: only show the address
    #[arg(long)]
    no_browser: bool,
    /// How long to wait for you, 5 minutes if nothing is said
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
}

/// Arguments of `servers logout`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &["The tokens are removed here. If the server offers to take tokens back, they are given back."],
    &[("infold servers logout github", "")],
))]
pub struct LogoutArgs {
    /// The server's name
    name: String,
}

/// Logs in to a server.
pub fn login(args: &LoginArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let store = login_store(invocation)?;
    let wish = store_wish(invocation)?;
    let engine = engine(invocation)?;
    let runtime = parts::asking_runtime()?;
    let outcome = runtime.block_on(async {
        let target = login_target(&args.name, invocation, engine.as_ref()).await?;
        let challenge = ask(&target, invocation).await?;
        let callback = Callback::listen(target.hints.callback_port).await?;
        let request = LoginRequest {
            url: &target.url,
            hints: &target.hints,
            redirect_uri: callback.address(),
            challenge: challenge.as_deref(),
            store: &store,
        };
        let flow = LoginFlow::begin(request).await.map_err(|error| not_begun(&args.name, error))?;
        // It is made here, with the rights that it needs, before anything secret is there.
        invocation.data_folder()?;
        let server = describe_way(&target.entry.way);
        let waiting = LoginWait { flow, callback, args, server };
        let place = waiting.run(wish).await?;
        note_login(engine.as_ref(), &target).await?;
        Ok::<_, anyhow::Error>(place)
    });
    // Nobody waits for a terminal on which nothing is typed.
    runtime.shutdown_background();
    report(&args.name, &outcome?, invocation)
}

/// Removes a server's login.
pub fn logout(args: &LogoutArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let store: LoginStore = login_store(invocation)?;
    let engine = engine(invocation)?;
    let name = one_line(&args.name);
    let forgotten = parts::asking_runtime()?.block_on(async {
        let target = login_target(&args.name, invocation, engine.as_ref()).await?;
        Ok::<_, anyhow::Error>(store.forget(&target.url).await?)
    })?;
    let words = match forgotten {
        Forgotten::Nothing => format!("there is no login to {name}"),
        Forgotten::Removed => format!("logged out of {name}: its tokens are removed here, and last until their end"),
        Forgotten::Revoked => {
            format!("logged out of {name}: its tokens are removed here, and good for nothing any more")
        }
    };
    match invocation.output.form {
        Form::Json => invocation.output.json(&json!({
            "server": args.name,
            "removed": forgotten != Forgotten::Nothing,
            "revoked": forgotten == Forgotten::Revoked,
        })),
        Form::Text => Ok(invocation.output.text(&format!("{words}\n"))?),
    }
}

fn engine(invocation: &Invocation) -> anyhow::Result<Option<Engine>> {
    let folder = invocation.data_folder_in_use()?;
    folder.map(|folder| parts::engine(&folder, &invocation.in_force.settings)).transpose()
}

/// How the server asks for a login. One that answers everybody may still offer one.
async fn ask(target: &LoginTarget, invocation: &Invocation) -> anyhow::Result<Option<String>> {
    let limits = check::limits(&invocation.in_force.settings.gateway, target.entry.limits.start_timeout_ms);
    let way = link_way((target.entry.key.as_str(), &target.entry.way), &invocation.surroundings, None);
    let setup = LinkSetup { way, known_era: None, identity: LinkIdentity::infold(), limits };
    let (events, _nobody) = mpsc::channel(1);
    match ServerLink::start(setup, events).await {
        Ok(link) => {
            link.close().await;
            Ok(None)
        }
        Err(LinkError::NeedsLogin { challenge, .. }) => Ok(challenge),
        Err(error) => Err(check::refused(error)),
    }
}

fn not_begun(name: &str, error: LoginError) -> Refused {
    let name = one_line(name);
    match &error {
        LoginError::NotOffered(_) => Refused::new(format!("{name} offers no login: {error}"))
            .hint("if it needs a token, put one into its headers; if it has a login, name its oauth.metadata_url")
            .code("no_login"),
        LoginError::NotRegistered(_) => Refused::new(format!("{name}: {error}"))
            .hint("register a client with its provider, and write oauth.client_id into its entry")
            .code("login_failed"),
        LoginError::Unsafe { .. }
        | LoginError::NotGiven(_)
        | LoginError::NotRenewed(_)
        | LoginError::NotKept { .. } => Refused::new(format!("{name}: {error}")).code("login_failed"),
    }
}

/// A login that waits for the user.
struct LoginWait<'a> {
    flow: LoginFlow,
    callback: Callback,
    args: &'a LoginArgs,
    /// The server in words.
    server: String,
}

impl LoginWait<'_> {
    /// Shows the address, waits for what comes back, and keeps the login. Returns where it is kept.
    async fn run(mut self, wish: infold_mcp::gateway::StoreWish) -> anyhow::Result<LoginPlace> {
        self.show();
        let timeout_ms = self.args.timeout_ms.unwrap_or(TIMEOUT_MS);
        let waited = tokio::time::timeout(Duration::from_millis(timeout_ms), self.wait()).await;
        let name = one_line(&self.args.name);
        let (returned, page) = waited.map_err(|_| {
            Refused::new(format!("nobody has logged in to {name} within {} seconds", timeout_ms.div_ceil(1_000)))
                .hint("run the command again, and open the address that it shows")
                .code("login_timed_out")
        })??;
        let outcome = match returned {
            LoginReturn::Agreed { code, issuer } => {
                let kept = self.flow.finish(&code, issuer.as_deref(), wish).await;
                kept.map_err(|error| not_begun(&name, error))
            }
            LoginReturn::Denied(why) => {
                Err(Refused::new(format!("the login to {name} was refused ({why})")).code("login_denied"))
            }
            LoginReturn::NotOurs => Err(Refused::new(format!("the login to {name} was not answered"))),
        };
        if let Some(page) = page {
            page.show(if outcome.is_ok() { CallbackPage::Done } else { CallbackPage::Failed });
        }
        self.callback.close().await;
        Ok(outcome?)
    }

    fn show(&self) {
        let address = self.flow.address();
        let name = one_line(&self.args.name);
        tell("note", format!("to log in to {name} ({}), open this address in a browser:", self.server));
        // If it cannot be shown, the browser may still open.
        let _ = writeln!(std::io::stderr().lock(), "\n{address}\n");
        tell("note", "a browser on another machine ends at an address that it cannot show: paste that one here");
        if self.args.no_browser {
            return;
        }
        let mut opener = tokio::process::Command::new(OPENER);
        let opener = opener.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if opener.spawn().is_err() {
            tell("note", format!("no browser was opened: {OPENER} cannot be started"));
        }
    }

    /// Waits for the browser, or for an address that is pasted. What belongs to another login is not taken.
    async fn wait(&mut self) -> anyhow::Result<(LoginReturn, Option<callback::ShownPage>)> {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        let mut may_paste = true;
        loop {
            tokio::select! {
                came = self.callback.next() => {
                    let (address, page) = came.context("the browser cannot come back any more")?;
                    match self.flow.read(&address) {
                        LoginReturn::NotOurs => page.show(CallbackPage::NotOurs),
                        returned => return Ok((returned, Some(page))),
                    }
                }
                line = lines.next_line(), if may_paste => match line {
                    Ok(Some(line)) if line.trim().is_empty() => {}
                    Ok(Some(line)) => match self.flow.read(&line) {
                        LoginReturn::NotOurs => tell("note", "that address is not the one of this login: paste another"),
                        returned => return Ok((returned, None)),
                    },
                    Ok(None) | Err(_) => may_paste = false,
                },
            }
        }
    }
}

/// Whoever asks how the server is must not read any more that it needs a login.
async fn note_login(engine: Option<&Engine>, target: &LoginTarget) -> anyhow::Result<()> {
    let Some(engine) = engine else { return Ok(()) };
    let note = ServerNote { state: ServerState::Configured.word(), detail: None, era: None };
    engine.note_server(&target.entry.key, note).await.map_err(parts::command_error)
}

fn report(name: &str, place: &LoginPlace, invocation: &Invocation) -> anyhow::Result<()> {
    let name = one_line(name);
    let (word, words) = match place {
        LoginPlace::Keyring => ("keyring", "in the system's keyring"),
        LoginPlace::File { .. } => ("file", "in a private file in the data folder"),
    };
    if let LoginPlace::File { keyring_problem: Some(why) } = place {
        tell("note", format!("the keyring could not be used: {why}"));
    }
    match invocation.output.form {
        Form::Json => invocation.output.json(&json!({ "server": name, "kept_in": word })),
        Form::Text => Ok(invocation.output.text(&format!("logged in to {name}; its tokens are {words}\n"))?),
    }
}
