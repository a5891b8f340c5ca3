//! Feedback: somebody calls a memory helpful or not.

use infold_core::Principal;
use infold_core::memory::{BeliefMove, Memory, MemoryId};
use infold_store::{EvidenceKind, MemoryUpdate, NewEvidence};

use super::people::absent;
use crate::{Engine, Error};

impl Engine {
    /// Moves what is believed of a memory. Returns how sure it is then.
    pub async fn move_belief(&self, who: &Principal, id: &MemoryId, by: BeliefMove) -> Result<f64, Error> {
        let at_ms = self.now_ms();
        let decide = move |memory: &Memory| {
            let evidence =
                NewEvidence { kind: EvidenceKind::Moved(by), session: None, branch: None, from_memory: None, at_ms };
            let moved = Memory { belief: memory.belief.moved(by), evidence_at_ms: at_ms, ..memory.clone() };
            (Some(MemoryUpdate { memory: memory.clone(), words: None, moved: Some((by, evidence)) }), moved)
        };
        let moved = self.inner.store.change_memory(who.owner.clone(), id.clone(), by.as_str(), at_ms, decide).await?;
        match moved {
            Some(memory) => Ok(self.confidence(&memory)),
            None => Err(absent(id.as_str()).into()),
        }
    }
}
