//! The command line: what can be typed, and the help that goes with it.
//!
//! Nothing is carried out here. `--data`, `--listen` and `--set` are a layer of the settings, so
//! their values are read there and not by clap.

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::commands::{
    acp, approve, chat, confine, connect, count, disconnect, exec, export, fork, hook, launch, man, memory, replay,
    rescue, result, rewind, rules, run, scrub, secret, servers, sessions, show, store, tend, tools, top,
};
use crate::failure;
use crate::help;
use crate::settings::{Assignment, FlagValues};

const EXIT_CODES: [(&str, &str); 7] = [
    ("0", "done"),
    ("1", "failed: a fault of infold or of this machine"),
    ("2", "wrong usage: unknown command or option"),
    ("3", "refused: the message says what to change"),
    ("4", "secrets were found, by `infold scrub --check`"),
    ("5-8", "`infold exec` ended early; its --help lists the reasons"),
    ("130", "interrupted by a second signal; `infold exec`: by the first"),
];

const EXAMPLES: [(&str, &str); 8] = [
    ("infold serve", "start the daemon on 127.0.0.1:9090"),
    ("infold demo", "see what folding does, in a few seconds"),
    ("infold run claude", "run Claude Code through infold"),
    ("infold mcp", "serve infold's tools over stdio"),
    ("infold sessions", "list sessions"),
    ("infold show 5b2438e4", "show one session's branches and requests"),
    ("infold --set folding.max_depth=2 serve", "override a setting"),
    ("infold settings", "list every setting and where its value comes from"),
];

fn after_long_help() -> String {
    [help::text(&[], &EXAMPLES), help::list("Exit codes:", &EXIT_CODES)].join("\n\n")
}

/// Cuts the tokens your AI coding agent resends, and shows where they go.
///
/// infold runs beside the agent you already use. Its tools let a model open a branch for a sub-task, work in it
/// within a token budget, and fold it: later prompts contain the branch's result and none of its work.
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
    /// Data folder [env: INFOLD_DATA] [default: ~/.local/share/infold]
    #[arg(long, global = true, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub data: Option<String>,
    /// Override a setting; can be repeated
    ///
    /// KEY is the section and the name, with a dot between: folding.max_depth=2. `infold settings` lists every key.
    /// In the environment the same is INFOLD_FOLDING__MAX_DEPTH=2.
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<Assignment>,
    /// Print JSON instead of text, errors too
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorWhen,
    /// Log more to standard error; -vv logs everything
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
    /// Print only errors to standard error
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the daemon: proxy, MCP over HTTP, JSON API and metrics
    #[command(after_help = [
        help::text(
            &["Prints one line with its address once it is ready. On SIGTERM or Ctrl-C, running requests finish first; \
               a second signal stops at once."],
            &[],
        ),
        help::list("Base URLs for clients, if the daemon listens on 127.0.0.1:9090:", &[
            ("http://127.0.0.1:9090/anthropic", "Anthropic's API"),
            ("http://127.0.0.1:9090/openai/v1", "OpenAI's API"),
        ]),
        help::text(&[], &[
            ("infold serve", ""),
            ("infold serve --listen 127.0.0.1:0", "use any free port"),
            ("claude mcp add --transport http infold http://127.0.0.1:9090/mcp", ""),
        ]),
    ].join("\n\n"))]
    Serve(ServeArgs),
    /// Show what folding does, with a recorded agent and a scripted model
    #[command(
        after_help = "Needs no key and no network, and stores nothing. The model's words are scripted; the requests, \
        the folding and the token counts are real. Only folding is shown: long tool results are not replaced. Prices \
        come from the setting [prices]."
    )]
    Demo,
    /// Run an agent through infold, without changing its settings files
    Run(run::RunArgs),
    /// Talk with infold's own agent in this terminal
    Chat(Box<chat::ChatArgs>),
    /// Have infold's own agent do something in this folder, without asking back
    Exec(Box<exec::ExecArgs>),
    /// Serve infold's own agent to an editor, by the Agent Client Protocol over stdio
    Acp(acp::AcpArgs),
    /// Go back to an earlier point of a session of infold's own agent, with the files that it wrote
    Rewind(rewind::RewindArgs),
    /// Write all of a session of infold's own agent, as JSON lines or Markdown
    Export(export::ExportArgs),
    /// Become an agent that ends with the process that `infold run` is
    #[command(hide = true)]
    Launch(launch::LaunchArgs),
    /// Run an MCP server for the gateway, and end every process that it leaves behind
    #[command(hide = true)]
    Tend(tend::TendArgs),
    /// Become a command of the agent's that can write only in its folders
    #[command(hide = true)]
    Confine(confine::ConfineArgs),
    /// Send an agent through infold permanently, by changing its settings files
    Connect(connect::ConnectArgs),
    /// Undo `infold connect`: restore the agent's settings files
    Disconnect(disconnect::DisconnectArgs),
    /// Answer an agent's question before a tool runs that can write a file
    #[command(hide = true)]
    Hook(hook::HookArgs),
    /// Serve infold's tools to an MCP client over stdio
    #[command(after_help = help::text(
        &["An MCP client starts this. It can run beside the daemon and beside others of its kind, on the same data \
           folder, and ends when its input ends."],
        &[("claude mcp add infold -- infold mcp", "")],
    ))]
    Mcp,
    /// The same with the fixtures of the conformance suite
    #[cfg(feature = "conformance")]
    #[command(hide = true)]
    Fixtures,
    /// List other MCP servers that infold uses, check them, and take over those of an agent
    Servers(servers::ServersArgs),
    /// Find tools of other MCP servers, as a model finds them
    Tools(tools::ToolsArgs),
    /// Show what other MCP servers have changed in their tools, and approve it
    Approve(approve::ApproveArgs),
    /// List what branches have learnt; write, review, forget and take along memories
    Memory(memory::MemoryArgs),
    /// List sessions, most recent first
    Sessions(sessions::SessionsArgs),
    /// Show one session: its branches, its requests and their cost
    Show(show::ShowArgs),
    /// Watch sessions and requests live
    Top(top::TopArgs),
    /// Shrink a session that no longer fits its model, into a new file to resume
    Rescue(rescue::RescueArgs),
    /// Print a tool result that was replaced by a reference
    Result(result::ResultArgs),
    /// Print the context of a new session that starts from another's transcript
    Fork(fork::ForkArgs),
    /// Compare policies on recorded sessions: what each would have cost and hidden
    Replay(replay::ReplayArgs),
    /// Count the tokens of files or standard input, by model
    Count(count::CountArgs),
    /// List all settings, their values and where each value comes from
    Settings(SettingsArgs),
    /// Check the installation, and say how to fix what is wrong
    #[command(after_help = "The exit code is 1 if a check failed.")]
    Doctor,
    /// Replace secrets by placeholders, or say where secrets are in files
    Scrub(scrub::ScrubArgs),
    /// List what counts as a secret, and explain what is taken for one and what is not
    Rules(rules::RulesArgs),
    /// Put secrets back into files that contain placeholders
    Secret(secret::SecretArgs),
    /// Say where the state is, and move it between this machine and a cluster
    Store(store::StoreArgs),
    /// Print a shell completion script
    #[command(after_help = help::text(&[], &[
        ("infold completions bash > ~/.local/share/bash-completion/completions/infold", ""),
        ("infold completions zsh > ~/.zfunc/_infold", ""),
        ("infold completions fish > ~/.config/fish/completions/infold.fish", ""),
    ]))]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    #[command(after_help = help::text(&[], &[
        ("infold man | man -l -", ""),
        ("infold man --dir ~/.local/share/man/man1", "one page per command"),
    ]))]
    Man(man::ManArgs),
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Address and port; port 0 means any free port [env: INFOLD_LISTEN] [default: 127.0.0.1:9090]
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<String>,
    /// Use settings for connected agents (required after `connect`): limits, tools and sessions as with `infold run`
    #[arg(long)]
    pub agents: bool,
}

/// Arguments of `settings`.
#[derive(Debug, Args)]
pub struct SettingsArgs {
    /// Print the commented default settings, as a start for your own file
    #[arg(long)]
    pub default: bool,
}

/// The part of the command line in front of the command, which is parsed once more by itself.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true, disable_version_flag = true, allow_external_subcommands = true)]
struct Front {
    #[command(flatten)]
    globals: Globals,
}

impl Cli {
    /// Parses the command line. If it is wrong, the program ends with an error message.
    ///
    /// If a flag is given both in front of the command and after it, clap keeps only the later one. Settings must
    /// not be lost that way, so the part in front of the command is parsed once more by itself.
    pub fn read() -> Self {
        let mut cli = Self::try_parse().unwrap_or_else(|error| refuse(&error));
        if let Ok(front) = Front::try_parse() {
            cli.globals.set = joined(front.globals.set, std::mem::take(&mut cli.globals.set));
        }
        cli
    }

    /// The values of the flags that override settings.
    pub fn flag_values(&self) -> FlagValues {
        let listen = match &self.command {
            Command::Serve(serve) => serve.listen.clone(),
            #[cfg(feature = "conformance")]
            Command::Fixtures => None,
            Command::Mcp
            | Command::Demo
            | Command::Run(_)
            | Command::Exec(_)
            | Command::Acp(_)
            | Command::Chat(_)
            | Command::Rewind(_)
            | Command::Export(_)
            | Command::Launch(_)
            | Command::Tend(_)
            | Command::Confine(_)
            | Command::Connect(_)
            | Command::Disconnect(_)
            | Command::Hook(_)
            | Command::Servers(_)
            | Command::Tools(_)
            | Command::Approve(_)
            | Command::Memory(_)
            | Command::Sessions(_)
            | Command::Show(_)
            | Command::Top(_)
            | Command::Rescue(_)
            | Command::Result(_)
            | Command::Fork(_)
            | Command::Replay(_)
            | Command::Count(_)
            | Command::Settings(_)
            | Command::Doctor
            | Command::Scrub(_)
            | Command::Rules(_)
            | Command::Secret(_)
            | Command::Store(_)
            | Command::Completions { .. }
            | Command::Man(_) => None,
        };
        FlagValues { set: self.globals.set.clone(), listen, data: self.globals.data.clone() }
    }
}

/// Ends the program with what is wrong with the command line, or with the help that was asked for.
fn refuse(error: &clap::Error) -> ! {
    let wants_json = std::env::args_os().any(|argument| argument == "--json");
    if wants_json && error.use_stderr() {
        let message = error.to_string();
        let message = message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let exit_code = error.exit_code();
        failure::tell_of_usage(&message, u8::try_from(exit_code).unwrap_or(u8::MAX));
        std::process::exit(exit_code);
    }
    error.exit()
}

/// Joins the assignments in front of the command with those that clap found. If none come after the command, clap
/// has found the ones in front, and they must not be used twice.
fn joined(front: Vec<Assignment>, found: Vec<Assignment>) -> Vec<Assignment> {
    if front == found { found } else { front.into_iter().chain(found).collect() }
}
