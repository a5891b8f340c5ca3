//! What a person can do in an editor by a prompt that begins with a slash: the commands of every face, but for those that an
//! editor has its own ways for. Nothing of it is said to the model.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionUpdate, StopReason,
    UnstructuredCommandInput,
};
use tokio_util::sync::CancellationToken;

use super::Editor;
use super::calls::fenced;
use super::errors::{error_of, wrong};
use super::session::{EditorSession, Talk};
use crate::agent::{COMMANDS, CarriedOut, Conversation, SlashCommand, Typed, carry_out, read_typed};
use crate::draw::one_line;

/// Commands that an editor has its own ways for: it begins, lists and leaves sessions.
const EDITORS_OWN: [&str; 3] = ["/new", "/quit", "/sessions"];
/// The command that is an editor's alone: elsewhere a key does it.
const CONTINUE: (&str, &str, &str) = ("/continue", "", "go on with work that broke off");
/// How wide tables are.
const COLUMNS: usize = 100;
/// Points that are listed, the newest.
const POINTS_MAX: usize = 30;
/// Characters of what was said at a point.
const WORDS_CHARS_MAX: usize = 80;

/// A command that was typed.
#[derive(Debug, PartialEq, Eq)]
pub enum EditorCommand {
    /// Go on with work that broke off.
    Continue,
    /// One that every face has.
    Common(SlashCommand),
}

fn offered() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let common = COMMANDS.into_iter().filter(|(name, ..)| !EDITORS_OWN.contains(name));
    common.chain([CONTINUE])
}

/// The commands, for the editor to offer.
pub fn available() -> SessionUpdate {
    let command = |(name, takes, does): (&str, &str, &str)| {
        let input = AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(takes));
        AvailableCommand::new(name.trim_start_matches('/'), does).input((!takes.is_empty()).then_some(input))
    };
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(offered().map(command).collect()))
}

/// The command in a prompt; `None` if it is for the model: many words begin with a slash.
pub fn typed(words: &str) -> Option<Result<EditorCommand, Error>> {
    if words.trim() == CONTINUE.0 {
        return Some(Ok(EditorCommand::Continue));
    }
    match read_typed(words) {
        Typed::Words => None,
        Typed::Wrong(why) => Some(Err(wrong(why))),
        Typed::Command(SlashCommand::New | SlashCommand::Quit | SlashCommand::Sessions { .. }) => {
            Some(Err(wrong("the editor itself begins, lists and leaves sessions")))
        }
        Typed::Command(command) => Some(Ok(EditorCommand::Common(command))),
    }
}

impl EditorCommand {
    /// Does it, and says what came of it.
    pub async fn carry_out(
        self,
        session: &EditorSession,
        talk: &mut Talk,
        cancelled: &CancellationToken,
        editor: &Editor,
    ) -> Result<StopReason, Error> {
        let done = match self {
            Self::Continue => match talk.conversation.go_on() {
                Ok(true) => Ok(CarriedOut::Begun),
                Ok(false) => Ok(CarriedOut::Said("there is nothing to go on with".to_owned())),
                Err(error) => Err(error),
            },
            Self::Common(SlashCommand::Fork) => session.fork(&talk.conversation).await.map(CarriedOut::Said),
            Self::Common(SlashCommand::Help) => Ok(CarriedOut::Said(help())),
            Self::Common(command) => {
                session.without_agent();
                let done = carry_out(command, &mut talk.conversation, "", COLUMNS).await;
                session.with_agent_of(&talk.conversation, editor);
                done
            }
        };
        let words = match done.map_err(|error| error_of(&error))? {
            CarriedOut::Begun => return talk.follow(session, cancelled, editor).await,
            CarriedOut::Said(words) => words,
            CarriedOut::Moved(words) => format!("{words}\nwhat came behind it is no longer part of the session"),
            CarriedOut::ChoosePoint { .. } => points(&talk.conversation).await.map_err(|error| error_of(&error))?,
            CarriedOut::ChooseSession | CarriedOut::Leave => String::new(),
        };
        session.say(editor, &fenced(&words));
        talk.tell_usage(session, editor).await;
        Ok(StopReason::EndTurn)
    }
}

fn help() -> String {
    let line =
        |(name, takes, does): (&str, &str, &str)| format!("{:<30} {does}\n", format!("{name} {takes}").trim_end());
    offered().map(line).collect()
}

/// The points that the session can go back to.
async fn points(conversation: &Conversation) -> anyhow::Result<String> {
    if conversation.agent()?.session().records == 0 {
        return Ok("nothing was said yet".to_owned());
    }
    let points = conversation.log().await?.points();
    let left_out = points.len().saturating_sub(POINTS_MAX);
    let mut text = "/rewind N goes back to one of these, with the files that were written since:\n".to_owned();
    if left_out > 0 {
        text.push_str(&format!("({left_out} before these)\n"));
    }
    for point in points.iter().skip(left_out) {
        let words: String = one_line(&point.words).chars().take(WORDS_CHARS_MAX).collect();
        text.push_str(&format!("{:>6} {:<9} {words}\n", point.record, point.kind.word()));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
