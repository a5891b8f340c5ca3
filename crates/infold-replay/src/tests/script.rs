//! Sessions written as text, one item on each line, so that a test shows what it is about.
//!
//! `user`, `says`, `thinks` (signed), `muses` (not signed), `call ID TOOL INPUT`, `result ID TEXT`,
//! `summary`, `cleared ID`. There is a request before each run of the model's lines. `the*40` is
//! forty times the word "the", which is forty tokens in the vocabulary.

use infold_core::record::Usage;
use infold_core::transcript::{
    CallOutcome, Client, HeldContent, Item, ItemPosition, Kind, ModelCall, Transcript, Voice,
};

/// The prompt tokens that every request is recorded with; only that they are not zero matters.
pub(crate) const PROMPT_TOKENS: u64 = 1;

/// Reads a session with this model from text.
pub(crate) fn session(model: &str, text: &str) -> Transcript {
    let items: Vec<Item> = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(item).collect();
    let mut calls = Vec::new();
    let mut in_answer = false;
    for (at, item) in items.iter().enumerate() {
        let written = matches!(item.kind, Kind::Assistant { .. } | Kind::Reasoning { .. } | Kind::Call { .. });
        if written && !in_answer {
            calls.push(ModelCall { first_item: at, model: model.to_owned(), usage: USAGE });
        }
        in_answer = written;
    }
    Transcript { client: Client::ClaudeCode, session: None, items, calls, subtasks: Vec::new() }
}

const USAGE: Usage =
    Usage { fresh_tokens: PROMPT_TOKENS, cache_read_tokens: 0, cache_write_tokens: 0, output_tokens: 100 };

pub(crate) fn item(line: &str) -> Item {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let kind = match word {
        "user" => Kind::User { text: words(rest), voice: Voice::Person },
        "says" => Kind::Assistant { text: words(rest) },
        "thinks" => Kind::Reasoning { text: words(rest), sealed_bytes: 64 },
        "muses" => Kind::Reasoning { text: words(rest), sealed_bytes: 0 },
        "call" => {
            let (id, rest) = rest.split_once(' ').unwrap();
            let (tool, input) = rest.split_once(' ').unwrap();
            Kind::Call { id: id.to_owned(), tool: tool.to_owned(), input: repeated(input) }
        }
        "result" => {
            let (id, text) = rest.split_once(' ').unwrap();
            Kind::Result {
                id: id.to_owned(),
                tool: String::new(),
                text: words(text),
                outcome: CallOutcome::Unsaid,
                held: HeldContent::Whole,
            }
        }
        "summary" => Kind::Compaction { summary: Some(words(rest)), kept: Vec::new() },
        "cleared" => Kind::Clearing { calls: vec![rest.to_owned()] },
        other => panic!("no item is called {other}"),
    };
    Item { place: ItemPosition::default(), message: 0, kind }
}

/// The text with its line ends and repetitions expanded.
fn words(text: &str) -> String {
    repeated(&text.replace("\\n", "\n"))
}

/// Expands `the*3` to "the the the" and leaves everything else.
fn repeated(text: &str) -> String {
    let mut parts = text.split("the*");
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        out += &vec!["the"; part[..digits].parse().unwrap()].join(" ");
        out += &part[digits..];
    }
    out
}
