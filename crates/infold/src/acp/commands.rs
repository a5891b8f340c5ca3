//! What a person can do in an editor by a prompt that begins with a slash. Nothing of it is said to the model.

mod texts;

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionUpdate, StopReason,
    UnstructuredCommandInput,
};
use tokio_util::sync::CancellationToken;

use super::Editor;
use super::errors::{error_of, wrong};
use super::session::{EditorSession, Talk};
use crate::agent::FilesThen;

/// The commands: name, what it does, what may stand behind it.
const COMMANDS: [(&str, &str, Option<&str>); 8] = [
    ("compact", "Make room in the context: what is old becomes a summary and references", None),
    ("context", "Show what fills the context", None),
    ("cost", "Show tokens and cost of the session", None),
    ("rewind", "Go back to an earlier point, with the files; without a number, list the points", Some("N [keep-files]")),
    ("fork", "Make a new session of all that was said, for the list of sessions", None),
    ("model", "Have another model answer", Some("NAME or PROVIDER/NAME")),
    ("continue", "Go on with work that broke off", None),
    ("help", "List these commands", None),
];

/// A command that was typed.
#[derive(Debug, PartialEq, Eq)]
pub enum SlashCommand {
    /// Make room in the context.
    Compact,
    /// Show what fills it.
    Context,
    /// Show what the session cost.
    Cost,
    /// List the points that the session can go back to.
    Points,
    /// Go back to one.
    Rewind {
        /// The record.
        to: u64,
        /// What becomes of files.
        files: FilesThen,
    },
    /// Make a new session of this one.
    Fork,
    /// Say which model answers.
    WhichModel,
    /// Have another one answer.
    Model(String),
    /// Go on.
    Continue,
    /// List the commands.
    Help,
}

/// The commands, for the editor to offer.
pub fn available() -> SessionUpdate {
    let command = |(name, says, hint): &(&str, &str, Option<&str>)| {
        let input = hint.map(|hint| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint)));
        AvailableCommand::new(*name, *says).input(input)
    };
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(COMMANDS.iter().map(command).collect()))
}

/// The command in a prompt; `None` if it is for the model: many words begin with a slash.
pub fn typed(words: &str) -> Option<Result<SlashCommand, Error>> {
    let (name, rest) = words.trim().strip_prefix('/')?.split_once(char::is_whitespace).unwrap_or((words.trim().get(1..)?, ""));
    let rest = rest.trim();
    let command = match (name, rest) {
        ("rewind", "") => SlashCommand::Points,
        ("rewind", rest) => return Some(rewind(rest)),
        ("model", "") => SlashCommand::WhichModel,
        ("model", model) => SlashCommand::Model(model.to_owned()),
        ("compact", "") => SlashCommand::Compact,
        ("context", "") => SlashCommand::Context,
        ("cost", "") => SlashCommand::Cost,
        ("fork", "") => SlashCommand::Fork,
        ("continue", "") => SlashCommand::Continue,
        ("help", "") => SlashCommand::Help,
        _ => return None,
    };
    Some(Ok(command))
}

fn rewind(rest: &str) -> Result<SlashCommand, Error> {
    let (number, files) = match rest.split_once(char::is_whitespace) {
        Some((number, "keep-files" | "--keep-files")) => (number, FilesThen::Stay),
        Some(_) => return Err(wrong("behind the number there may be keep-files, and nothing else")),
        None => (rest, FilesThen::PutBack),
    };
    let to = number.parse().map_err(|_| wrong(format!("{number} is no number of a point: /rewind lists them")))?;
    Ok(SlashCommand::Rewind { to, files })
}

impl SlashCommand {
    /// Does it, and says what came of it.
    pub async fn carry_out(
        self,
        session: &EditorSession,
        talk: &mut Talk,
        cancelled: &CancellationToken,
        editor: &Editor,
    ) -> Result<StopReason, Error> {
        let words = match self {
            Self::Continue => match talk.conversation.go_on().map_err(|error| error_of(&error))? {
                true => return talk.follow(session, cancelled, editor).await,
                false => "There is nothing to go on with.".to_owned(),
            },
            Self::Compact => talk.compact(session, cancelled, editor).await?,
            Self::Context => texts::context(&talk.conversation).await.map_err(|error| error_of(&error))?,
            Self::Cost => texts::cost(&talk.conversation).await.map_err(|error| error_of(&error))?,
            Self::Points => texts::points(&talk.conversation).await.map_err(|error| error_of(&error))?,
            Self::Rewind { to, files } => {
                session.without_agent();
                let went = talk.conversation.rewind(to, files).await;
                session.with_agent_of(&talk.conversation);
                texts::went_back(&went.map_err(|error| error_of(&error))?)
            }
            Self::Fork => session.fork(&talk.conversation).await.map_err(|error| error_of(&error))?,
            Self::WhichModel => format!("{} answers.", session.options().model),
            Self::Model(named) => {
                talk.choose_model(session, &named, editor).await?;
                format!("{} answers from here on.", session.options().model)
            }
            Self::Help => help(),
        };
        session.say(editor, &words);
        talk.tell_usage(session, editor).await;
        Ok(if cancelled.is_cancelled() { StopReason::Cancelled } else { StopReason::EndTurn })
    }
}

fn help() -> String {
    let line = |(name, says, hint): &(&str, &str, Option<&str>)| {
        let hint = hint.map(|hint| format!(" {hint}")).unwrap_or_default();
        format!("- `/{name}{hint}`: {says}\n")
    };
    COMMANDS.iter().map(line).collect()
}

#[cfg(test)]
mod tests;
