//! What a branch has done so far, as its call shows it: a line for each call, its words, and what it changed.

use agent_client_protocol::v1::schema::ToolCallContent;

/// Lines of a branch's work that are shown; the oldest go first.
const LINES_MAX: usize = 200;
/// Changes of files that are shown.
const DIFFS_MAX: usize = 50;

/// The work of a branch and of those below it.
#[derive(Default)]
pub struct BranchWork {
    lines: Vec<String>,
    left_out: usize,
    /// Words that are not over yet.
    words: String,
    diffs: Vec<ToolCallContent>,
    diffs_left_out: usize,
}

impl BranchWork {
    /// Adds words as they come.
    pub fn say(&mut self, words: &str) {
        self.words.push_str(words);
    }

    /// Adds a line, behind the words so far.
    pub fn line(&mut self, line: String) {
        self.end_words();
        self.push(line);
    }

    /// Ends what is being said.
    pub fn end_words(&mut self) {
        let words = std::mem::take(&mut self.words);
        if !words.trim().is_empty() {
            self.push(words.trim().to_owned());
        }
    }

    fn push(&mut self, line: String) {
        self.lines.push(line);
        if self.lines.len() > LINES_MAX {
            self.lines.remove(0);
            self.left_out += 1;
        }
    }

    /// Adds changes of files.
    pub fn changed(&mut self, diffs: Vec<ToolCallContent>) {
        for diff in diffs {
            match self.diffs.len() < DIFFS_MAX {
                true => self.diffs.push(diff),
                false => self.diffs_left_out += 1,
            }
        }
    }

    /// What is shown of it.
    pub fn content(&self) -> Vec<ToolCallContent> {
        let mut lines = Vec::new();
        if self.left_out > 0 {
            lines.push(format!("({} lines before)", self.left_out));
        }
        lines.extend(self.lines.iter().cloned());
        if self.diffs_left_out > 0 {
            lines.push(format!("({} more changes)", self.diffs_left_out));
        }
        let text = (!lines.is_empty()).then(|| ToolCallContent::from(lines.join("\n\n")));
        text.into_iter().chain(self.diffs.iter().cloned()).collect()
    }
}
