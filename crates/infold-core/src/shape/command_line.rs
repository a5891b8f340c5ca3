//! Splits command lines into pipelines, commands and words, nearly as a shell does.

/// The pipelines of a command line, each with its commands, each with its words without their quotes. All that follows
/// a here-document's `<<` is left out: most of it is no command.
pub(super) fn pipelines(command: &str) -> Vec<Vec<Vec<String>>> {
    let mut line = CommandLine { pipelines: vec![vec![Vec::new()]], word: None, goes_to: false };
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match (c, next) {
            ('\'', _) => line.word().extend(chars.by_ref().take_while(|c| *c != '\'')),
            ('"', _) => line.quoted(&mut chars),
            ('\\', Some('\n')) => drop(chars.next()),
            ('\\', Some(next)) => {
                line.word().push(next);
                chars.next();
            }
            ('<', Some('<')) => break,
            // A redirection of output, as in `2>&1`.
            ('>', _) => {
                line.word().push('>');
                line.word().extend(chars.next_if(|c| matches!(c, '&' | '>')));
            }
            ('&', Some('>')) => {}
            ('|', Some('|')) | ('&', Some('&')) => {
                chars.next();
                line.end_pipeline();
            }
            ('|', _) => line.end_command(),
            (';' | '\n' | '&', _) => line.end_pipeline(),
            (c, _) if c.is_whitespace() => line.end_word(),
            (c, _) => line.word().push(c),
        }
    }
    line.end_word();
    line.pipelines
}

/// The parts of a command line that were read so far.
struct CommandLine {
    pipelines: Vec<Vec<Vec<String>>>,
    word: Option<String>,
    /// Whether the next word is the target of a redirection.
    goes_to: bool,
}

impl CommandLine {
    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn quoted(&mut self, chars: &mut impl Iterator<Item = char>) {
        let word = self.word.get_or_insert_default();
        while let Some(c) = chars.next() {
            match c {
                '"' => return,
                '\\' => word.extend(chars.next()),
                c => word.push(c),
            }
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        // Redirecting errors changes nothing about which file is printed.
        let is_left_out = std::mem::replace(&mut self.goes_to, word.ends_with('>')) || word.starts_with("2>");
        let command = self.pipelines.last_mut().and_then(|pipeline| pipeline.last_mut());
        if let Some(command) = command.filter(|_| !is_left_out) {
            command.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        if let Some(pipeline) = self.pipelines.last_mut() {
            pipeline.push(Vec::new());
        }
    }

    fn end_pipeline(&mut self) {
        self.end_word();
        self.pipelines.push(vec![Vec::new()]);
    }
}
