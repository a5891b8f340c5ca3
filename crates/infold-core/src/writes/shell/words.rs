//! Splits a shell's command into words, redirections, here-documents and the signs between commands.

use std::collections::VecDeque;

/// One token of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ShellToken {
    /// A word, without its quotes.
    Word(String),
    /// Text that a program gets as its input: a here-document or a here-string.
    Given(String),
    /// The target of a redirection of output; it begins with `&` if that is an open file.
    Into(String),
    /// A command inside another: `$(…)`, backquotes, `<(…)`.
    Inside,
    /// A round bracket around commands.
    Group,
    /// A sign between two programs of one pipeline.
    Pipe,
    /// A sign or line end between two pipelines.
    End,
}

/// The tokens of a command, in order.
pub(super) fn tokens(command: &str) -> Vec<ShellToken> {
    let mut reader = WordReader { left: command.chars().collect(), ..WordReader::default() };
    while reader.step() {}
    reader.end_word();
    reader.tokens
}

#[derive(Default)]
struct WordReader {
    left: VecDeque<char>,
    tokens: Vec<ShellToken>,
    /// The word that is being read. It may be empty, if it is quoted; `None` is between words.
    word: Option<String>,
    /// The end marks of here-documents whose texts begin after this line.
    documents: VecDeque<String>,
}

impl WordReader {
    /// Reads the next character and what belongs to it; false at the end.
    fn step(&mut self) -> bool {
        let Some(c) = self.left.pop_front() else { return false };
        match c {
            '\'' => self.quoted_plainly(),
            '"' => self.quoted(),
            '\\' => match self.left.pop_front() {
                Some('\n') | None => {}
                Some(escaped) => self.push(escaped),
            },
            '#' if self.word.is_none() => {
                while self.left.front().is_some_and(|c| *c != '\n') {
                    self.left.pop_front();
                }
            }
            '\n' => self.line_end(),
            c if c.is_whitespace() => self.end_word(),
            '`' => self.token(ShellToken::Inside),
            '$' if self.left.front() == Some(&'(') => self.token(ShellToken::Inside),
            '(' | ')' => self.token(ShellToken::Group),
            '>' => self.output(),
            '<' => self.input(),
            ';' => self.token(ShellToken::End),
            '|' if self.takes('|') => self.token(ShellToken::End),
            '|' => {
                self.takes('&');
                self.token(ShellToken::Pipe);
            }
            '&' if self.takes('>') => self.output(),
            '&' => {
                self.takes('&');
                self.token(ShellToken::End);
            }
            c => self.push(c),
        }
        true
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn takes(&mut self, wanted: char) -> bool {
        let is_next = self.left.front() == Some(&wanted);
        if is_next {
            self.left.pop_front();
        }
        is_next
    }

    fn end_word(&mut self) {
        self.tokens.extend(self.word.take().map(ShellToken::Word));
    }

    fn token(&mut self, token: ShellToken) {
        self.end_word();
        self.tokens.push(token);
    }

    fn quoted_plainly(&mut self) {
        self.word.get_or_insert_default();
        while let Some(c) = self.left.pop_front().filter(|c| *c != '\'') {
            self.push(c);
        }
    }

    fn quoted(&mut self) {
        self.word.get_or_insert_default();
        while let Some(c) = self.left.pop_front().filter(|c| *c != '"') {
            match c {
                '\\' => self.left.pop_front().into_iter().for_each(|escaped| self.push(escaped)),
                '`' => self.tokens.push(ShellToken::Inside),
                '$' if self.left.front() == Some(&'(') => self.tokens.push(ShellToken::Inside),
                c => self.push(c),
            }
        }
    }

    /// Reads what follows a `>`: where output goes.
    fn output(&mut self) {
        if self.word.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        if self.left.front() == Some(&'(') {
            self.tokens.push(ShellToken::Inside);
            return;
        }
        let _ = self.takes('>') || self.takes('|');
        let sign = if self.takes('&') { "&" } else { "" };
        let target = self.next_word();
        self.tokens.push(ShellToken::Into(format!("{sign}{target}")));
    }

    /// Reads what follows a `<`: where input comes from.
    fn input(&mut self) {
        self.end_word();
        if self.left.front() == Some(&'(') {
            self.tokens.push(ShellToken::Inside);
        } else if !self.takes('<') {
            self.next_word();
        } else if self.takes('<') {
            let text = self.next_word();
            self.tokens.push(ShellToken::Given(text));
        } else {
            self.takes('-');
            let end = self.next_word();
            self.documents.push_back(end);
        }
    }

    /// Reads the word that belongs to a redirection, quoted or not.
    fn next_word(&mut self) -> String {
        while self.left.front().is_some_and(|c| matches!(c, ' ' | '\t')) {
            self.left.pop_front();
        }
        let is_end = |c: &char| c.is_whitespace() || ";|&<>()".contains(*c);
        while let Some(c) = self.left.front().copied().filter(|c| !is_end(c)) {
            self.left.pop_front();
            match c {
                '\'' => self.quoted_plainly(),
                '"' => self.quoted(),
                '\\' => self.left.pop_front().into_iter().for_each(|escaped| self.push(escaped)),
                c => self.push(c),
            }
        }
        self.word.take().unwrap_or_default()
    }

    /// Ends a line, and reads the here-documents that follow it.
    fn line_end(&mut self) {
        self.end_word();
        while let Some(end) = self.documents.pop_front() {
            let mut text = String::new();
            while let Some(line) = self.line().filter(|line| line.trim_matches('\t') != end) {
                text.push_str(&line);
                text.push('\n');
            }
            self.tokens.push(ShellToken::Given(text));
        }
        self.tokens.push(ShellToken::End);
    }

    fn line(&mut self) -> Option<String> {
        if self.left.is_empty() {
            return None;
        }
        let mut line = String::new();
        while let Some(c) = self.left.pop_front().filter(|c| *c != '\n') {
            line.push(c);
        }
        Some(line)
    }
}
