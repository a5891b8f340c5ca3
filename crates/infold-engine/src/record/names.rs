//! Scrubs names that come from outside, such as those of models and tools. They repeat in every request, so each one is
//! scrubbed once.

use std::collections::HashSet;
use std::sync::Mutex;

use infold_core::Scrubbed;

use super::bounded_map::BoundedMap;
use super::{RequestSeen, locked};
use crate::Engine;

/// How many names are remembered.
const NAMES_MAX: usize = 4096;
/// How many characters of a name are stored.
const NAME_CHARS_MAX: usize = 80;
/// What is stored in place of a name that could not be scrubbed.
const WITHHELD: &str = "(withheld)";

pub(crate) struct Names(Mutex<BoundedMap<String, Scrubbed>>);

impl Default for Names {
    fn default() -> Self {
        Self(Mutex::new(BoundedMap::new(NAMES_MAX)))
    }
}

impl Names {
    /// The scrubbed form of a name. One that was not scrubbed is withheld.
    pub(super) fn scrubbed(&self, name: &str) -> Scrubbed {
        let known = locked(&self.0).get(&name.to_owned()).cloned();
        known.unwrap_or_else(|| Scrubbed::fixed(WITHHELD))
    }

    fn is_known(&self, name: &str) -> bool {
        locked(&self.0).get(&name.to_owned()).is_some()
    }

    fn remember(&self, name: String, scrubbed: Scrubbed) {
        locked(&self.0).insert(name, scrubbed.head_chars(NAME_CHARS_MAX));
    }
}

impl Engine {
    /// Scrubs those names of a request that were not seen before.
    pub(super) async fn scrub_names(&self, seen: &RequestSeen) {
        let names = &self.inner.recorder.names;
        let of_parts = seen.parts.wanted().iter().chain(seen.parts.sent()).filter_map(|part| part.name.as_deref());
        let others = [Some(seen.model.as_str()), seen.agent.as_deref(), seen.client.as_deref()];
        let mut new: HashSet<&str> = of_parts.chain(others.into_iter().flatten()).collect();
        new.retain(|name| !names.is_known(name));
        if new.is_empty() {
            return;
        }
        let new: Vec<String> = new.into_iter().map(str::to_owned).collect();
        let shown = new.iter().map(|name| infold_core::strip_controls(name).replace(['\n', '\t'], " ")).collect();
        // Names that cannot be scrubbed stay unknown, and are withheld wherever they would appear.
        let Ok(scrubbed) = self.scrub_list(shown).await else { return };
        for (name, scrubbed) in new.into_iter().zip(scrubbed) {
            names.remember(name, scrubbed);
        }
    }
}
