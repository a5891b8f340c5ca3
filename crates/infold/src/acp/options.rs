//! What can be chosen in a session: what may be done without asking, and the model. Editors know the first one under two
//! names, as modes and as an option; both always say the same.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode, SessionModeState,
};
use infold_agent::tools::approval::ApprovalMode;

use super::errors::wrong;

/// The option for what may be done without asking.
pub const MODE: &str = "mode";
/// The option for the model.
pub const MODEL: &str = "model";

/// Modes, from the least to the most: their ids, names and what each of them lets happen.
const MODES: [(ApprovalMode, &str, &str, &str); 4] = [
    (ApprovalMode::ReadOnly, "read_only", "Read only", "Read, and nothing else"),
    (ApprovalMode::Ask, "ask", "Ask", "Read, and run commands that settings allow; ask about the rest"),
    (ApprovalMode::Edits, "edits", "Edits", "Change files too; ask about commands"),
    (ApprovalMode::All, "all", "All", "Run every command that the sandbox lets happen"),
];

/// What is chosen in a session.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// What may be done without asking.
    pub mode: ApprovalMode,
    /// The model, with its provider in front.
    pub model: String,
    /// Models to choose from: those that were used before.
    pub models: Vec<String>,
}

impl SessionOptions {
    /// The modes.
    pub fn modes(&self) -> SessionModeState {
        let mode = |(_, id, name, says): &(ApprovalMode, &'static str, &'static str, &'static str)| {
            SessionMode::new(*id, *name).description((*says).to_owned())
        };
        SessionModeState::new(id_of(self.mode), MODES.iter().map(mode).collect())
    }

    /// All options.
    pub fn all(&self) -> Vec<SessionConfigOption> {
        let mode = |(_, id, name, says): &(ApprovalMode, &'static str, &'static str, &'static str)| {
            SessionConfigSelectOption::new(*id, *name).description((*says).to_owned())
        };
        let modes: Vec<SessionConfigSelectOption> = MODES.iter().map(mode).collect();
        let mut models: Vec<String> = self.models.clone();
        if !models.contains(&self.model) {
            models.insert(0, self.model.clone());
        }
        let model = |name: &String| SessionConfigSelectOption::new(name.clone(), name.clone());
        let models: Vec<SessionConfigSelectOption> = models.iter().map(model).collect();
        vec![
            SessionConfigOption::select(MODE, "Approvals", id_of(self.mode), modes)
                .description("What the agent may do without asking".to_owned())
                .category(SessionConfigOptionCategory::Mode),
            SessionConfigOption::select(MODEL, "Model", self.model.clone(), models)
                .description("The model that answers; /model takes any other name".to_owned())
                .category(SessionConfigOptionCategory::Model),
        ]
    }
}

/// The mode of an id.
pub fn mode_named(id: &str) -> Result<ApprovalMode, Error> {
    let found = MODES.iter().find(|(_, known, ..)| *known == id);
    found.map(|(mode, ..)| *mode).ok_or_else(|| wrong(format!("there is no mode {id}: read_only, ask, edits or all")))
}

/// The id of a mode.
pub fn id_of(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::ReadOnly => "read_only",
        ApprovalMode::Ask => "ask",
        ApprovalMode::Edits => "edits",
        ApprovalMode::All => "all",
    }
}
