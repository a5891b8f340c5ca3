//! What a run did, at its end: files, commands, tokens, dollars, and how it ended.

use std::collections::BTreeSet;

use infold_agent::CodingAgent;
use infold_agent::record::SessionRecord;
use infold_core::record::Usage;
use infold_core::{Principal, grouped};
use infold_engine::Engine;
use serde_json::{Value, json};

use super::RunEnd;
use crate::agent::records;
use crate::parts::command_error;

/// Files or commands that are named in text.
const NAMED_MAX: usize = 8;

/// What a run did.
#[derive(Debug)]
pub struct RunReport {
    session_id: String,
    end: RunEnd,
    answer: String,
    files: Vec<String>,
    commands: Vec<(String, Option<i32>)>,
    usage: Usage,
    turns: u64,
    cost_micros: Option<u64>,
}

impl RunReport {
    /// Looks at a session after a run.
    pub async fn of(agent: &CodingAgent, engine: &Engine, end: &RunEnd) -> anyhow::Result<Self> {
        let (who, session) = (Principal::local(), agent.session_id());
        let log = records(engine.agent_log(&who, session, 0).await.map_err(command_error)?)?;
        let (mut files, mut commands) = (BTreeSet::new(), Vec::new());
        for (_, record) in infold_agent::session::live(log) {
            let SessionRecord::Result { changes, command, .. } = record else { continue };
            files.extend(changes.into_iter().map(|change| change.path));
            commands.extend(command.map(|command| (command.command, command.exit)));
        }
        let (usage, turns) = agent.spent();
        let listed = engine.listed_session(&who, session).await.ok();
        let totals = listed.and_then(|(listed, _)| listed.totals);
        Ok(Self {
            session_id: session.to_string(),
            end: end.clone(),
            answer: agent.last_words(),
            files: files.into_iter().collect(),
            commands,
            usage,
            turns,
            cost_micros: totals.filter(|totals| totals.priced > 0).map(|totals| totals.cost_micros),
        })
    }

    /// The last event of a run.
    pub fn as_event(&self) -> Value {
        json!({
            "event": "finished",
            "session_id": self.session_id,
            "outcome": self.end.name(),
            "exit_code": self.end.exit_code(),
            "problem": self.end.problem(),
            "answer": self.answer,
            "files_changed": self.files,
            "commands": self.commands.iter().map(|(command, exit)| json!({ "command": command, "exit": exit }))
                .collect::<Vec<_>>(),
            "turns": self.turns,
            "input_tokens": self.usage.prompt_tokens(),
            "cached_tokens": self.usage.cache_read_tokens,
            "output_tokens": self.usage.output_tokens,
            "cost_usd": self.cost_micros.map(|micros| micros as f64 / 1_000_000.0),
        })
    }

    /// The same for people.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.files.is_empty() {
            lines.push(format!("changed {}", named(&self.files)));
        }
        if !self.commands.is_empty() {
            let failed = self.commands.iter().filter(|(_, exit)| *exit != Some(0)).count();
            let failed = if failed == 0 { String::new() } else { format!(", {failed} failed") };
            lines.push(format!("ran {} commands{failed}", self.commands.len()));
        }
        let (input, cached) = (self.usage.prompt_tokens(), self.usage.cache_read_tokens);
        let percent = (cached * 100).checked_div(input).unwrap_or(0);
        let cost =
            self.cost_micros.map(|micros| format!(", about ${:.4} for the session", micros as f64 / 1_000_000.0));
        lines.push(format!(
            "{} turns: {} input tokens ({percent} % cached), {} output tokens{}",
            self.turns,
            grouped(input),
            grouped(self.usage.output_tokens),
            cost.unwrap_or_default()
        ));
        if let Some(problem) = self.end.problem() {
            lines.push(format!("ended early: {problem}"));
        }
        lines.push(format!("go on: infold exec --resume {}", self.session_id));
        lines
    }
}

fn named(files: &[String]) -> String {
    let shown = files.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(NAMED_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
