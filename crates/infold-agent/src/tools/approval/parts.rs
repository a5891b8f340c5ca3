//! Reads a command line into the commands that it is made of, if that can be done with certainty.
//!
//! Only the plain part of a shell's language is read: words, quotes, and the signs between commands. Whatever could make
//! another command of it than the one that can be seen is unclear: expansions, substitutions, assignments, here-documents,
//! files that are written, keywords.

/// Programs that run the command that they are given.
const RUNNERS: [&str; 26] = [
    "sh", "bash", "zsh", "dash", "ksh", "fish", "sudo", "su", "doas", "env", "command", "exec", "eval", "builtin",
    "time", "timeout", "nice", "nohup", "setsid", "stdbuf", "xargs", "find", "watch", "parallel", "busybox", "ssh",
];
/// Words that a shell itself reads, where a command is expected.
const KEYWORDS: [&str; 18] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "select",
    "!", "{", "}", "[[",
];
/// Where output may go without writing a file.
const NO_FILES: [&str; 4] = ["/dev/null", "&1", "&2", "&-"];

/// A command line, read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReadCommand {
    /// The words of each command in it.
    Parts(Vec<Vec<String>>),
    /// It is not certain what it runs; the reason.
    Unclear(&'static str),
}

impl ReadCommand {
    /// Reads a command line.
    pub(super) fn of(command: &str) -> Self {
        let mut reader = LineReader { left: command, ..LineReader::default() };
        match reader.read() {
            Ok(()) if reader.parts.is_empty() => Self::Unclear("it holds no command"),
            Ok(()) => Self::Parts(reader.parts),
            Err(why) => Self::Unclear(why),
        }
    }
}

#[derive(Default)]
struct LineReader<'a> {
    left: &'a str,
    parts: Vec<Vec<String>>,
    words: Vec<String>,
    /// The word that is being read. It may be empty, if it is quoted; `None` is between words.
    word: Option<String>,
}

impl LineReader<'_> {
    fn read(&mut self) -> Result<(), &'static str> {
        while let Some(c) = self.next() {
            match c {
                '\'' => self.quoted_plainly()?,
                '"' => self.quoted()?,
                '\\' => self.escaped()?,
                ' ' | '\t' => self.end_word(),
                '\n' | ';' | '|' | '&' => self.sign(c)?,
                '>' => self.output()?,
                '<' => return Err("it reads its input from elsewhere"),
                '$' | '`' => return Err("the shell puts something into it"),
                '(' | ')' => return Err("it has commands in brackets"),
                '{' | '}' | '*' | '?' | '[' | ']' | '~' if self.is_first_word() => {
                    return Err("its program's name is a pattern");
                }
                '#' if self.word.is_none() => return Err("it has a comment"),
                '{' => return Err("the shell may make several words of one"),
                c if c.is_control() => return Err("it holds a control character"),
                c => self.push(c),
            }
        }
        self.end_part()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.left.chars().next()?;
        self.left = &self.left[c.len_utf8()..];
        Some(c)
    }

    fn takes(&mut self, text: &str) -> bool {
        let rest = self.left.strip_prefix(text);
        self.left = rest.unwrap_or(self.left);
        rest.is_some()
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn is_first_word(&self) -> bool {
        self.words.is_empty()
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    /// Ends a command at a sign between two.
    fn sign(&mut self, c: char) -> Result<(), &'static str> {
        let is_double = matches!(c, '|' | '&') && self.takes(if c == '|' { "|" } else { "&" });
        if c == '&' && !is_double {
            return Err("it runs something in the background");
        }
        if c == '|' && !is_double {
            self.takes("&");
        }
        self.end_part()
    }

    fn end_part(&mut self) -> Result<(), &'static str> {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        let Some(first) = words.first() else { return Ok(()) };
        if KEYWORDS.contains(&first.as_str()) {
            return Err("it is more than a list of commands");
        }
        if first.contains('=') {
            return Err("it sets a variable");
        }
        self.parts.push(words);
        Ok(())
    }

    fn quoted_plainly(&mut self) -> Result<(), &'static str> {
        let Some((inside, rest)) = self.left.split_once('\'') else { return Err("a quote is not closed") };
        self.word.get_or_insert_default().push_str(inside);
        self.left = rest;
        Ok(())
    }

    fn quoted(&mut self) -> Result<(), &'static str> {
        self.word.get_or_insert_default();
        loop {
            match self.next() {
                None => return Err("a quote is not closed"),
                Some('"') => return Ok(()),
                Some('$' | '`') => return Err("the shell puts something into it"),
                Some('\\') => match self.next() {
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.push(c),
                    Some('\n') => {}
                    Some(c) => {
                        self.push('\\');
                        self.push(c);
                    }
                    None => return Err("a quote is not closed"),
                },
                Some(c) => self.push(c),
            }
        }
    }

    fn escaped(&mut self) -> Result<(), &'static str> {
        match self.next() {
            Some('\n') => Ok(()),
            Some(c) => {
                self.push(c);
                Ok(())
            }
            None => Err("it ends in the middle"),
        }
    }

    /// Reads where output goes. It may go nowhere, or where other output goes.
    fn output(&mut self) -> Result<(), &'static str> {
        if self.word.as_deref().is_some_and(|word| ["1", "2"].contains(&word)) {
            self.word = None;
        }
        self.end_word();
        self.takes(">");
        self.left = self.left.trim_start_matches([' ', '\t']);
        let target = NO_FILES.iter().find(|target| {
            let rest = self.left.strip_prefix(**target);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '|', '&']))
        });
        let Some(target) = target else { return Err("it writes a file") };
        self.takes(target);
        Ok(())
    }
}

/// All words of a text, whatever is between them.
pub(super) fn loose_words(text: &str) -> Vec<String> {
    let is_between = |c: char| c.is_whitespace() || ";|&<>(){}`$'\"\\".contains(c);
    text.split(is_between).filter(|word| !word.is_empty()).map(bare).collect()
}

/// The same words with a program that is named by its bare name.
pub(super) fn by_bare_name(words: &[String]) -> Vec<String> {
    let bare_first = words.first().map(|word| bare(word));
    bare_first.into_iter().chain(words.iter().skip(1).cloned()).collect()
}

/// Whether a command runs another one that it is given.
pub(super) fn runs_others(words: &[String]) -> bool {
    words.first().is_some_and(|word| RUNNERS.contains(&bare(word).as_str()))
}

/// A program's name without its folder.
fn bare(word: &str) -> String {
    word.rsplit('/').next().unwrap_or_default().to_owned()
}
