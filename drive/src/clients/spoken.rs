//! A person at the terminal of the real Claude Code, wired by `infold run`, who speaks whenever they like:
//! after an interrupt, while a tool runs, after a compaction, a rewind and a resume. Their words are in what
//! the model gets, word for word, in the branch in which they were said and in its parent afterwards.

mod judge;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use infold_testkit::model::work::{fold_branch, load_tools, open_branch, read_file};
use infold_testkit::model::{Model, Script, Step};
use tokio::process::Command;

use super::agents::{Agents, RealAgent};
use super::findings::RunFindings;
use super::gate::Gate;
use super::home::Home;
use super::steps::{fold_beside, shell, work};
use infold_testkit::terminal::{ROOMY, TmuxTerminal};

const ASKED: &str = "Look through the harbour, please.";
const BRIEF: &str = "Count what stands on the eastern quay.";
const INTERRUPTED: &str = "Do it otherwise: begin at the western end.";
const QUEUED: &str = "And leave the red cranes out of it.";
const BESIDE: &str = "tide-table-4711";
const FOUND: &str = "Seven cranes stand there.";
const COUNTED: &str = "They are counted.";
const LOGGED: &str = "The log is read.";
const COMPACTED: &str = "Go on with what @tokens.env says.";
const SECOND_BRIEF: &str = "Look at the lighthouse once more.";
const SECOND_FOUND: &str = "Its lamp is lit.";
const LIT: &str = "The lamp is lit.";
const REWOUND: &str = "Rather look at the buoys.";
const BUOYS: &str = "The buoys are green.";
const RESUMED: &str = "Read the log, too.";
const RULE: &str = "Harbour rule 12: say ahoy first.";
const NESTED_RULE: &str = "Crane rule 3: yellow ones stay.";
/// How Claude Code begins the request in which it has its history summarised.
const COMPACTION: &str = "CRITICAL: Respond with TEXT ONLY";

/// Where Claude Code puts what is said while tools run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordsPlace {
    /// In a block beside the results, as for newer models.
    Beside,
    /// Inside the results, as for models up to 4.x.
    Inside,
}

impl WordsPlace {
    /// A model for which Claude Code does it this way.
    pub fn model(self) -> &'static str {
        match self {
            Self::Beside => "claude-opus-5-5",
            Self::Inside => "claude-sonnet-4-5",
        }
    }
}

/// Plays the person at the terminal, and returns what was found.
pub async fn claude(agents: &Agents, binary: &Path, kind: WordsPlace) -> Result<RunFindings> {
    let home = Home::new()?;
    let secret = secret();
    prepare(&home, &secret)?;
    let model = Model::start(script(&home.project())).await?;
    let mut stage = Sitting::new(agents, binary, kind, &home, &model).await?;

    let mut findings = RunFindings::default();
    let played = stage.play().await;
    let turns = model.turns();
    findings.add("plays to its end", played);
    findings.add("breaks no rule", unbroken(&model));
    judge::branch(&turns, &mut findings);
    judge::log(&turns, &mut findings);
    judge::returns(&turns, &mut findings);
    judge::compaction(&turns, kind, &secret, &mut findings);
    Ok(findings)
}

/// The project's secret. It is put together here, so that no scanner takes this file for a leak.
pub fn secret() -> String {
    format!("ghp_{}", "w3Tn8Qb5Kd1Zr7Xc4Vm9Ys2Lf6Hg0JpAeUiO".chars().take(36).collect::<String>())
}

/// Checks that no rule of a provider was broken.
pub fn unbroken(model: &Model) -> Result<()> {
    let broken = model.broken();
    ensure!(broken.is_empty(), "rules were broken: {}", broken.join("; "));
    Ok(())
}

/// A project with rules, rules of a folder in it, and a secret; and a home in which every question that a
/// first start asks is answered.
fn prepare(home: &Home, secret: &str) -> Result<()> {
    let project = home.project();
    std::fs::create_dir_all(project.join("cranes"))?;
    std::fs::write(project.join("CLAUDE.md"), format!("{RULE}\n"))?;
    std::fs::write(project.join("cranes/CLAUDE.md"), format!("{NESTED_RULE}\n"))?;
    std::fs::write(project.join("cranes/list.txt"), "crane one\ncrane two\n")?;
    std::fs::write(project.join("tokens.env"), format!("HARBOUR_TOKEN={secret}\n"))?;
    home.answer_first_questions()
}

/// The scripted model's steps.
fn script(project: &Path) -> Script {
    let crane = project.join("cranes/list.txt").to_string_lossy().into_owned();
    let long = "cat log-gate; seq -f 'row %06g of the log' 1 1800";
    Script::new([
        load_tools(),
        open_branch(&work(BRIEF)),
        shell("cat first-gate"),
        shell("cat second-gate; echo went-through-the-$(echo second)-gate"),
        read_file(&crane),
        fold_beside("echo tide-table-$(echo 4711)", FOUND),
        Step::text(COUNTED).reasoning("It is done."),
        shell(long),
        Step::text(LOGGED),
        Step::text(BUOYS),
        load_tools(),
        open_branch(&work(SECOND_BRIEF)),
        shell("echo lamp"),
        fold_branch(SECOND_FOUND),
        Step::text(LIT),
    ])
    .aside(COMPACTION, Step::text("<summary>\nThe harbour was looked through.\n</summary>"))
}

/// Twenty lines that a person pastes.
fn pasted() -> String {
    (1..=20).map(|line| format!("wish {line:02}: berth {} is to be free\n", line * 7)).collect()
}

struct Sitting<'a> {
    agents: &'a Agents,
    binary: &'a Path,
    kind: WordsPlace,
    home: &'a Home,
    model: &'a Model,
    first: Gate,
    second: Gate,
    log: Gate,
}

impl<'a> Sitting<'a> {
    async fn new(
        agents: &'a Agents,
        binary: &'a Path,
        kind: WordsPlace,
        home: &'a Home,
        model: &'a Model,
    ) -> Result<Self> {
        let project = home.project();
        let gate = async |name: &str| Gate::new(&project, name).await;
        let (first, second, log) = (gate("first-gate").await?, gate("second-gate").await?, gate("log-gate").await?);
        Ok(Self { agents, binary, kind, home, model, first, second, log })
    }

    async fn play(&mut self) -> Result<()> {
        let mut terminal = self.sit_down(&[]).await?;
        self.speak_in_branch(&mut terminal).await.context("in the branch")?;
        terminal.say("/exit").await?;
        terminal.until_closed().await?;

        let mut terminal = self.sit_down(&["--continue"]).await?;
        self.speak_beside_log(&mut terminal).await.context("beside the log")?;
        self.rewind(&mut terminal).await.context("around the rewind")?;
        self.compact(&mut terminal).await.context("around the compaction")
    }

    /// Starts Claude Code through infold, and waits until it listens.
    async fn sit_down(&self, arguments: &[&str]) -> Result<TmuxTerminal> {
        let mut command: Command =
            self.agents.around(RealAgent::Claude, self.binary, self.home, self.model.base_url())?;
        command.args(["run", "claude", "--dangerously-skip-permissions", "--model", self.kind.model()]);
        command.args(arguments);
        let mut terminal = TmuxTerminal::start(self.home.path(), &command, ROOMY).await?;
        terminal.until("the prompt", |screen| screen.contains("bypass permissions on")).await?;
        Ok(terminal)
    }

    /// Interrupts a tool of a branch and says what to do instead, then speaks while the next one runs.
    async fn speak_in_branch(&self, terminal: &mut TmuxTerminal) -> Result<()> {
        terminal.say(ASKED).await?;
        let held = self.first.reached().await?;
        terminal.until("a running tool", |screen| screen.contains("esc to interrupt")).await?;
        terminal.press("Escape").await?;
        terminal.until("the interrupt", |screen| screen.contains("Interrupted")).await?;
        drop(held);
        terminal.say(INTERRUPTED).await?;

        let held = self.second.reached().await?;
        terminal.say(QUEUED).await?;
        terminal.until("the queued words", |screen| screen.contains("edit queued messages")).await?;
        drop(held);
        terminal.until_shows(COUNTED).await
    }

    /// Pastes twenty lines while a tool runs whose result is long.
    async fn speak_beside_log(&self, terminal: &mut TmuxTerminal) -> Result<()> {
        terminal.say(RESUMED).await?;
        let held = self.log.reached().await?;
        terminal.paste(&pasted()).await?;
        terminal.until("the queued words", |screen| screen.contains("edit queued messages")).await?;
        drop(held);
        terminal.until_shows(LOGGED).await
    }

    async fn compact(&self, terminal: &mut TmuxTerminal) -> Result<()> {
        terminal.type_words("/compact").await?;
        terminal.press_until("Enter", "the compaction", |screen| screen.contains("Compacted")).await?;
        terminal.say(COMPACTED).await?;
        terminal.until_shows(LIT).await
    }

    /// Goes back to before the log was asked for, and says something else.
    async fn rewind(&self, terminal: &mut TmuxTerminal) -> Result<()> {
        terminal.type_words("/rewind").await?;
        // The menu of commands, which may take the first Enter, says something like it: "to a previous point".
        let listed = |screen: &str| screen.contains("Restore the code and/or conversation to the point");
        terminal.press_until("Enter", "the list", listed).await?;
        // Entries of the list are indented, what was said before is not.
        let chosen = format!("   ❯ {RESUMED}");
        terminal.press_until("Up", "the words to go back to", |screen| screen.contains(&chosen)).await?;
        let asks = |screen: &str| screen.contains("Restore conversation");
        terminal.press_until("Enter", "the question", asks).await?;
        terminal.press_until("Enter", "the prompt", |screen| screen.contains("bypass permissions on")).await?;
        terminal.press("C-u").await?;
        terminal.say(REWOUND).await?;
        terminal.until_shows(BUOYS).await
    }
}
