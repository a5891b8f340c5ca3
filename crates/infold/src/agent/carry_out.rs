//! Carries out commands that are typed with a slash, the same for every face.

use std::process::Stdio;

use super::conversation::Conversation;
use super::going_back::{FilesThen, WentBack};
use super::slash::{COMMANDS, SlashCommand};
use crate::commands::show::branches_text;
use crate::failure::Refused;
use crate::parts;

/// What became of a command.
#[derive(Debug, PartialEq, Eq)]
pub enum CarriedOut {
    /// This is to be shown.
    Said(String),
    /// Another session is talked in now, or this one from an earlier point; the words say so.
    Moved(String),
    /// Work has begun; events tell of it.
    Begun,
    /// A session has to be chosen, and the command given again with it.
    ChooseSession,
    /// A point has to be chosen.
    ChoosePoint {
        /// What becomes of files then.
        files: FilesThen,
    },
    /// The person wants to leave.
    Leave,
}

/// Carries out a command. `keys` is what a face has to say of its keys, for the help; `columns` is how wide it is.
pub async fn carry_out(
    command: SlashCommand,
    conversation: &mut Conversation,
    keys: &str,
    columns: usize,
) -> anyhow::Result<CarriedOut> {
    Ok(match command {
        SlashCommand::Compact => {
            conversation.start_compacting()?;
            CarriedOut::Begun
        }
        SlashCommand::Context => CarriedOut::Said(conversation.figures().await?.context_words()),
        SlashCommand::Cost => CarriedOut::Said(conversation.figures().await?.cost_words()),
        SlashCommand::Branch => CarriedOut::Said(branches(conversation, columns).await?),
        SlashCommand::Fork => {
            let before = conversation.session_id()?;
            let id = conversation.fork().await?;
            CarriedOut::Moved(format!("this is session {id}, which begins like {before}"))
        }
        SlashCommand::New => CarriedOut::Moved(format!("this is session {}", conversation.begin_anew().await?)),
        SlashCommand::Sessions { named: None } => CarriedOut::ChooseSession,
        SlashCommand::Sessions { named: Some(named) } => {
            CarriedOut::Moved(format!("this is session {}", conversation.switch(&named).await?))
        }
        SlashCommand::Rewind { to, keep_files } => {
            let files = if keep_files { FilesThen::Stay } else { FilesThen::PutBack };
            match to {
                None => CarriedOut::ChoosePoint { files },
                Some(to) => CarriedOut::Moved(went_words(&conversation.rewind(to, files).await?)),
            }
        }
        SlashCommand::Model { named: None } => {
            let agent = &conversation.invocation().in_force.settings.agent;
            CarriedOut::Said(format!("{}/{} answers", agent.provider.name(), agent.model))
        }
        SlashCommand::Model { named: Some(named) } => {
            conversation.choose_model(&named).await?;
            CarriedOut::Said(format!("{named} answers from here on"))
        }
        SlashCommand::Memory => CarriedOut::Said(own_command("memory", conversation, columns).await?),
        SlashCommand::Servers => CarriedOut::Said(own_command("servers", conversation, columns).await?),
        SlashCommand::Help => CarriedOut::Said(help_words(keys)),
        SlashCommand::Quit => CarriedOut::Leave,
    })
}

fn went_words(went: &WentBack) -> String {
    let mut words = format!("went back to record {}", went.to);
    went.files.iter().for_each(|file| words.push_str(&format!("\nput back {file}")));
    went.branches.iter().for_each(|branch| words.push_str(&format!("\nclosed branch {branch}")));
    words
}

async fn branches(conversation: &Conversation, columns: usize) -> anyhow::Result<String> {
    let invocation = conversation.invocation();
    let style = crate::draw::Style { paint: crate::draw::Paint::Plain, width: columns, ..invocation.output.style };
    let room = parts::room(&invocation.in_force.settings);
    conversation.engine().flush_requests().await;
    branches_text(conversation.engine(), &conversation.session_id()?, room, &style).await
}

/// What a command of this program prints, with the same data folder and settings.
async fn own_command(name: &str, conversation: &Conversation, columns: usize) -> anyhow::Result<String> {
    let invocation = conversation.invocation();
    let mut command = tokio::process::Command::new(std::env::current_exe()?);
    command.arg(name).arg("--data").arg(invocation.data_folder()?.path()).args(["--color", "never"]);
    for assignment in &invocation.globals.set {
        command.arg("--set").arg(assignment.to_string());
    }
    command.current_dir(conversation.folder()).env("COLUMNS", columns.to_string()).stdin(Stdio::null());
    let output = command.kill_on_drop(true).output().await?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    match output.status.success() {
        true => Ok(text.trim_end().to_owned()),
        false => Err(Refused::new(text.trim_end().to_owned()).into()),
    }
}

/// What `/help` says.
fn help_words(keys: &str) -> String {
    let mut words = String::from("Commands:\n");
    for (name, takes, does) in COMMANDS {
        words.push_str(&format!("  {:<30} {does}\n", format!("{name} {takes}").trim_end()));
    }
    words.push_str(keys);
    words
}
