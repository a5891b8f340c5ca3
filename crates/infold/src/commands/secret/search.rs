//! Looks for the secrets behind placeholders, in recordings of sessions and in files that the user names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use infold_core::Scrubber;
use infold_core::transcript::Kind;

use super::super::Invocation;
use crate::failure::Refused;
use crate::sources::{self, NamedSource};

/// Most recordings that are looked through, the latest first.
const RECORDINGS_MAX: usize = 50;

/// The secrets that were found for a placeholder.
pub(super) enum FoundSecrets {
    /// All places hold the same secret.
    One(String),
    /// Different secrets have this placeholder by chance, so nobody knows which one is right.
    Several,
}

/// A search for secrets by their placeholders.
pub(super) struct Search<'a> {
    scrubber: &'a Scrubber,
    wanted: BTreeSet<String>,
    /// What was found so far, by placeholder.
    pub found: BTreeMap<String, FoundSecrets>,
}

impl<'a> Search<'a> {
    /// Prepares a search for the secrets behind these placeholders.
    pub fn new(scrubber: &'a Scrubber, wanted: impl Iterator<Item = String>) -> Self {
        Self { scrubber, wanted: wanted.collect(), found: BTreeMap::new() }
    }

    /// Looks through the latest recordings of the user's agents until everything is found. A recording that cannot be
    /// read is skipped, because the user did not name it.
    pub fn recordings(&mut self, invocation: &Invocation) {
        for file in sources::recorded(&invocation.surroundings, RECORDINGS_MAX) {
            if self.is_done() {
                return;
            }
            let _ = self.recording(file, invocation);
        }
    }

    /// Looks through a file that the user named: first as a recording, then as plain text if something is missing.
    pub fn named(&mut self, file: &Path, invocation: &Invocation) -> anyhow::Result<()> {
        if self.recording(file.to_owned(), invocation).is_ok() && self.is_done() {
            return Ok(());
        }
        let bytes = std::fs::read(file).map_err(|error| {
            Refused::new(format!("{} cannot be read: {error}", file.display())).hint("name a file that is there")
        })?;
        self.text(&String::from_utf8_lossy(&bytes));
        Ok(())
    }

    fn recording(&mut self, file: PathBuf, invocation: &Invocation) -> anyhow::Result<()> {
        let source = NamedSource::File(file);
        let mut reader = sources::open(&source, None, &invocation.in_force.settings)?;
        while let Some(entry) = reader.next_entry().map_err(|error| sources::named(&sources::shown(&source), error))? {
            for item in &entry.items {
                if let Kind::Result { text, .. } | Kind::User { text, .. } = &item.kind {
                    self.text(text);
                }
            }
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.wanted.iter().all(|placeholder| self.found.contains_key(placeholder))
    }

    fn text(&mut self, text: &str) {
        // A text that cannot be scrubbed was never shown to a model, so no placeholder was made from it.
        for secret in self.scrubber.secrets_in(text).unwrap_or_default() {
            if !self.wanted.contains(&secret.placeholder) {
                continue;
            }
            let other = match self.found.get(&secret.placeholder) {
                Some(FoundSecrets::One(known)) => *known != secret.value,
                Some(FoundSecrets::Several) => true,
                None => false,
            };
            let found = if other { FoundSecrets::Several } else { FoundSecrets::One(secret.value) };
            self.found.insert(secret.placeholder, found);
        }
    }
}
