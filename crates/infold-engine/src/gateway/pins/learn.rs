//! One decision about what a server offers: made on the rows as they are in the transaction that changes them.

use std::collections::BTreeMap;

use infold_core::gateway::{DefinitionHash, NewTools, PinKey, PinStep, PinnedTool, decide_pins};
use infold_core::view::ScrubbedJson;
use infold_store::{KeptDefinition, StoredPin, StoredTool};

/// What a server offers, ready to be compared with what is stored.
pub(super) struct Learning {
    key: PinKey,
    new_tools: NewTools,
    now_ms: u64,
    offered: BTreeMap<String, DefinitionHash>,
    /// Definitions with their tokens, by the tools' names, as far as they were not stored before.
    ready: BTreeMap<String, (ScrubbedJson, u64)>,
}

/// All rows of a server after a decision, or the rows before it if something for it is not ready.
type Learnt = Result<Vec<StoredTool>, Vec<StoredTool>>;

/// The rows of one of the servers that have a name.
pub(super) struct TargetRows {
    pub(super) rows: Vec<StoredTool>,
    /// Rows to be deleted once these are written.
    left: Vec<StoredTool>,
}

/// The rows of the server that has the name here. Rows from before that was known are those of the first who comes.
pub(super) fn rows_of(stored: Vec<StoredTool>, target: &str) -> TargetRows {
    if stored.iter().any(|stored| stored.target == target) {
        let rows = stored.into_iter().filter(|stored| stored.target == target).collect();
        return TargetRows { rows, left: Vec::new() };
    }
    let old: Vec<StoredTool> = stored.into_iter().filter(|stored| stored.target.is_empty()).collect();
    let left = old.iter().map(|old| StoredTool { pin: None, waiting: None, ..old.clone() }).collect();
    let rows = old.into_iter().map(|old| StoredTool { target: target.to_owned(), ..old }).collect();
    TargetRows { rows, left }
}

/// Whether nothing has to be made ready for a tool that is offered with this hash.
pub(super) fn is_stored(stored: &[StoredTool], tool: &str, hash: &DefinitionHash) -> bool {
    let has_pin = stored.iter().any(|stored| stored.tool == tool && stored.pin.is_some());
    has_pin && kept_of(stored, tool, hash).is_some()
}

/// A definition with this hash that is stored for a tool, as its pin or as what waits.
fn kept_of<'s>(stored: &'s [StoredTool], tool: &str, hash: &DefinitionHash) -> Option<&'s KeptDefinition> {
    let stored = stored.iter().find(|stored| stored.tool == tool)?;
    let pinned = stored.pin.as_ref().map(|pin| &pin.kept);
    [pinned, stored.waiting.as_ref()].into_iter().flatten().find(|kept| kept.hash == *hash)
}

impl Learning {
    pub(super) fn new(key: &PinKey, new_tools: NewTools, now_ms: u64) -> Self {
        Self { key: key.clone(), new_tools, now_ms, offered: BTreeMap::new(), ready: BTreeMap::new() }
    }

    /// Adds a tool that the server offers. `ready` is what to store of it, if that is not stored yet.
    pub(super) fn offer(&mut self, tool: &str, hash: DefinitionHash, ready: Option<(ScrubbedJson, u64)>) {
        self.offered.insert(tool.to_owned(), hash);
        self.ready.extend(ready.map(|ready| (tool.to_owned(), ready)));
    }

    /// Decides on the stored rows. Returns those that change, and all of them.
    pub(super) fn decide(&self, stored: Vec<StoredTool>) -> (Vec<StoredTool>, Learnt) {
        let TargetRows { rows: stored, left } = rows_of(stored, &self.key.target);
        let pinned =
            stored.iter().filter_map(|stored| Some((stored.tool.clone(), stored.pin.as_ref()?.kept.hash.clone())));
        let decided = decide_pins(&pinned.collect(), &self.offered, self.new_tools);
        let after: Option<Vec<StoredTool>> = decided.into_iter().map(|decided| self.after(decided, &stored)).collect();
        let Some(mut after) = after else { return (Vec::new(), Err(stored)) };
        // What was new, waited, and is not offered any more is forgotten.
        let is_left = |stored: &&StoredTool| !after.iter().any(|after| after.tool == stored.tool);
        let forgotten: Vec<StoredTool> =
            stored.iter().filter(is_left).map(|stored| StoredTool { waiting: None, ..stored.clone() }).collect();
        let is_written = |after: &&StoredTool| left.is_empty() && stored.contains(after);
        let mut changed: Vec<StoredTool> = after.iter().filter(|after| !is_written(after)).cloned().collect();
        changed.extend(forgotten);
        changed.extend(left);
        after.sort_by(|one, other| one.tool.cmp(&other.tool));
        (changed, Ok(after))
    }

    /// The row of a tool after what was decided about it; `None` if what has to be stored is not ready.
    fn after(&self, decided: PinnedTool, stored: &[StoredTool]) -> Option<StoredTool> {
        let before = stored.iter().find(|stored| stored.tool == decided.tool).cloned();
        let before = before.unwrap_or_else(|| StoredTool {
            server: self.key.server.clone(),
            target: self.key.target.clone(),
            tool: decided.tool.clone(),
            pin: None,
            waiting: None,
            gone_at_ms: None,
        });
        let usual = StoredTool { waiting: None, gone_at_ms: None, ..before.clone() };
        Some(match decided.step {
            PinStep::Keep => usual,
            PinStep::Leave => StoredTool { gone_at_ms: before.gone_at_ms.or(Some(self.now_ms)), ..usual },
            PinStep::Withhold => StoredTool { waiting: Some(self.kept(&decided.tool, stored)?), ..usual },
            PinStep::Pin => {
                let tokens = self.ready.get(&decided.tool).map(|(_, tokens)| *tokens)?;
                let pin = StoredPin { kept: self.kept(&decided.tool, stored)?, tokens, at_ms: self.now_ms };
                StoredTool { pin: Some(pin), ..usual }
            }
        })
    }

    fn kept(&self, tool: &str, stored: &[StoredTool]) -> Option<KeptDefinition> {
        let hash = self.offered.get(tool)?;
        let known = kept_of(stored, tool, hash).cloned();
        let ready = || {
            let (definition, _) = self.ready.get(tool)?;
            Some(KeptDefinition { hash: hash.clone(), definition: definition.clone() })
        };
        known.or_else(ready)
    }
}
