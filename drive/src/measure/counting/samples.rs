//! What is counted: pieces of recorded sessions, each with the provider's own count of it.
//!
//! A piece is what came into a prompt between one request and the next: the model's words and calls, and the results.
//! What a person said in between is left out with its piece, because clients change what they send then.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result};
use infold_core::{Family, TextSize};
use serde::Deserialize;

const PIECES: &str = "tokens/token_calibration.jsonl.gz";
const SESSIONS: &str = "sessions/normalized.jsonl.gz";

/// How a text is in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    Result,
    Message,
    Call,
}

/// A text of a piece.
#[derive(Debug, Clone)]
pub(super) struct SampleText {
    pub kind: TextKind,
    pub text: String,
}

impl SampleText {
    pub fn size(&self) -> TextSize {
        match self.kind {
            TextKind::Result => TextSize::of(&self.text),
            TextKind::Message => TextSize::of(&self.text).as_message(),
            TextKind::Call => TextSize::of_call(&self.text),
        }
    }
}

/// A piece of a session, with what its provider counted.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub source: String,
    /// The session, where it is known.
    pub session: Option<String>,
    pub model: String,
    pub texts: Vec<SampleText>,
    pub theirs_tokens: f64,
    /// Tokens of the whole prompt before and after the piece, where they are known.
    pub prompts: Option<(u64, u64)>,
}

impl Sample {
    pub fn family(&self) -> Family {
        Family::of_model(&self.model)
    }

    pub fn size(&self) -> TextSize {
        self.texts.iter().map(SampleText::size).sum()
    }
}

#[derive(Debug, Deserialize)]
struct PieceLine {
    model: String,
    delta: f64,
    segs: Vec<(String, String, String)>,
    src: String,
}

/// The pieces of Claude's sessions.
pub(super) fn of_claude(data: &Path) -> Result<Option<Vec<Sample>>> {
    let path = data.join(PIECES);
    let Ok(_) = File::open(&path) else { return Ok(None) };
    let read = |line: std::io::Result<String>| {
        let line: PieceLine = serde_json::from_str(&line?).context("a piece is not as expected")?;
        let texts = line.segs.into_iter().map(|(kind, _, text)| SampleText { kind: kind_of(&kind), text });
        let (source, theirs_tokens) = (line.src, line.delta);
        Ok(Sample { source, session: None, model: line.model, texts: texts.collect(), theirs_tokens, prompts: None })
    };
    BufReader::new(infold_wire::open(&path)?).lines().map(read).collect::<Result<_>>().map(Some)
}

fn kind_of(kind: &str) -> TextKind {
    match kind {
        "call" => TextKind::Call,
        "asst" => TextKind::Message,
        _ => TextKind::Result,
    }
}

#[derive(Debug, Deserialize)]
struct SessionLine {
    source: String,
    session: String,
    agent: String,
    events: Vec<EventLine>,
    calls: Vec<CallLine>,
    compactions: Vec<CompactionLine>,
}

#[derive(Debug, Deserialize)]
struct EventLine {
    k: String,
    #[serde(default)]
    t: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CallLine {
    ev: usize,
    prompt: u64,
    model: String,
    /// Tokens of sealed reasoning in the answer, which the next prompt has too.
    #[serde(default)]
    reason: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct CompactionLine {
    ev: usize,
}

/// The pieces of each recorded session, in order.
pub(super) fn of_sessions(data: &Path) -> Result<Vec<Vec<Sample>>> {
    let lines = BufReader::new(infold_wire::open(&data.join(SESSIONS))?).lines();
    let read = |line: std::io::Result<String>| {
        let session: SessionLine = serde_json::from_str(&line?).context("a session is not as expected")?;
        Ok(session.samples())
    };
    lines.map(read).collect()
}

impl SessionLine {
    fn samples(&self) -> Vec<Sample> {
        // Codex reports usage behind what a request led to, Claude Code in front of it.
        let behind = usize::from(self.agent == "codex");
        let steps = self.calls.windows(2 + behind);
        steps.filter_map(|calls| self.sample(&calls[0], &calls[behind], &calls[behind + 1])).collect()
    }

    /// What came between two requests: the events from `first` on that the second request is the first to have.
    fn sample(&self, first: &CallLine, before: &CallLine, after: &CallLine) -> Option<Sample> {
        let to = if self.agent == "codex" { before.ev } else { after.ev };
        let events = self.events.get(first.ev..to)?;
        let is_plain = after.prompt > before.prompt
            && before.model == after.model
            && !self.compactions.iter().any(|compaction| (first.ev..=after.ev).contains(&compaction.ev))
            && events.iter().any(|event| event.k == "call")
            && !events.iter().any(|event| event.k == "user");
        if !is_plain {
            return None;
        }
        let shown = events.iter().filter(|event| event.k != "think");
        let text =
            |event: &EventLine| SampleText { kind: kind_of(&event.k), text: event.t.clone().unwrap_or_default() };
        let grown = after.prompt - before.prompt;
        let theirs_tokens = grown.checked_sub(before.reason.unwrap_or_default()).filter(|tokens| *tokens > 0)?;
        Some(Sample {
            source: self.source.clone(),
            session: Some(self.session.clone()),
            model: after.model.clone(),
            texts: shown.map(text).collect(),
            theirs_tokens: theirs_tokens as f64,
            prompts: Some((before.prompt, after.prompt)),
        })
    }
}
