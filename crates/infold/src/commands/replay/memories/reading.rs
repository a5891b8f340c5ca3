//! Reads recordings for the work in them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use infold_core::strip_controls;
use infold_core::transcript::{Kind, Transcript};
use infold_replay::RecordedWork;
use infold_wire::{Format, RecordedAt};

use super::{MemoryReplay, WorkPlan, play};
use crate::cli::Globals;
use crate::commands::replay::key;
use crate::failure::Refused;
use crate::settings::Settings;
use crate::sources;

/// Recordings that are read one after another.
pub struct WorkReader<'a> {
    settings: &'a Settings,
    format: Option<Format>,
    plan: WorkPlan,
    /// Keys of sessions that were read: a folder may hold a session twice.
    seen: HashSet<String>,
    /// What subagents recorded of their own work, to be joined with the work that they were given.
    agents: Vec<(String, Transcript, RecordedAt)>,
    skipped: Vec<String>,
}

impl<'a> WorkReader<'a> {
    /// Nothing was read yet.
    pub fn new(settings: &'a Settings, format: Option<Format>) -> Self {
        let (plan, seen, agents, skipped) = (WorkPlan::default(), HashSet::new(), Vec::new(), Vec::new());
        Self { settings, format, plan, seen, agents, skipped }
    }

    /// Reads the sessions of a file.
    pub fn file(&mut self, path: &Path, globals: &Globals) -> anyhow::Result<()> {
        let shown = path.display().to_string();
        let broken = |error| sources::named(&shown, error);
        let limits = sources::limits(self.settings);
        let open = || infold_wire::open(path).map_err(broken);
        let recorded = RecordedAt::read(open()?, self.format, limits).map_err(broken)?;
        let mut sessions = infold_wire::read_sessions(open()?, self.format, limits).map_err(broken)?;
        while let Some(transcript) = sessions.next().transpose().map_err(broken)? {
            self.session(path, transcript, &recorded);
        }
        sources::tell_of_problems(&shown, sessions.problems(), sessions.problems_total(), globals);
        Ok(())
    }

    fn session(&mut self, path: &Path, transcript: Transcript, recorded: &RecordedAt) {
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = strip_controls(transcript.session.as_deref().unwrap_or(&file));
        if file.starts_with("agent-") {
            self.agents.push((name, transcript, recorded.clone()));
        } else if self.seen.insert(key(&name).to_owned()) {
            self.plan.add(&name, RecordedWork::of(&transcript), recorded);
        } else {
            self.skipped.push(format!("{name}: it was read already"));
        }
    }

    /// Notes that a file could not be read.
    pub fn skip(&mut self, file: &Path, reason: String) {
        self.skipped.push(format!("{}: {reason}", PathBuf::from(file).display()));
    }

    /// Does the work that was read once more.
    pub fn play(mut self, tick: impl FnMut()) -> anyhow::Result<MemoryReplay> {
        for (name, transcript, recorded) in std::mem::take(&mut self.agents) {
            let asked = transcript.items.iter().find(|item| matches!(item.kind, Kind::User { .. }));
            let works = RecordedWork::of(&transcript);
            let calls = works.iter().flat_map(|work| work.calls.clone()).collect::<Vec<_>>();
            // Where the session that it worked for is not there, it is a session of its own.
            if !asked.is_some_and(|asked| self.plan.add_calls(asked.text(), &calls)) {
                self.plan.add(&name, works, &recorded);
            }
        }
        if self.plan.is_empty() {
            return Err(Refused::new("none of the files holds a session with work in it")
                .hint("give transcripts of Claude Code, Codex or OpenCode")
                .into());
        }
        let replay = play(self.plan, self.settings, tick)?;
        Ok(MemoryReplay { skipped: self.skipped, ..replay })
    }
}
