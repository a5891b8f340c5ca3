//! Finds the parts of a shell's command that can write.
//!
//! A part is a pipeline. It can write if its output goes into a file, or if one of its programs is not known to leave
//! files alone. Where a value can get from one part to another (by variables, here-documents, loops), the whole command
//! counts as one part. This is no parser of shell's grammar: where it is unsure, it says that a part can write.

mod programs;
mod words;

use words::{ShellToken, tokens};

/// How deep commands inside commands are followed: `sh -c 'sh -c …'`.
const DEPTH_MAX: usize = 4;

/// Words that a shell itself reads, in front of a command.
const KEYWORDS: [&str; 16] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "!", "{",
    "}",
];
/// Commands that give a value to a variable.
const SETTERS: [&str; 6] = ["export", "declare", "local", "readonly", "read", "typeset"];
/// Programs that run the program named after them.
const WRAPPERS: [&str; 6] = ["sudo", "env", "command", "time", "nice", "nohup"];
/// Shells that take a command as a string, after `-c`.
const SHELLS: [&str; 5] = ["sh", "bash", "zsh", "dash", "ksh"];
/// Targets of a redirection that are not files.
const NO_FILES: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// The parts of a command that can write.
pub(super) fn written(command: &str) -> Vec<String> {
    written_within(command, DEPTH_MAX)
}

fn written_within(command: &str, depth_left: usize) -> Vec<String> {
    let parts = parts(command, depth_left);
    let can_write = parts.list.iter().any(|part| part.can_write);
    if parts.are_one {
        return if can_write { vec![command.to_owned()] } else { Vec::new() };
    }
    parts.list.into_iter().filter(|part| part.can_write).map(|part| part.text).collect()
}

#[derive(Default)]
struct Parts {
    list: Vec<CommandPart>,
    /// Whether values can get from one part to another, so that all count as one.
    are_one: bool,
}

#[derive(Default)]
struct CommandPart {
    text: String,
    can_write: bool,
}

fn parts(command: &str, depth_left: usize) -> Parts {
    let mut parts = Parts::default();
    let mut part = CommandPart::default();
    let mut program: Vec<String> = Vec::new();
    for token in tokens(command) {
        match token {
            ShellToken::Word(word) => {
                part.text.push_str(&word);
                part.text.push(' ');
                program.push(word);
            }
            ShellToken::Given(text) => {
                part.text.push_str(&text);
                part.text.push(' ');
                parts.are_one = true;
            }
            ShellToken::Into(target) => part.can_write |= is_file(&target),
            ShellToken::Inside => {
                part.can_write = true;
                parts.are_one = true;
            }
            ShellToken::Group => parts.are_one = true,
            ShellToken::Pipe => part.judge(std::mem::take(&mut program), depth_left, &mut parts.are_one),
            ShellToken::End => {
                part.judge(std::mem::take(&mut program), depth_left, &mut parts.are_one);
                parts.list.push(std::mem::take(&mut part));
            }
        }
    }
    part.judge(program, depth_left, &mut parts.are_one);
    parts.list.push(part);
    parts
}

impl CommandPart {
    /// Decides whether one program of the part, with its arguments, can write.
    fn judge(&mut self, words: Vec<String>, depth_left: usize, are_one: &mut bool) {
        let mut words = words.into_iter().skip_while(|word| {
            let is_front = KEYWORDS.contains(&word.as_str()) || is_assignment(word);
            *are_one |= is_front;
            is_front || WRAPPERS.contains(&word.as_str())
        });
        let Some(program) = words.next() else { return };
        let program = program.rsplit('/').next().unwrap_or_default();
        let arguments: Vec<String> = words.collect();
        if SETTERS.contains(&program) {
            *are_one = true;
        } else if SHELLS.contains(&program) && depth_left > 0 {
            self.can_write |= match inner(&arguments) {
                Some(command) => !written_within(command, depth_left - 1).is_empty(),
                None => true,
            };
        } else {
            self.can_write |= !programs::leaves_files_alone(program, &arguments);
        }
    }
}

/// The command in `sh -c COMMAND`.
fn inner(arguments: &[String]) -> Option<&String> {
    let at =
        arguments.iter().position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))?;
    arguments.get(at + 1)
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(is_plain)
}

fn is_file(target: &str) -> bool {
    let is_open = target.strip_prefix('&').is_some_and(|rest| rest == "-" || rest.bytes().all(|c| c.is_ascii_digit()));
    !is_open && !NO_FILES.contains(&target) && !target.starts_with("/dev/fd/")
}
