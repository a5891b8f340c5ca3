//! Finds the lines of a recording that its client loads when it resumes the session, in the order of their links: the
//! latest compaction with what it kept, and what is still part of the session after it.
//!
//! Only a few bytes are held for each line. Which lines were given up is decided in `live`, and their order in `order`.

use std::collections::BTreeSet;

use infold_core::transcript::{Item, Kind};

use super::codex::{self, LineRole};
use crate::error::{Problem, WireError};
use crate::form::Format;
use crate::live::Outlines;
use crate::order::AnswerOrder;
use crate::reader::{Entry, EntryKind, KeptEntries, Reader, Undo};

/// The place of a line that the client loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResumedLine {
    /// The number of the line, counted from 1.
    pub number: u64,
    /// The offset of its first byte in the (unpacked) recording.
    pub offset: u64,
    /// How many bytes it has, without the line feed.
    pub bytes: u64,
}

/// What a client loads of a recording when it resumes the session.
#[derive(Debug, Default)]
pub struct ResumedSession {
    /// The lines to load, in the order in which the client links them.
    pub lines: Vec<ResumedLine>,
    /// The id of the session; `None` if no line names it.
    pub id: Option<String>,
    /// The name of the model that was used last; `None` if no line names one.
    pub model: Option<String>,
    /// The first lines that could not be read, at most as many as the caller asked for.
    pub problems: Vec<Problem>,
    /// How many lines could not be read in all.
    pub problems_total: u64,
}

impl ResumedSession {
    /// Reads a recording of Claude Code or Codex once, and reports what is wrong with up to `problems_max` lines.
    ///
    /// # Errors
    ///
    /// Fails if the recording cannot be read, or if a line is too long: without it, a part of the session would be lost
    /// unnoticed.
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

/// What is known of the recording so far. Lines are named by their index in `lines`.
struct Survey {
    format: Format,
    session: ResumedSession,
    offset: u64,
    lines: Vec<(ResumedLine, LineRole)>,
    outlines: Outlines,
    order: AnswerOrder,
    compactions: Vec<CompactionPoint>,
}

/// A compaction, with the lines before it that are loaded nevertheless.
struct CompactionPoint {
    /// The line of the compaction.
    at: usize,
    /// The entries that it keeps, by their ids.
    kept: KeptEntries,
    /// The lines whose words the client repeats before it.
    repeated: Vec<usize>,
    /// The lines before it that the model sees after it.
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
        if entry.subtask.is_none() && (role != LineRole::None || entry.id.is_some() || entry.undoes != Undo::Nothing) {
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

    /// The lines that the client loads, in order.
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
        // The line that names the session and the latest settings are loaded however far back they are.
        for role in [LineRole::Settings, LineRole::Session] {
            if !is_there(&loaded, role) {
                let behind = usize::from(loaded.first().is_some_and(|first| self.lines[*first].1 == LineRole::Session));
                loaded.splice(behind..behind, self.lines.iter().rposition(|(_, own)| *own == role));
            }
        }
        loaded
    }

    /// The lines to load from a compaction on: what it repeats and keeps, and what comes after it in `order`.
    fn since(&self, compaction: &CompactionPoint, order: &[usize]) -> Vec<usize> {
        let start = order.iter().position(|at| *at == compaction.at).unwrap_or(0);
        let after = &order[start + 1..];
        let kept: BTreeSet<usize> = match &compaction.kept {
            KeptEntries::Nothing => BTreeSet::new(),
            KeptEntries::From(id) => self.outlines.place_of(id).map_or(0..0, |from| from..compaction.at).collect(),
            KeptEntries::These(ids) => ids.iter().filter_map(|id| self.outlines.place_of(id)).collect(),
        };
        let kept = kept.range(..compaction.at);
        let (repeated, waited) = (&compaction.repeated, &compaction.waited);
        repeated.iter().chain([&compaction.at]).chain(kept).chain(waited).chain(after).copied().collect()
    }
}

/// The line as text if it is complete JSON, else what is wrong with it.
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
