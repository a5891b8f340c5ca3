//! Plans: what is sent of a conversation, block by block, and why.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::assemble::{self, ViewWriter};
use super::reasoning::Bounds;
use super::tree::MAIN;
use super::walk::Walk;
use super::{Anchor, Block, BlockKey, BlockKind, Restart, StoredDecisions, place, runs_scripts};
use crate::{BranchId, IdKey, Isolation, Scrubber, Thread, ToolEffect};

/// A request to be planned.
#[derive(Debug)]
pub struct ViewRequest<'a> {
    /// The conversation, in order.
    pub blocks: &'a [Block<'a>],
    /// What kind of request it is.
    pub kind: RequestKind,
    /// Tools that the model can call without loading them first, as the client spells them.
    pub tools: &'a [String],
    /// How the model's last answer ended.
    pub last_answer: LastAnswer,
    /// How the conversation begins.
    pub beginning: TranscriptStart,
}

/// How the answer that a request goes on from has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LastAnswer {
    /// As the model wanted, or nobody saw it.
    #[default]
    Ended,
    /// In the middle: the stream broke, or the model was stopped for its length.
    BrokeOff,
}

/// How a conversation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TranscriptStart {
    /// With what a person said first.
    #[default]
    Words,
    /// With a summary of what was said before: the client has compacted, and says behind it what else it says in front.
    Summary,
}

/// What kind of request it is, as far as its client says or its form shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// A turn of the agent's own loop.
    Turn,
    /// A title, a classifier, a question beside the work: the loop does not go on from its answer.
    Side,
    /// The client's own compaction.
    Compaction,
}

/// What is sent.
#[derive(Debug)]
pub struct ViewPlan {
    /// The thread whose view it is.
    pub thread: Thread,
    /// What starts this view anew from here, if that is stored: nothing if there is no place for it to stay.
    pub anew: Option<Restart>,
    /// The view, in order. All of the request's blocks, each kept, if nothing is edited.
    pub pieces: Vec<ViewPiece>,
    /// What was edited, and why; empty means that the client's own bytes are sent.
    pub edits: Vec<Edit>,
    /// What has to be done and stored before this can be sent. When it is, plan again.
    pub actions: Vec<PlanAction>,
    /// Results of the last turn that nothing was decided about yet, as indices of blocks.
    pub unseen: Vec<usize>,
    /// The thread of each of these: a result beside an opening is the parent's, though the branch is sent.
    pub unseen_in: Vec<Thread>,
    /// Whether the model can call `read_result` in this view.
    pub reads_results: bool,
    /// Branches that are open in the transcript, outermost first.
    pub open: Vec<BranchId>,
}

/// One piece of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewPiece {
    /// A block as the client sent it.
    Keep(usize),
    /// A result whose content is this JSON value instead.
    Content {
        /// The block.
        block: usize,
        /// The value.
        json: Arc<[u8]>,
    },
    /// A result whose content is this text instead.
    Text {
        /// The block.
        block: usize,
        /// The text.
        text: String,
    },
    /// A block of words that says this instead.
    Words {
        /// The block.
        block: usize,
        /// The words.
        text: String,
    },
    /// The text of a result of another thread, on the user's side.
    Quote {
        /// The block.
        block: usize,
        /// The JSON value that stands for its content, if that is not as it came.
        json: Option<Arc<[u8]>>,
        /// What it is.
        head: String,
    },
    /// Words of ours on the user's side.
    Say {
        /// The client's entry that they belong into; none makes an entry of their own.
        entry: Option<usize>,
        /// The words.
        text: String,
    },
}

/// One thing that was edited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// Why.
    pub reason: Reason,
    /// Blocks that it took out, replaced or put in.
    pub blocks: usize,
}

/// Why something was edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A branch has folded: its work is out, its message stands for it.
    Folded,
    /// A branch works, and its parent's conversation is not its own.
    Isolated,
    /// The brief that a branch begins with.
    Brief,
    /// A branch waits while something else is answered on its parent.
    Waiting,
    /// Secrets were taken out.
    Scrubbed,
    /// A long result is kept elsewhere.
    Offloaded,
    /// Reasoning was made in another thread, or on other bytes.
    Reasoning,
    /// A note was put in.
    Note,
    /// The request would not have fitted.
    Rescued,
}

/// What has to be done before a request can be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanAction {
    /// A person spoke, or the client compacts, while the branch was open: fold it there.
    Interrupt {
        /// The branch.
        branch: BranchId,
        /// Where.
        place: Anchor,
    },
    /// The engine has folded the branch by force: from here on the parent goes on.
    End {
        /// The branch.
        branch: BranchId,
        /// Where.
        place: Anchor,
    },
    /// The transcript goes on in a branch that the engine has as ended: the client has gone back.
    Reopen {
        /// The branch.
        branch: BranchId,
    },
    /// The transcript has a branch of ours that the store does not know.
    Adopt {
        /// The branch.
        branch: BranchId,
        /// The thread that opened it.
        parent: Thread,
        /// What it was opened with, as far as the transcript says.
        opening: FoundOpening,
    },
    /// The opening of a branch that the engine has as open is not in the transcript any more.
    Lose {
        /// The branch.
        branch: BranchId,
    },
    /// The client has gone back to before where threads were started anew, and to what is shown otherwise since: they
    /// start anew from here.
    Restart {
        /// That.
        restart: Restart,
    },
    /// Somebody spoke behind an answer that broke off: the open branch hears it and goes on.
    Hear {
        /// The place of the words.
        place: BlockKey,
    },
    /// Our tools said what became of branches: keep it, because the client may clear it later.
    Remember {
        /// What they answered, by what tells the calls from others.
        answers: Vec<(BlockKey, String)>,
    },
}

/// What a transcript says of the opening of a branch. The texts are a model's: they may hold secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundOpening {
    /// What the branch is for.
    pub description: Option<String>,
    /// What it is asked to do.
    pub prompt: Option<String>,
    /// The budget that it was given.
    pub budget_tokens: Option<u64>,
    /// The time that it was given.
    pub timeout_s: Option<u64>,
    /// What its thread begins with.
    pub isolation: Isolation,
}

/// Decides what is sent.
pub fn plan(request: &ViewRequest<'_>, known: &StoredDecisions, key: &IdKey, scrubber: &Scrubber) -> ViewPlan {
    let mut walk = Walk::through(request, known, key);
    walk.reconcile();
    let bounds = Bounds::of(&walk);
    let end = place::end(request.blocks, walk.last_turn);
    if let (RequestKind::Turn | RequestKind::Compaction, Some(place)) = (request.kind, &end) {
        let anew = bounds.left_behind.iter().map(|restart| Restart { place: place.clone(), ..(*restart).clone() });
        walk.actions.extend(anew.map(|restart| PlanAction::Restart { restart }));
    }
    let node = match request.kind {
        RequestKind::Side => MAIN,
        RequestKind::Turn | RequestKind::Compaction => walk.tree.current(),
    };

    let root = walk.tree.nodes[bounds.root(node)].thread();
    let mut scribe = ViewWriter::new(&walk, scrubber, bounds);
    scribe.thread(node);
    scribe.account(node);
    let ViewWriter { pieces, edits, .. } = scribe;

    let unseen = unseen(&walk);
    let open = walk.tree.open_from_outermost();
    ViewPlan {
        thread: walk.tree.nodes[node].thread(),
        anew: end.map(|place| Restart { root: Some(root), from: None, place }),
        reads_results: reads_results(request, known, &pieces),
        edits: edits.into_iter().map(|(reason, blocks)| Edit { reason, blocks }).collect(),
        unseen_in: unseen.iter().map(|&at| walk.tree.nodes[walk.tree.shown_in(at)].thread()).collect(),
        unseen,
        open: open.into_iter().filter_map(|at| walk.tree.nodes[at].branch().cloned()).collect(),
        actions: walk.actions,
        pieces,
    }
}

/// Results of the last turn that nothing was decided about. Those that are not in this view are among them:
/// their thread goes on later, when they are no longer new.
fn unseen(walk: &Walk<'_>) -> Vec<usize> {
    let blocks = walk.request.blocks;
    (walk.last_turn..blocks.len())
        .filter(|&at| matches!(blocks[at].kind, BlockKind::Result(_)) && assemble::rewrite(walk, at).is_none())
        .collect()
}

/// Whether the model can call `read_result`: the client lists it, this view shows how it was made known, or the model's
/// scripts have called tools of ours before, which are all in one place.
fn reads_results(request: &ViewRequest<'_>, known: &StoredDecisions, pieces: &[ViewPiece]) -> bool {
    let is_reader = |tool: &str| ToolEffect::of(tool) == Some(ToolEffect::Read);
    let shows_reader = |piece: &ViewPiece| match piece {
        ViewPiece::Keep(at) | ViewPiece::Content { block: at, .. } => match &request.blocks[*at].kind {
            BlockKind::Result(result) => result.loads.iter().any(|tool| is_reader(tool)),
            BlockKind::Instruction
            | BlockKind::User { .. }
            | BlockKind::Assistant
            | BlockKind::Reasoning
            | BlockKind::Call(_)
            | BlockKind::Attachment
            | BlockKind::Other { .. } => false,
        },
        ViewPiece::Text { .. } | ViewPiece::Words { .. } | ViewPiece::Quote { .. } | ViewPiece::Say { .. } => false,
    };
    let scripts_read = || !known.scripted.is_empty() && request.tools.iter().any(|tool| runs_scripts(tool));
    request.tools.iter().any(|tool| is_reader(tool)) || pieces.iter().any(shows_reader) || scripts_read()
}
