//! Placeholders that a model writes in a secret's place: a file would lose its secret.
//!
//! If infold is asked before a tool runs, it refuses (`infold hook`). If it was not asked, it says what happened: to
//! people in the recorder, and to the model behind the result, in the same turn. It says so only about calls that were
//! carried out.

mod outcome;

use infold_core::view::{BlockKind, Note, ResultBlock, ViewPiece, ViewPlan};
use infold_core::writes::{Means, writing};
use infold_wire::request::Request;

use super::known_session::KnownSession;
use super::prompt::{AgentTurn, PlanningFault};
use crate::Engine;

/// How a note about a placeholder begins. A call gets at most one.
const TELLING: &str = "[infold: your last call to ";

impl Engine {
    /// Stores a note for each call of the last turn that has written a placeholder, once for each call. Returns the
    /// warnings for the recorder.
    pub(super) async fn note_placeholders(
        &self,
        turn: &AgentTurn<'_>,
        plan: &ViewPlan,
        known: &mut KnownSession,
    ) -> Result<Vec<String>, PlanningFault> {
        let mut warnings = Vec::new();
        for (result, written) in self.written(&turn.request, plan) {
            let is_noted = |note: &Note| note.after == *result.call && note.text.starts_with(TELLING);
            if known.decisions.notes.iter().any(is_noted) {
                continue;
            }
            let note = Note { after: result.call.clone().into_owned(), text: written.words() };
            self.store_note(&turn.identity.who, &turn.identity.session, note.clone()).await?;
            known.decisions.notes.push(note);
            warnings.push(format!("{} wrote {} where a secret was", written.tool, written.placeholder));
        }
        Ok(warnings)
    }

    /// Results of the last turn whose calls wrote placeholders of this database's.
    fn written<'r, 'a>(
        &self,
        request: &'r Request<'a>,
        plan: &ViewPlan,
    ) -> Vec<(&'r ResultBlock<'a>, WrittenPlaceholder)> {
        let mut found = Vec::new();
        for at in last_results(request) {
            let BlockKind::Result(result) = &request.blocks()[at].kind else { continue };
            if !plan.pieces.iter().any(|piece| is_of(piece, at)) {
                continue;
            }
            let (tool, arguments) = request.call(&result.call);
            let Some(writing) = writing(&tool, &arguments) else { continue };
            let Some(placeholder) = writing.texts.iter().find_map(|text| self.own_placeholder(text)) else {
                continue;
            };
            if outcome::was_done(request, at, result, &tool, writing.means) {
                found.push((result, WrittenPlaceholder { tool, placeholder, means: writing.means }));
            }
        }
        found
    }
}

struct WrittenPlaceholder {
    tool: String,
    placeholder: String,
    means: Means,
}

impl WrittenPlaceholder {
    fn words(&self) -> String {
        let Self { tool, placeholder, .. } = self;
        let happened = match self.means {
            Means::Editor => "What was written now holds this placeholder in the secret's place",
            Means::Shell => "If it wrote a file, that file now holds this placeholder in the secret's place",
        };
        format!(
            "{TELLING}{tool} contained {placeholder}, which stands for a secret that was hidden from you. {happened}: \
             run `infold secret restore FILE`, which puts the secret back, or tell the user. From now on leave such \
             parts of a file as they are.]"
        )
    }
}

/// Whether a piece shows this block.
pub(super) fn is_of(piece: &ViewPiece, at: usize) -> bool {
    match piece {
        ViewPiece::Keep(block)
        | ViewPiece::Content { block, .. }
        | ViewPiece::Text { block, .. }
        | ViewPiece::Words { block, .. }
        | ViewPiece::Quote { block, .. } => *block == at,
        ViewPiece::Say { .. } => false,
    }
}

/// Indices of the results after the model's last words.
pub(super) fn last_results(request: &Request<'_>) -> impl Iterator<Item = usize> {
    let blocks = request.blocks();
    let behind = blocks.iter().rposition(|block| matches!(block.kind, BlockKind::Call(_) | BlockKind::Assistant));
    (behind.map_or(blocks.len(), |at| at + 1)..blocks.len())
        .filter(|at| matches!(blocks[*at].kind, BlockKind::Result(_)))
}
