//! `infold servers`: other MCP servers, seen from infold. Without more it lists those of the settings, with a name it shows
//! one of them; `check` starts or reaches one, lists what it has, and says what is wrong; `import` takes those of an agent;
//! `login` and `logout` are for servers that ask for OAuth.

mod check;
mod detail;
mod import;
mod list;
mod login;
mod report;

use super::Invocation;
use crate::failure::Refused;
use crate::help;
pub use list::{latency, tone};

/// Arguments of `servers`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "Without a command, this lists the servers of your settings, and says how they were when they were last used. \
         None is started. Values that may be secret are never shown.",
        "TOKENS is what the definitions of all tools would take in a request. P50 and P95 say how long half and 95 % of \
         the calls took at most.",
    ],
    &[
        ("infold servers", "list the servers of your settings"),
        ("infold servers github", "show one, with the tools of it that wait for approval"),
        ("infold servers import claude", "add those of Claude Code to your settings"),
        ("infold servers check github", "start one, and say what is wrong with it"),
        ("infold servers login github", "log in to one that needs a login"),
    ],
))]
pub struct ServersArgs {
    /// Show only this server, with all that is known of it
    name: Option<String>,
    #[command(subcommand)]
    action: Option<ServersAction>,
}

#[derive(Debug, clap::Subcommand)]
enum ServersAction {
    /// Start or reach a server, list what it has, and say what is wrong
    Check(check::CheckArgs),
    /// Add the servers of an agent to your settings
    Import(import::ImportArgs),
    /// Log in to a server that asks for it
    Login(login::LoginArgs),
    /// Remove the login to a server
    Logout(login::LogoutArgs),
}

/// Does what was asked.
pub fn run(args: ServersArgs, invocation: &Invocation) -> anyhow::Result<()> {
    match (args.action, args.name) {
        (None, None) => list::run(invocation),
        (None, Some(name)) => detail::run(&name, invocation),
        (Some(_), Some(_)) => Err(Refused::new("a server's name comes after the command")
            .hint("such as `infold servers check NAME`")
            .into()),
        (Some(ServersAction::Check(args)), None) => check::run(args, invocation),
        (Some(ServersAction::Import(args)), None) => import::run(&args, invocation),
        (Some(ServersAction::Login(args)), None) => login::login(&args, invocation),
        (Some(ServersAction::Logout(args)), None) => login::logout(&args, invocation),
    }
}
