//! Plans: which pieces of a conversation a request sends to the model, and why each differs from what the client sent.
//!
//! [`plan`] reads the transcript ([`Walk`]), picks the thread that is answered, and writes its view ([`ViewWriter`]).
//! It changes nothing: what has to be done or stored first is named as a [`PlanAction`], and the engine plans again.

use super::assemble::{ViewWriter, is_result, replacement};
use super::reasoning::Bounds;
use super::tree::MAIN;
use super::walk::Walk;
use super::{
    Edit, PlanAction, RequestKind, Restart, StoredDecisions, ViewPiece, ViewPlan, ViewRequest, place, runs_scripts,
};
use crate::{IdKey, Scrubber, ToolEffect};

/// Decides what is sent for a request.
pub fn plan(request: &ViewRequest<'_>, known: &StoredDecisions, key: &IdKey, scrubber: &Scrubber) -> ViewPlan {
    let mut walk = Walk::through(request, known, key);
    walk.reconcile();
    // From which block on each thread may be sent its reasoning: a restart makes all that came before it useless.
    let bounds = Bounds::of(&walk);
    let end = place::end(request.blocks, walk.last_turn);
    if let (RequestKind::Turn | RequestKind::Compaction, Some(place)) = (request.kind, &end) {
        let repeated = bounds.left_behind.iter().map(|restart| Restart { place: place.clone(), ..(*restart).clone() });
        walk.actions.extend(repeated.map(PlanAction::Restart));
    }
    let node = match request.kind {
        RequestKind::Side => MAIN,
        RequestKind::Turn | RequestKind::Compaction => walk.tree.current(),
    };

    // Threads that begin with the same thread's view have one root; a restart of one is a restart of all.
    let root = walk.tree.nodes[bounds.root(node)].thread();
    let mut writer = ViewWriter::new(&walk, scrubber, bounds);
    writer.write_thread(node);
    writer.account_for_absent(node);
    let ViewWriter { pieces, edits, .. } = writer;

    let unseen = unseen_results(&walk);
    let open = walk.tree.open_outermost_first();
    ViewPlan {
        thread: walk.tree.nodes[node].thread(),
        restart_here: end.map(|place| Restart { root: Some(root), from: None, place }),
        reads_results: can_read_results(request, known, &pieces),
        edits: edits.into_iter().map(|(reason, blocks)| Edit { reason, blocks }).collect(),
        unseen_in: unseen.iter().map(|&at| walk.tree.nodes[walk.tree.first_seen_in(at)].thread()).collect(),
        unseen,
        open: open.into_iter().filter_map(|at| walk.tree.nodes[at].branch().cloned()).collect(),
        actions: walk.actions,
        pieces,
    }
}

/// Results of the last turn that nothing was decided about. Some may not be in this view: when their thread goes on,
/// they are no longer new.
fn unseen_results(walk: &Walk<'_>) -> Vec<usize> {
    let blocks = walk.request.blocks;
    let is_unseen = |at: &usize| is_result(&blocks[*at]) && replacement(walk, *at).is_none();
    (walk.last_turn..blocks.len()).filter(is_unseen).collect()
}

/// Whether the model can call `read_result`: the client lists it, a result in this view loaded it, or the model's
/// scripts have called our tools before, and so can call all of them.
fn can_read_results(request: &ViewRequest<'_>, known: &StoredDecisions, pieces: &[ViewPiece]) -> bool {
    let is_reader = |tool: &str| ToolEffect::of(tool) == Some(ToolEffect::Read);
    let loads_reader = |piece: &ViewPiece| match piece {
        ViewPiece::Keep(at) | ViewPiece::Content { block: at, .. } => {
            let result = request.blocks[*at].kind.result();
            result.is_some_and(|result| result.loads.iter().any(|tool| is_reader(tool)))
        }
        ViewPiece::Text { .. } | ViewPiece::Words { .. } | ViewPiece::Quote { .. } | ViewPiece::Say { .. } => false,
    };
    let scripts_read = || !known.scripted.is_empty() && request.tools.iter().any(|tool| runs_scripts(tool));
    request.tools.iter().any(|tool| is_reader(tool)) || pieces.iter().any(loads_reader) || scripts_read()
}
