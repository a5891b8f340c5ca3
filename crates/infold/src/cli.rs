//! The command line: what can be typed, and the help that goes with it.
//!
//! Nothing is carried out here. `--data`, `--listen` and `--set` are a layer of the settings, so
//! their values are read there and not by clap.

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::commands::{
    connect, disconnect, fork, launch, man, replay, rescue, result, run, secret, sessions, show, top,
};
use crate::help;
use crate::settings::{Assignment, FlagValues};

const EXIT_CODES: [(&str, &str); 5] = [
    ("0", "done"),
    ("1", "failed: the fault is infold's or the machine's"),
    ("2", "the command line could not be understood"),
    ("3", "refused: something you can put right, and the message says how"),
    ("130", "stopped by a second signal, before its work was done"),
];

const EXAMPLES: [(&str, &str); 8] = [
    ("infold serve", "start the daemon on 127.0.0.1:9090"),
    ("infold demo", "see what folding does, in a few seconds"),
    ("infold run claude", "Claude Code, wired through infold"),
    ("infold mcp", "the same tools over standard input and output"),
    ("infold sessions", "what there is"),
    ("infold show my-session", "one session's branches, drawn as a tree"),
    ("infold --set folding.max_depth=2 serve", ""),
    ("infold settings", "every setting, and where it came from"),
];

fn after_long_help() -> String {
    [help::text(&[], &EXAMPLES), help::list("Exit codes:", &EXIT_CODES)].join("\n\n")
}

/// Keeps an AI coding agent's context small, whole and visible.
///
/// infold runs beside the agent you already use. Its MCP tools let a model open a branch for a
/// sub-task, work in it within a budget, and fold it into one message for its parent.
#[derive(Debug, Parser)]
#[command(name = "infold", version, after_help = help::text(&[], &EXAMPLES), after_long_help = after_long_help())]
#[command(propagate_version = true, disable_help_subcommand = true, max_term_width = help::COLUMNS_MAX)]
pub struct Cli {
    /// What every command takes.
    #[command(flatten)]
    pub globals: Globals,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options for every command")]
pub struct Globals {
    /// Folder where everything lives [env: INFOLD_DATA] [default: ~/.local/share/infold]
    #[arg(long, global = true, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub data: Option<String>,
    /// Override a setting; can be given several times
    ///
    /// KEY has its sections with dots between, as in folding.max_depth=2. `infold settings` lists
    /// every key. In the environment the same is INFOLD_FOLDING__MAX_DEPTH=2.
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<Assignment>,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colour; auto means on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorWhen,
    /// Say more on standard error; twice for everything
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
    /// Say only errors on standard error
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// In any case.
    Always,
    /// In no case.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the daemon: the proxy, MCP over HTTP, the JSON API, metrics
    #[command(after_help = [
        help::text(
            &["Prints one line with its address once it is ready. SIGTERM or Ctrl-C lets requests that are under way \
               finish; a second one stops at once."],
            &[],
        ),
        help::list("Base URLs for clients, while it listens on 127.0.0.1:9090:", &[
            ("http://127.0.0.1:9090/anthropic", "Anthropic's API"),
            ("http://127.0.0.1:9090/openai/v1", "OpenAI's API"),
        ]),
        help::text(&[], &[
            ("infold serve", ""),
            ("infold serve --listen 127.0.0.1:0", "take a free port"),
            ("claude mcp add --transport http infold http://127.0.0.1:9090/mcp", ""),
        ]),
    ].join("\n\n"))]
    Serve(ServeArgs),
    /// Show what folding does: a recorded agent, a scripted model, the real daemon between them
    #[command(
        after_help = "No key is needed, nothing leaves this machine, and nothing is kept. The model's words are \
        scripted; the requests, the folding and the counts are real. Only folding is shown: long results stay where \
        they are. Prices are those of replay.prices."
    )]
    Demo,
    /// Start an agent wired through infold, with nothing written into your own files
    Run(run::Args),
    /// Become an agent that ends with the process that `infold run` is
    #[command(hide = true)]
    Launch(launch::Args),
    /// Wire an agent through infold for good, until `infold disconnect`
    Connect(connect::Args),
    /// Undo `infold connect`
    Disconnect(disconnect::Args),
    /// Answer an agent's question before a tool runs that can write a file
    #[command(hide = true)]
    Hook,
    /// Serve the MCP tools over standard input and output
    #[command(after_help = help::text(
        &["Meant to be started by an MCP client. Works beside a running daemon and beside other such processes, on \
           the same data. Ends when its input ends."],
        &[("claude mcp add infold -- infold mcp", "")],
    ))]
    Mcp,
    /// List sessions, the latest first
    Sessions(sessions::Args),
    /// Draw one session: its branches, its requests to models, and what they cost
    Show(show::Args),
    /// Watch sessions and their requests to models on a terminal
    Top(top::Args),
    /// Make a session that no longer fits its window fit, in a new file that its client resumes
    Rescue(rescue::Args),
    /// Read back what was moved out of a context
    Result(result::Args),
    /// Print what a new session would be given of a recorded one
    Fork(fork::Args),
    /// Play recorded sessions against policies: what each would have cost and kept in sight
    Replay(replay::Args),
    /// Print the settings in force, and where each value came from
    Settings(SettingsArgs),
    /// Check that infold can work here, and say what to do where it cannot
    #[command(after_help = "Exit code 1 means that a check failed.")]
    Doctor,
    /// Take secrets out of standard input, and print the rest
    #[command(after_help = help::text(
        &["Placeholders are the same for the same secret, within one data folder."],
        &[("infold scrub < build.log > build.clean.log", "")],
    ))]
    Scrub,
    /// Put secrets back where their placeholders were written
    Secret(secret::Args),
    /// Print a script that completes commands in a shell
    #[command(after_help = help::text(&[], &[
        ("infold completions bash > ~/.local/share/bash-completion/completions/infold", ""),
        ("infold completions zsh > ~/.zfunc/_infold", ""),
        ("infold completions fish > ~/.config/fish/completions/infold.fish", ""),
    ]))]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, in roff
    #[command(after_help = help::text(&[], &[
        ("infold man | man -l -", ""),
        ("infold man --dir ~/.local/share/man/man1", "one page for each command"),
    ]))]
    Man(man::Args),
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Address and port; port 0 takes a free one [env: INFOLD_LISTEN] [default: 127.0.0.1:9090]
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<String>,
    /// Use settings for connected agents (required after `connect`): limits, tools and sessions as in `infold run`
    #[arg(long)]
    pub agents: bool,
}

/// Arguments of `settings`.
#[derive(Debug, Args)]
pub struct SettingsArgs {
    /// Print the defaults as a commented file, to start your own from
    #[arg(long)]
    pub default: bool,
}

/// What stands in front of the command.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true, disable_version_flag = true, allow_external_subcommands = true)]
struct Front {
    #[command(flatten)]
    globals: Globals,
}

impl Cli {
    /// What was typed; if it cannot be understood, the program ends with the reason.
    ///
    /// Of a flag that stands both in front of the command and behind it, clap keeps the latter alone. Settings
    /// must not be lost that way, so those in front are read by themselves.
    pub fn read() -> Self {
        let mut cli = Self::parse();
        if let Ok(front) = Front::try_parse() {
            cli.globals.set = joined(front.globals.set, std::mem::take(&mut cli.globals.set));
        }
        cli
    }

    /// The flags that are settings.
    pub fn flag_values(&self) -> FlagValues {
        let listen = match &self.command {
            Command::Serve(serve) => serve.listen.clone(),
            Command::Mcp
            | Command::Demo
            | Command::Run(_)
            | Command::Launch(_)
            | Command::Connect(_)
            | Command::Disconnect(_)
            | Command::Hook
            | Command::Sessions(_)
            | Command::Show(_)
            | Command::Top(_)
            | Command::Rescue(_)
            | Command::Result(_)
            | Command::Fork(_)
            | Command::Replay(_)
            | Command::Settings(_)
            | Command::Doctor
            | Command::Scrub
            | Command::Secret(_)
            | Command::Completions { .. }
            | Command::Man(_) => None,
        };
        FlagValues { set: self.globals.set.clone(), listen, data: self.globals.data.clone() }
    }
}

/// The assignments in front of a command and those that clap found. It finds those in front where none are
/// behind.
fn joined(front: Vec<Assignment>, found: Vec<Assignment>) -> Vec<Assignment> {
    if front == found { found } else { front.into_iter().chain(found).collect() }
}
