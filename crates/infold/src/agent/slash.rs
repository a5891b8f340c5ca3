//! Commands that are typed with a slash in front.

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlashCommand {
    Compact,
    Context,
    Branch,
    Fork,
    Rewind { to: Option<u64>, keep_files: bool },
    Sessions { named: Option<String> },
    New,
    Model { named: Option<String> },
    Memory,
    Servers,
    Cost,
    Help,
    Quit,
}

/// What was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// Words for the model.
    Words,
    /// A command.
    Command(SlashCommand),
    /// Something that looks like a command and is none; the text says what to do.
    Wrong(String),
}

/// The commands: the name, what can follow it, and what it does.
pub const COMMANDS: [(&str, &str, &str); 13] = [
    ("/branch", "", "show the branches: what each holds, and what it returned"),
    ("/compact", "", "start the thread anew from what is worth keeping"),
    ("/context", "", "show what the context is made of"),
    ("/cost", "", "show tokens and dollars of this session"),
    ("/fork", "", "go on in a new session that begins like this one"),
    ("/help", "", "show commands and keys"),
    ("/memory", "", "show what branches have learnt here"),
    ("/model", "[NAME]", "show the model, or have another one answer: openai/gpt-5.2"),
    ("/new", "", "begin a new session"),
    ("/quit", "", "leave; `infold chat --continue` comes back"),
    ("/rewind", "[N] [--keep-files]", "go back to an earlier point, with the files that were written since"),
    ("/servers", "", "show other MCP servers"),
    ("/sessions", "[ID]", "list sessions, or go to one"),
];

/// Reads what was typed.
pub fn read(text: &str) -> Typed {
    let text = text.trim();
    if !text.starts_with('/') {
        return Typed::Words;
    }
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let rest: Vec<&str> = words.collect();
    let one = || (rest.len() == 1).then(|| rest[0].to_owned());
    let known = COMMANDS.iter().any(|(command, ..)| *command == name);
    if !known {
        // A path is no command, and neither is a text of several lines.
        let is_other = name[1..].contains('/') || text.contains('\n') || name.len() == 1;
        return match is_other {
            true => Typed::Words,
            false => Typed::Wrong(format!("there is no command {name}: /help lists them")),
        };
    }
    let takes_none = |command: SlashCommand| match rest.is_empty() {
        true => Typed::Command(command),
        false => Typed::Wrong(format!("{name} takes nothing behind it")),
    };
    match name {
        "/compact" => takes_none(SlashCommand::Compact),
        "/context" => takes_none(SlashCommand::Context),
        "/branch" => takes_none(SlashCommand::Branch),
        "/fork" => takes_none(SlashCommand::Fork),
        "/new" => takes_none(SlashCommand::New),
        "/memory" => takes_none(SlashCommand::Memory),
        "/servers" => takes_none(SlashCommand::Servers),
        "/cost" => takes_none(SlashCommand::Cost),
        "/quit" => takes_none(SlashCommand::Quit),
        "/rewind" => rewind(&rest),
        "/sessions" if rest.len() < 2 => Typed::Command(SlashCommand::Sessions { named: one() }),
        "/model" if rest.len() < 2 => Typed::Command(SlashCommand::Model { named: one() }),
        "/sessions" | "/model" => Typed::Wrong(format!("{name} takes one name")),
        _ => takes_none(SlashCommand::Help),
    }
}

fn rewind(rest: &[&str]) -> Typed {
    let keep_files = rest.contains(&"--keep-files");
    let numbers: Vec<&&str> = rest.iter().filter(|word| **word != "--keep-files").collect();
    match numbers.as_slice() {
        [] => Typed::Command(SlashCommand::Rewind { to: None, keep_files }),
        [number] => match number.parse() {
            Ok(to) => Typed::Command(SlashCommand::Rewind { to: Some(to), keep_files }),
            Err(_) => Typed::Wrong(format!("{number} is no record: /rewind lists those that you can go back to")),
        },
        _ => Typed::Wrong("/rewind takes one record".to_owned()),
    }
}

#[cfg(test)]
mod tests;
