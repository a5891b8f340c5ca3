//! Where the agent's own tools work: the fence around the folder, the sandbox for commands, and what may be done without
//! asking.

use std::path::{Path, PathBuf};

use infold_agent::tools::approval::{ApprovalMode, ApprovalRules, CommandPrefix, ShellConfinement};
use infold_agent::tools::fence::{ExtraRoot, Fence, RootAccess};
use infold_agent::tools::sandbox::{Confinement, NetworkAccess, SandboxWish, try_out};
use infold_agent::tools::shell::{ShellSetup, clean};
use infold_agent::tools::{ToolLimits, Workplace};
use infold_engine::Engine;

use crate::commands::Invocation;
use crate::failure::Refused;
use crate::settings::{AgentApproval, AgentPart, AgentSandbox};

/// The folder in the data folder for what commands write temporarily.
const TEMPORARY: &str = "tmp";
/// The folder in the data folder in which the sandbox is tried out.
const SCRATCH: &str = "scratch";

/// A place of work.
pub struct AgentPlace {
    /// Where tools work.
    pub workplace: Workplace,
    /// What may be done without asking.
    pub approvals: ApprovalRules,
    /// How commands are confined, in words.
    pub words: String,
}

/// The place of work in a folder, by the settings in force.
pub async fn of(invocation: &Invocation, engine: &Engine, folder: &Path) -> anyhow::Result<AgentPlace> {
    let agent = &invocation.in_force.settings.agent;
    let data = invocation.data_folder()?;
    let (temporary, scratch) = (data.path().join(TEMPORARY), data.path().join(SCRATCH));
    for made in [&temporary, &scratch] {
        std::fs::create_dir_all(made)
            .map_err(|error| Refused::new(format!("cannot make {}: {error}", made.display())))?;
    }
    let (fence, _) = fence_around(folder, agent)?;
    let program = std::env::current_exe()?;
    let network = if agent.network { NetworkAccess::Open } else { NetworkAccess::Closed };
    let trial = try_out(&program, wish(agent), network, &scratch).await;
    let words = trial.as_ref().map_or_else(Clone::clone, |trial| trial.words.clone());
    let confinement = match &trial {
        _ if agent.sandbox == AgentSandbox::Off => ShellConfinement::OffByUser,
        Ok(trial) if trial.level.is_full() => ShellConfinement::Full,
        Ok(_) | Err(_) => ShellConfinement::Lacking,
    };
    let scrubber = engine.scrubber();
    let writable = fence.writable().map(Path::to_owned).chain([temporary.clone()]).collect();
    let shell = ShellSetup {
        program,
        sandbox: trial.map(|trial| trial.level),
        confinement: Confinement { writable, hidden: Vec::new(), network },
        temporary,
        environment: clean(std::env::vars_os(), Some(&scrubber)),
    };
    let workplace = Workplace { fence, limits: limits(agent), shell, scrubber: Some(scrubber) };
    let approvals = approvals(agent, confinement)?;
    Ok(AgentPlace { workplace, approvals, words })
}

/// The fence around a folder and what settings give beside it, and the longest file that tools change in it.
pub fn fence_around(folder: &Path, agent: &AgentPart) -> anyhow::Result<(Fence, u64)> {
    let fence = Fence::new(folder, &extra_roots(agent))
        .map_err(|error| Refused::new(format!("cannot work in {}: {error}", folder.display())))?;
    Ok((fence, limits(agent).file_bytes_max))
}

fn wish(agent: &AgentPart) -> SandboxWish {
    match agent.sandbox {
        AgentSandbox::Required => SandboxWish::Required,
        AgentSandbox::Best => SandboxWish::Best,
        AgentSandbox::Bubblewrap => SandboxWish::Bubblewrap,
        AgentSandbox::Off => SandboxWish::Off,
    }
}

fn extra_roots(agent: &AgentPart) -> Vec<ExtraRoot> {
    let root = |path: &String, access| ExtraRoot { path: PathBuf::from(path), access };
    let readable = agent.readable.iter().map(|path| root(path, RootAccess::ReadOnly));
    readable.chain(agent.writable.iter().map(|path| root(path, RootAccess::ReadWrite))).collect()
}

fn approvals(agent: &AgentPart, confinement: ShellConfinement) -> anyhow::Result<ApprovalRules> {
    let prefixes = |list: &[String], setting: &str| {
        let prefix = |words: &String| {
            CommandPrefix::new(words).ok_or_else(|| Refused::new(format!("{setting} has an entry without words")))
        };
        list.iter().map(prefix).collect::<Result<Vec<_>, _>>()
    };
    Ok(ApprovalRules {
        mode: match agent.approval {
            AgentApproval::ReadOnly => ApprovalMode::ReadOnly,
            AgentApproval::Ask => ApprovalMode::Ask,
            AgentApproval::Edits => ApprovalMode::Edits,
            AgentApproval::All => ApprovalMode::All,
        },
        allow: prefixes(&agent.allow, "agent.allow")?,
        deny: prefixes(&agent.deny, "agent.deny")?,
        confinement,
        granted: Vec::new(),
    })
}

/// How much a call of a tool may read and say. What is longer is offloaded by the engine's own bounds.
fn limits(agent: &AgentPart) -> ToolLimits {
    ToolLimits {
        read_lines_max: 2_000,
        shown_bytes_max: 256 << 10,
        line_bytes_max: 4_000,
        file_bytes_max: 64 << 20,
        list_entries_max: 1_000,
        search_lines_max: 500,
        search_files_max: 50_000,
        shell_bytes_max: 4 << 20,
        shell_usual_seconds: agent.shell_seconds.min(agent.shell_seconds_max),
        shell_seconds_max: agent.shell_seconds_max,
    }
}
