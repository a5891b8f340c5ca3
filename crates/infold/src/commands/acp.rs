//! `infold acp`: infold's own agent for an editor, by the Agent Client Protocol, until the editor closes the connection.

use super::Invocation;
use crate::acp;
use crate::agent::{AgentFlags, take_flags};
use crate::help;
use crate::parts;
use crate::settings::{AgentApproval, AgentProvider};
use crate::telemetry::Telemetry;

/// Arguments of `acp`.
#[derive(Debug, clap::Args)]
#[command(after_help = [
    help::text(
        &[
            "An editor starts this, and ends it by closing its input. Each session works in the folder that the editor names, \
             with its own approvals; MCP servers that the editor hands over go through infold's gateway. Sessions of `infold \
             exec` can be opened in the editor, and the editor's with `infold exec --resume`. Standard output has the \
             protocol alone, messages go to standard error.",
            "Zed, in its settings.json (other editors take the same command and arguments; docs/agent.md has them):",
        ],
        &[],
    ),
    r#"  "agent_servers": {
    "infold": { "type": "custom", "command": "infold", "args": ["acp"],
                "env": { "ANTHROPIC_API_KEY": "..." } }
  }"#.to_owned(),
    help::text(&[], &[
        ("infold acp", ""),
        ("infold acp --approval ask", "ask before files are changed"),
        ("infold acp --provider openai --model gpt-5.2", ""),
    ]),
].join("\n\n"))]
pub struct AcpArgs {
    /// The model of new sessions [default: the setting agent.model]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Whose API it is asked through [default: the setting agent.provider]
    #[arg(long, value_name = "NAME")]
    pub provider: Option<AgentProvider>,
    /// What may be done without asking, until the editor says otherwise [default: the setting agent.approval]
    #[arg(long, value_name = "MODE")]
    pub approval: Option<AgentApproval>,
}

/// Serves one editor until its input ends or a signal stops the process.
pub fn run(args: AcpArgs, mut invocation: Invocation) -> anyhow::Result<()> {
    let AcpArgs { model, provider, approval } = args;
    let flags = AgentFlags { model, provider, approval, ..AgentFlags::default() };
    take_flags(&flags, &mut invocation);
    let settings = &invocation.in_force.settings;
    let telemetry = Telemetry::start(&invocation.logging(), &settings.telemetry.otlp_endpoint)?;
    invocation.warn_of_testing();
    let runtime = parts::serving_runtime(settings)?;
    let outcome = runtime.block_on(acp::serve(invocation, flags));
    // A read of standard input that is under way cannot be interrupted, so nothing waits for it.
    runtime.shutdown_background();
    telemetry.stop();
    outcome
}
