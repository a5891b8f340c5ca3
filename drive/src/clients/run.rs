//! `infold run` with the real agents, unchanged: a branch is opened, ten files are read in it with the
//! agent's own tool, it is folded, and the work goes on. What the model was sent is checked.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use infold_testkit::model::work::{Work, branch_work, read_file};
use infold_testkit::model::{Model, Received, Script, Step};

use super::agents::{AgentEnded, Agents, RealAgent, ended};
use super::home::Home;

/// What the person asks for. A branch is not shown it.
pub const ASKED: &str = "Look through the harbour files, please.";
/// What the branch gives back.
pub const FOUND: &str = "All ten files define harbour functions; none of them is called.";
/// The model's last words.
pub const FINISHED: &str = "Nothing calls them.";
/// What the person says in a second run, which goes on with the session of the first.
pub const GO_ON: &str = "And which of them is the longest?";
/// The model's answer to that.
pub const WENT_ON: &str = "They are all of one length.";
/// Files that are read in the branch; one is read before it and one after.
pub const FILES_READ: usize = 10;
/// Lines of each file.
pub const LINES: usize = 30;
/// The most that a folded branch may add to its parent.
const GROWTH_TOKENS_MAX: u64 = 500;

/// Whether an agent shows infold's tools from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// It lists them with every request.
    Loaded,
    /// As it shows other servers' tools: behind its tool search, or inside of scripts.
    Deferred,
}

impl Listing {
    /// The flags of `infold run` that ask for it.
    pub fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Loaded => &[],
            Self::Deferred => &["--set", "run.always_load=false"],
        }
    }
}

/// Folds ten files with Claude Code.
pub async fn claude(agents: &Agents, binary: &Path, listing: Listing) -> Result<()> {
    let scene = folding().await?;
    let own = "{\n  // mine\n  \"env\": {\"OWN\": \"1\"}\n}\n";
    std::fs::create_dir_all(scene.home.claude())?;
    std::fs::write(scene.home.claude().join("settings.json"), own)?;
    let flags = listing.flags();
    let ended = scene.run(agents, RealAgent::Claude, binary, flags, &RealAgent::Claude.asking(ASKED)).await?;

    let turns = scene.check(&ended)?;
    let first = turns.first().context("Claude Code sent nothing")?;
    let is_listed = first.body["tools"].to_string().contains("mcp__infold__branch_return");
    ensure!(is_listed == (listing == Listing::Loaded), "listed from the start: {is_listed}");
    let again = scene.run(agents, RealAgent::Claude, binary, flags, &RealAgent::Claude.going_on(GO_ON)).await?;
    scene.check_going_on(&again)?;
    ensure!(std::fs::read_to_string(scene.home.claude().join("settings.json"))? == own, "the settings were changed");
    let servers = std::fs::read_to_string(scene.home.claude().join(".claude.json"))?;
    ensure!(!servers.contains("infold"), "infold was written into .claude.json");
    Ok(())
}

/// Folds ten files with Codex, with the model that is set for it or with the one that it chooses, which writes scripts.
pub async fn codex(agents: &Agents, binary: &Path, agent: RealAgent, listing: Listing) -> Result<()> {
    let scene = folding().await?;
    let ended = scene.run(agents, agent, binary, listing.flags(), &agent.asking(ASKED)).await?;
    let turns = scene.check(&ended)?;
    let first = turns.first().context("Codex sent nothing")?;
    let is_listed = first.spelled("branch_return").is_some();
    ensure!(is_listed == (listing == Listing::Loaded), "listed from the start: {is_listed}");
    ensure!(first.runs_scripts() == (agent == RealAgent::CodexScripts), "the model is {}", first.body["model"]);
    let again = scene.run(agents, agent, binary, listing.flags(), &agent.going_on(GO_ON)).await?;
    scene.check_going_on(&again)?;
    let config = std::fs::read_to_string(scene.home.codex().join("config.toml"))?;
    ensure!(
        !config.contains("infold") && config.contains(scene.model.base_url()),
        "config.toml was changed:\n{config}"
    );
    Ok(())
}

/// Folds ten files with OpenCode.
pub async fn opencode(agents: &Agents, binary: &Path) -> Result<()> {
    let scene = folding().await?;
    let ended = scene.run(agents, RealAgent::Opencode, binary, &[], &RealAgent::Opencode.asking(ASKED)).await?;
    scene.check(&ended)?;
    let again = scene.run(agents, RealAgent::Opencode, binary, &[], &RealAgent::Opencode.going_on(GO_ON)).await?;
    scene.check_going_on(&again)?;
    let config = std::fs::read_to_string(scene.home.path().join(".config/opencode/opencode.json"))?;
    ensure!(!config.contains("infold"), "opencode.json was changed:\n{config}");
    Ok(())
}

/// A home and a model that folds ten files in it.
pub async fn folding() -> Result<Scene> {
    Scene::start(|project| Script::new(steps(project))).await
}

/// The scripted model's steps: something in the main thread, the branch, and something after it.
fn steps(project: &Path) -> Vec<Step> {
    let path = |number: usize| project.join(name(number)).to_string_lossy().into_owned();
    let work = Work::reading("Read the ten files", (1..=FILES_READ).map(path), FOUND);
    let mut steps = vec![read_file(&path(FILES_READ + 1))];
    steps.extend(branch_work(&work));
    steps.push(read_file(&path(FILES_READ + 2)));
    steps.push(Step::text(FINISHED).reasoning("That was it."));
    steps.push(Step::text(WENT_ON));
    steps
}

/// What a file is called.
pub fn name(number: usize) -> String {
    format!("harbour-{number:02}.rs")
}

/// Words that are in this file and nowhere else.
pub fn marker(number: usize) -> String {
    format!("quay_{:04}", 7_000 + number * 13)
}

/// The content of a file, which is too short to be offloaded.
fn content(number: usize) -> String {
    let marker = marker(number);
    (1..=LINES).map(|line| format!("fn {marker}_{line}() -> u32 {{ {} }} // row\n", line * number + 40)).collect()
}

/// A home with the files in it, and a model.
pub struct Scene {
    pub home: Home,
    pub model: Model,
}

impl Scene {
    /// Makes a home with the files, and starts a model that plays the script made for its project.
    pub async fn start(script: impl FnOnce(&Path) -> Script) -> Result<Self> {
        let home = Home::new()?;
        for number in 1..=FILES_READ + 2 {
            std::fs::write(home.project().join(name(number)), content(number))?;
        }
        let model = Model::start(script(&home.project())).await?;
        Ok(Self { home, model })
    }

    /// Runs an agent through infold, as a person would.
    pub async fn run(
        &self,
        agents: &Agents,
        agent: RealAgent,
        binary: &Path,
        flags: &[&str],
        arguments: &[&str],
    ) -> Result<AgentEnded> {
        let mut command = agents.around(agent, binary, &self.home, self.model.base_url())?;
        command.args(flags).args(["run", agent.name()]).args(arguments);
        let outcome = ended(command).await;
        outcome.with_context(|| format!("what the model was shown last:\n{}", self.last_shape()))
    }

    /// The outline of what the model was sent last, for messages of failed checks.
    pub fn last_shape(&self) -> String {
        self.model.requests().last().map(Received::shape).unwrap_or_default()
    }

    /// Checks a run that folded, and returns its turns.
    pub fn check(&self, ended: &AgentEnded) -> Result<Vec<Received>> {
        ensure!(ended.stdout.contains(FINISHED), "the agent ended with {}", ended.stdout);
        let grown = self.check_turns()?;
        ensure!(ended.stderr.contains("1 branch folded"), "nothing says what was saved:\n{}", ended.stderr);
        println!("   the main thread grew by {grown} tokens; {}", last_lines(&ended.stderr));
        Ok(self.model.turns())
    }

    /// Checks that no rule was broken, nothing was written to the cache twice, and no reasoning was out of its place.
    pub fn nothing_broken(&self) -> Result<()> {
        let (broken, repeated) = (self.model.broken(), self.model.repeated_writes());
        ensure!(broken.is_empty(), "rules were broken: {}\n{}", broken.join("; "), self.last_shape());
        ensure!(repeated.is_empty(), "cache writes were repeated: {repeated:?}");
        let dropped = self.model.turns().iter().any(|turn| turn.reasoning_dropped > 0);
        ensure!(!dropped, "reasoning was sent out of its place");
        Ok(())
    }

    /// Checks what the model was sent, and returns the tokens that the fold added to the main thread.
    pub fn check_turns(&self) -> Result<u64> {
        self.nothing_broken()?;
        let turns = self.model.turns();
        let (main, branch): (Vec<&Received>, Vec<&Received>) = turns.iter().partition(|turn| turn.holds(ASKED));

        ensure!(branch.len() == FILES_READ + 1, "the branch sent {} requests", branch.len());
        let inside = branch.last().context("the branch sent nothing")?;
        let unread = (1..=FILES_READ).find(|number| !inside.holds(&marker(*number)));
        ensure!(unread.is_none(), "the branch did not see file {unread:?}:\n{}", inside.shape());
        ensure!(branch.iter().all(|turn| !turn.holds(&marker(FILES_READ + 1))), "the branch saw its parent's work");

        let folded = main.iter().position(|turn| turn.holds(FOUND)).context("the parent never got the result")?;
        let (before, after) = (main[folded - 1], main[folded]);
        let end = main[main.len() - 1];
        for turn in [after, end] {
            let left = (1..=FILES_READ).find(|number| turn.holds(&marker(*number)));
            ensure!(left.is_none(), "file {left:?} is still there:\n{}", turn.shape());
        }
        let grown = after.cache.total_tokens().saturating_sub(before.cache.total_tokens());
        ensure!(grown < GROWTH_TOKENS_MAX, "the main thread grew by {grown} tokens");
        ensure!(after.holds(&marker(FILES_READ + 1)), "the parent lost what it had read");
        ensure!(end.holds(&marker(FILES_READ + 2)), "the parent did not go on:\n{}", end.shape());
        Ok(grown)
    }
}

impl Scene {
    /// Checks a second run, with another daemon on the same data: it goes on where the first stopped, and what was
    /// folded stays folded.
    fn check_going_on(&self, ended: &AgentEnded) -> Result<()> {
        ensure!(ended.stdout.contains(WENT_ON), "the agent went on with {}", ended.stdout);
        self.nothing_broken()?;
        let turns = self.model.turns();
        let last = turns.last().context("nothing was sent")?;
        ensure!(last.holds(GO_ON) && last.holds(ASKED) && last.holds(FOUND), "words are lost:\n{}", last.shape());
        let left = (1..=FILES_READ).find(|number| last.holds(&marker(*number)));
        ensure!(left.is_none(), "file {left:?} has come back:\n{}", last.shape());
        Ok(())
    }
}

/// The last lines that infold printed, for messages of failed checks.
fn last_lines(stderr: &str) -> String {
    let lines = stderr.lines().filter_map(|line| line.strip_prefix("infold: "));
    lines.filter(|line| line.contains("folded") || line.contains("removed")).collect::<Vec<_>>().join("; ")
}
