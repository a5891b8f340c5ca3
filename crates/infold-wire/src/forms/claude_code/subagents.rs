//! Parses the lines of subagents, which work for the session in threads of their own.

use infold_core::transcript::Voice;

use super::fields::{ClaudeLine, Progress};
use super::{ClaudeCode, group};
use crate::content::{Speaker, kinds};
use crate::forms::Unit;
use crate::loose::Maybe;
use crate::numbers::items;
use crate::reader::Entry;

/// How many lines of unnamed subagents are remembered to find the thread of the lines that follow them.
const SIDECHAIN_LINES_MAX: usize = 100_000;
impl ClaudeCode {
    /// The name of the subtask that a subagent's line belongs to: the agent's id, or the first line of its thread.
    pub(super) fn sidechain(&mut self, line: &ClaudeLine<'_>) -> String {
        if let Some(agent) = line.agent_id.given() {
            return agent;
        }
        let own = line.uuid.as_str().to_owned();
        let root = self.sidechain_roots.get(line.parent_uuid.as_str()).cloned().unwrap_or_else(|| own.clone());
        if self.sidechain_roots.len() >= SIDECHAIN_LINES_MAX {
            self.sidechain_roots.clear();
        }
        self.sidechain_roots.insert(own, root.clone());
        root
    }

    /// Parses a line about work in progress. Only messages of subagents in it are new; the rest is recorded again
    /// later.
    pub(super) fn progress(&mut self, line: ClaudeLine<'_>, unit: &Unit<'_>, entry: &mut Entry) {
        let Maybe(Some(Progress { kind, message: Maybe(Some(step)) })) = line.data else { return };
        let Maybe(Some(message)) = step.message else { return };
        if kind.as_str() != "agent_progress" {
            return;
        }
        let speaker = match step.kind.as_str() {
            "assistant" => Speaker::Model,
            _ => Speaker::User(Voice::Person),
        };
        entry.subtask = Some(line.parent_tool_use_id.0.into_owned());
        entry.group = group(speaker, &message);
        let kinds = kinds(message.content, speaker, unit.text, "/data/message/message/content");
        if !kinds.is_empty() {
            let number = self.number(entry);
            entry.items = items(unit.number, number, kinds, &mut self.tools);
        }
    }
}
