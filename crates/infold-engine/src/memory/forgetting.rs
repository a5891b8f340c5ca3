//! Forgetting, by names or by where memories come from. It is the one thing that cannot be undone.

use infold_core::{Principal, Refusal};
use infold_store::{ForgetSource, Forgotten, HeldText, TextLapse};

use super::people::named_memory;
use super::projects::session_named;
use crate::{Engine, Error};

/// How many memories can be named at once.
const NAMED_MAX: usize = 1_000;
/// How long a label can be.
const LABEL_CHARS_MAX: usize = 200;

/// Whether memories are forgotten, or only looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgetMode {
    /// Only say what would go.
    Preview,
    /// Forget.
    Forget,
}

/// What was forgotten, or would be.
#[derive(Debug, Clone)]
pub struct ForgetReport {
    /// What went.
    pub forgotten: Forgotten,
    /// Live sessions that hold text of it, and until when.
    pub held: Vec<LapsingText>,
}

/// A live session that holds text of memories that were forgotten.
#[derive(Debug, Clone)]
pub struct LapsingText {
    /// The session, and which of its branches quotes the text.
    pub text: HeldText,
    /// When the text goes if nobody uses the session before, in milliseconds since 1970.
    pub lapses_at_ms: u64,
}

impl Engine {
    /// Forgets memories by name, with what was derived from them alone.
    pub async fn forget_memories(
        &self,
        who: &Principal,
        memories: &[String],
        mode: ForgetMode,
    ) -> Result<ForgetReport, Error> {
        if memories.is_empty() || memories.len() > NAMED_MAX {
            let problem = format!("must have between 1 and {NAMED_MAX} names, it has {}", memories.len());
            return Err(Refusal::Invalid { field: "memories", problem }.into());
        }
        let ids = memories.iter().map(|name| named_memory(name)).collect::<Result<_, _>>()?;
        self.forget(who, ForgetSource::Memories(ids), mode).await
    }

    /// Forgets all that comes from a source: `session:`, `branch:`, `import:`, `tool:`, `host:` or `project:` and a name,
    /// or `hand`.
    pub async fn forget_source(&self, who: &Principal, source: &str, mode: ForgetMode) -> Result<ForgetReport, Error> {
        let source = match source.split_once(':') {
            Some(("session", session)) => ForgetSource::Session(session_named(session)?),
            Some(("branch", branch)) => ForgetSource::Branch(self.branch_id(branch)?),
            Some(("project", project)) => ForgetSource::Project(self.project_by_name(who, project).await?),
            Some(("import" | "tool" | "host", name)) if !name.is_empty() && name.chars().count() <= LABEL_CHARS_MAX => {
                ForgetSource::Label(source.to_owned())
            }
            None if source == "hand" => ForgetSource::Hand,
            Some(_) | None => {
                let problem = "must be session:, branch:, import:, tool:, host: or project: and a name, or hand";
                return Err(Refusal::Invalid { field: "from", problem: problem.to_owned() }.into());
            }
        };
        self.forget(who, source, mode).await
    }

    async fn forget(&self, who: &Principal, source: ForgetSource, mode: ForgetMode) -> Result<ForgetReport, Error> {
        let owner = who.owner.clone();
        let forgotten = match mode {
            ForgetMode::Preview => self.inner.store.preview_forgetting(owner, source).await?,
            ForgetMode::Forget => self.inner.store.forget_memories(owner, source, self.now_ms()).await?,
        };
        let timers = &self.inner.settings.timers;
        let held = forgotten.held.iter().map(|text| {
            let after_ms = match text.lapse {
                TextLapse::WithLiveSessions => timers.live_ms,
                TextLapse::WithArchive => timers.retention_ms,
            };
            LapsingText { lapses_at_ms: text.active_at_ms.saturating_add(after_ms), text: text.clone() }
        });
        Ok(ForgetReport { held: held.collect(), forgotten })
    }
}
