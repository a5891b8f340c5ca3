//! Which lines of a recording its client loads when it goes on with the session, in the order in which they are linked:
//! what the session still has, from its latest compaction on, with what that kept.
//!
//! Only a few bytes are held for each line.

use std::collections::BTreeSet;

use infold_core::transcript::{Item, Kind};

use super::codex::{self, LineRole};
use crate::error::{Problem, WireError};
use crate::form::Format;
use crate::live::Outlines;
use crate::order::AnswerOrder;
use crate::reader::{Back, Entry, EntryKind, KeptBytes, Reader};

/// A line that is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResumedLine {
    /// Its number, counted from 1.
    pub number: u64,
    /// Its first byte.
    pub offset: u64,
    /// How many bytes it has, without the line feed.
    pub bytes: u64,
}

/// What a client loads of a recording.
#[derive(Debug, Default)]
pub struct ResumedSession {
    /// The lines, in order.
    pub lines: Vec<ResumedLine>,
    /// The session's id.
    pub id: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
    /// The first lines that could not be read.
    pub problems: Vec<Problem>,
    /// How many there are in all.
    pub problems_total: u64,
}

impl ResumedSession {
    /// Goes over a recording of Claude Code's or Codex's once, and says what is wrong with up to `problems_max` lines.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, or a line is too long: leaving it out would lose a part of the session without a word.
    pub fn read<R: std::io::Read>(mut reader: Reader<R>, problems_max: usize) -> Result<Self, WireError> {
        let mut survey = Survey::new(reader.format());
        while let Some(entry) = reader.next_entry()? {
            if entry.kind == EntryKind::Overlong {
                return Err(WireError::TooLong { entry: entry.number });
            }
            survey.take_in(&entry, problems_max);
        }
        let lines = survey.loaded().into_iter().map(|at| survey.lines[at].0).collect();
        Ok(Self { lines, ..survey.session })
    }
}

/// What is found out line by line.
struct Survey {
    format: Format,
    session: ResumedSession,
    offset: u64,
    lines: Vec<(ResumedLine, LineRole)>,
    outlines: Outlines,
    order: AnswerOrder,
    compactions: Vec<CompactionPoint>,
}

/// A compaction.
struct CompactionPoint {
    /// Where it stands among the lines.
    at: usize,
    /// What it keeps by the ids of entries.
    kept: KeptBytes,
    /// The lines whose words the client repeats in front of it.
    repeated: Vec<usize>,
    /// The lines before it that the model sees behind it.
    waited: Vec<usize>,
}

impl Survey {
    fn new(format: Format) -> Self {
        Self {
            format,
            session: ResumedSession::default(),
            offset: 0,
            lines: Vec::new(),
            outlines: Outlines::default(),
            order: AnswerOrder::default(),
            compactions: Vec::new(),
        }
    }

    fn take_in(&mut self, entry: &Entry, problems_max: usize) {
        let offset = self.offset;
        self.offset += entry.raw.len() as u64;
        if entry.kind == EntryKind::Between {
            return;
        }
        let raw = entry.raw.strip_suffix(b"\n").unwrap_or(&entry.raw);
        let text = match checked(raw) {
            Ok(text) => text,
            Err(reason) => {
                self.session.problems_total += 1;
                if self.session.problems.len() < problems_max {
                    self.session.problems.push(Problem { entry: entry.number, reason });
                }
                return;
            }
        };
        let role = self.role(entry, text);
        if entry.subtask.is_none() && (role != LineRole::None || entry.id.is_some() || entry.back != Back::Nowhere) {
            let line = ResumedLine { number: entry.number, offset, bytes: raw.len() as u64 };
            self.add(entry, text, line, role);
        }
    }

    fn role(&self, entry: &Entry, text: &str) -> LineRole {
        match self.format {
            Format::Codex => match LineRole::of(text) {
                LineRole::Session if self.session.id.is_some() => LineRole::None,
                role => role,
            },
            _ if entry.items.is_empty() => LineRole::None,
            _ => LineRole::Item,
        }
    }

    fn add(&mut self, entry: &Entry, text: &str, line: ResumedLine, role: LineRole) {
        self.session.model = entry.model.clone().or(self.session.model.take());
        self.session.id = match role {
            LineRole::Session => codex::session_id(text),
            _ if self.format == Format::ClaudeCode => entry.session.clone().or(self.session.id.take()),
            _ => self.session.id.take(),
        };
        let compaction = entry.items.iter().find_map(|item| match &item.kind {
            Kind::Compaction { kept, .. } => Some(kept),
            _ => None,
        });
        if let Some(repeated) = compaction {
            let places = |items: &mut dyn Iterator<Item = &Item>| -> Vec<usize> {
                let numbers = items.map(|item| item.place.entry).filter(|number| *number != entry.number);
                numbers
                    .filter_map(|number| self.lines.binary_search_by_key(&number, |(line, _)| line.number).ok())
                    .collect()
            };
            let mut repeated = places(&mut repeated.iter().filter(|_| !codex::lists_what_is_left(text)));
            repeated.dedup();
            let waited = places(&mut entry.items.iter().filter(|item| !matches!(item.kind, Kind::Compaction { .. })));
            waited.iter().for_each(|at| self.lines[*at].1 = LineRole::Item);
            self.compactions.push(CompactionPoint { at: self.lines.len(), kept: entry.kept.clone(), repeated, waited });
        }
        self.lines.push((line, role));
        self.outlines.push(entry);
        self.order.push(entry);
    }

    /// The places of the lines that are loaded.
    fn loaded(&self) -> Vec<usize> {
        let live = self.outlines.live(self.format);
        let order = match self.format {
            Format::ClaudeCode => self.order.linked(&self.outlines.leads(), |at| live[at]),
            _ => (0..live.len()).filter(|at| live[*at]).collect(),
        };
        let latest = self.compactions.iter().rev().find(|compaction| live[compaction.at]);
        let mut loaded = latest.map_or_else(|| order.clone(), |latest| self.since(latest, &order));
        loaded.retain(|at| self.lines[*at].1 != LineRole::None);
        let is_there = |loaded: &[usize], role| loaded.iter().any(|at| self.lines[*at].1 == role);
        // Which session it is, and the settings that were in force last, are loaded however far back they stand.
        for role in [LineRole::Settings, LineRole::Session] {
            if !is_there(&loaded, role) {
                let behind = usize::from(loaded.first().is_some_and(|first| self.lines[*first].1 == LineRole::Session));
                loaded.splice(behind..behind, self.lines.iter().rposition(|(_, own)| *own == role));
            }
        }
        loaded
    }

    /// A compaction with what it kept, and what came after it.
    fn since(&self, compaction: &CompactionPoint, order: &[usize]) -> Vec<usize> {
        let start = order.iter().position(|at| *at == compaction.at).unwrap_or(0);
        let after = &order[start + 1..];
        let kept: BTreeSet<usize> = match &compaction.kept {
            KeptBytes::Nothing => BTreeSet::new(),
            KeptBytes::From(id) => self.outlines.place_of(id).map_or(0..0, |from| from..compaction.at).collect(),
            KeptBytes::These(ids) => ids.iter().filter_map(|id| self.outlines.place_of(id)).collect(),
        };
        let kept = kept.range(..compaction.at);
        let (repeated, waited) = (&compaction.repeated, &compaction.waited);
        repeated.iter().chain([&compaction.at]).chain(kept).chain(waited).chain(after).copied().collect()
    }
}

/// The line as text, if it is whole JSON.
fn checked(line: &[u8]) -> Result<&str, String> {
    let text = str::from_utf8(line).map_err(|_| "not UTF-8".to_owned())?;
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Ok(text),
        Err(error) if error.is_eof() => Err("cut off in the middle".to_owned()),
        Err(error) => Err(format!("not JSON ({error})")),
    }
}

#[cfg(test)]
mod tests;
