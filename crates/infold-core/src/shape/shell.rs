//! Finds out which file a shell command prints, if it prints one.
//!
//! This reads command lines only as far as people and agents commonly write them: quotes, pipes, lists, a shell within
//! the shell. A command that it does not understand counts as one whose output is no file.

use std::sync::LazyLock;

use regex::Regex;

use super::command_line::pipelines;

/// How much of a command is read, and how deep shells within shells are followed.
const COMMAND_BYTES_MAX: usize = 8 << 10;
const DEPTH_MAX: usize = 4;
/// How many commands of a script are examined.
const COMMANDS_MAX: usize = 32;

const SHELLS: [&str; 6] = ["bash", "sh", "zsh", "dash", "ksh", "pwsh"];
/// Words that come before a command and change nothing about what it prints.
const BEFORE: [&str; 11] = ["sudo", "env", "command", "time", "nice", "do", "then", "else", "{", "(", "!"];
/// Commands that print the files they are given.
const PRINTERS: [&str; 9] = ["cat", "nl", "bat", "batcat", "tac", "less", "more", "type", "get-content"];
/// Commands that print a part of the files they are given.
const PART_PRINTERS: [&str; 2] = ["head", "tail"];
/// Commands that print what is piped into them, or a part of it.
const PASS_ON: [&str; 12] = ["cat", "nl", "head", "tail", "sed", "awk", "less", "more", "tr", "cut", "fold", "expand"];
/// Options whose value is the next word if that is a number, and options whose value is always the next word.
const WITH_NUMBER: [&str; 5] = ["-n", "-c", "-w", "--lines", "--bytes"];
const WITH_WORD: [&str; 2] = ["-e", "-f"];

/// A command in a script: a key `cmd` or `command`, and the string after it.
static COMMAND_IN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\b(?:cmd|command)["']?\s*:\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)"#).ok());

/// The file that a command line prints, in the folder `folder`. `Some(None)` if it prints several, or if its name holds
/// a pattern or a variable; `None` if it prints no file.
pub(super) fn printed_by(command: &str, folder: &str) -> Option<Option<String>> {
    let mut printed = Printed { folder: folder.to_owned(), ..Printed::default() };
    printed.read(command, 0);
    printed.file()
}

/// The file that a command prints which is given word by word, as [`printed_by`] gives it.
pub(super) fn printed_by_words(words: Vec<String>, folder: &str) -> Option<Option<String>> {
    let mut printed = Printed { folder: folder.to_owned(), ..Printed::default() };
    printed.pipeline(vec![words], 0);
    printed.file()
}

/// The command lines that are written as string literals in a script.
pub(super) fn commands_in(script: &str) -> Vec<String> {
    let Some(pattern) = COMMAND_IN.as_ref() else { return Vec::new() };
    let script = &script[..script.floor_char_boundary(COMMAND_BYTES_MAX)];
    let text = |quoted: &str| match serde_json::from_str::<String>(quoted) {
        Ok(text) => text,
        Err(_) => quoted[1..quoted.len() - 1].replace("\\n", "\n"),
    };
    let found = pattern.captures_iter(script).filter_map(|found| found.get(1));
    found.take(COMMANDS_MAX).map(|quoted| text(quoted.as_str())).collect()
}

/// The files that a command line prints, as far as it was read.
#[derive(Default)]
struct Printed {
    folder: String,
    files: Vec<String>,
    /// Whether the command line also prints anything that is no file.
    others: bool,
}

impl Printed {
    fn file(mut self) -> Option<Option<String>> {
        let is_one = self.files.len() == 1 && !self.others;
        let first = self.files.pop()?;
        let is_plain = !first.contains(['*', '?', '$', '{', '`']);
        Some((is_one && is_plain).then_some(first))
    }

    fn read(&mut self, command: &str, depth: usize) {
        let command = &command[..command.floor_char_boundary(COMMAND_BYTES_MAX)];
        for pipeline in pipelines(command) {
            self.pipeline(pipeline, depth);
        }
    }

    fn pipeline(&mut self, pipeline: Vec<Vec<String>>, depth: usize) {
        let mut commands = pipeline.into_iter().map(without_before);
        let Some(words) = commands.next().filter(|words| !words.is_empty()) else { return };
        let name = name_of(&words[0]);
        if let Some(inner) = inner_command(&name, &words)
            && depth < DEPTH_MAX
        {
            return self.read(inner, depth + 1);
        }
        if name == "cd" {
            self.folder = words.get(1).map_or_else(String::new, |folder| self.placed(folder));
            return;
        }
        let files = files_of(&name, &words[1..]);
        if files.is_empty() || !commands.all(|words| words.first().is_some_and(|word| passes_on(word))) {
            self.others = true;
            return;
        }
        let placed: Vec<String> = files.iter().map(|file| self.placed(file)).collect();
        self.files.extend(placed);
    }

    /// A file's name with the folder that it is in, as far as that is known.
    fn placed(&self, name: &str) -> String {
        let name = name.strip_prefix("./").unwrap_or(name);
        if self.folder.is_empty() || name.starts_with(['/', '~']) || name.contains(':') {
            return name.to_owned();
        }
        format!("{}/{name}", self.folder.trim_end_matches('/'))
    }
}

fn passes_on(word: &str) -> bool {
    PASS_ON.contains(&name_of(word).as_str())
}

/// The command that a shell is given to run, after `-c`.
fn inner_command<'a>(name: &str, words: &'a [String]) -> Option<&'a str> {
    let is_c = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.to_lowercase().contains('c');
    let at = words.iter().position(is_c).filter(|_| SHELLS.contains(&name))?;
    words.get(at + 1).map(String::as_str)
}

/// The files that a command of this name prints with these arguments.
fn files_of(name: &str, words: &[String]) -> Vec<String> {
    let mut operands = operands(words);
    let has = |option: &str| words.iter().any(|word| word.starts_with(option));
    match name {
        _ if words.iter().any(|word| word.starts_with(['>', '&']) || word.starts_with("1>")) => Vec::new(),
        "sed" if !has("-i") && !has("--in-place") => {
            // The first operand is sed's script, unless an option gives that.
            if !has("-e") && !has("-f") && !operands.is_empty() {
                operands.remove(0);
            }
            operands
        }
        "awk" if operands.len() > 1 && operands[0].contains("NR") => operands.split_off(1),
        "git" if operands.first().is_some_and(|word| word == "show") => {
            operands.into_iter().skip(1).filter(|word| word.contains(':')).collect()
        }
        name if PRINTERS.contains(&name) || PART_PRINTERS.contains(&name) => operands,
        _ => Vec::new(),
    }
}

/// The words that are neither options nor values of options.
fn operands(words: &[String]) -> Vec<String> {
    let mut operands = Vec::new();
    let mut option = "";
    for word in words {
        let is_number = word.trim_start_matches(['+', '-']).bytes().all(|byte| byte.is_ascii_digit());
        let is_value = WITH_WORD.contains(&option) || (WITH_NUMBER.contains(&option) && is_number);
        option = "";
        if is_value || word == "-" || word.starts_with(['<', '>']) {
            continue;
        }
        if word.starts_with('-') {
            option = word;
        } else {
            operands.push(word.clone());
        }
    }
    operands
}

/// A command without what comes before it: settings of variables, `sudo`, `timeout 5` and the like.
fn without_before(words: Vec<String>) -> Vec<String> {
    let is_setting = |word: &str| word.split_once('=').is_some_and(|(name, _)| is_name(name));
    let mut words: std::collections::VecDeque<String> = words.into();
    while let Some(word) = words.front() {
        if word == "timeout" {
            words.drain(..words.len().min(2));
        } else if BEFORE.contains(&word.as_str()) || is_setting(word) {
            words.pop_front();
        } else {
            break;
        }
    }
    words.into()
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A command's own name, without the folder that it is in.
fn name_of(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").unwrap_or(name).to_ascii_lowercase()
}
