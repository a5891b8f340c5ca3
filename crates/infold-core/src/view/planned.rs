//! What a plan is asked and what it says: plain data. `plan.rs` makes one from the other.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Anchor, Block, BlockKey, Restart};
use crate::{BranchId, Isolation, Thread};

/// A client's request, as a plan needs it.
#[derive(Debug)]
pub struct ViewRequest<'a> {
    /// The whole conversation, in the client's order.
    pub blocks: &'a [Block<'a>],
    /// Whether the agent's loop goes on from its answer.
    pub kind: RequestKind,
    /// Tools that the model can call without loading them first, as the client spells them.
    pub tools: &'a [String],
    /// Whether the model finished the answer before this request.
    pub last_answer: LastAnswer,
    /// Whether the client has compacted the conversation.
    pub beginning: TranscriptStart,
    /// Which thread the conversation is.
    pub thread: ThreadSource,
}

/// How the thread of a request is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ThreadSource {
    /// The conversation holds all threads of its session, and the calls in it show which is which.
    #[default]
    Transcript,
    /// The client keeps its threads apart: all of the conversation is this thread's.
    Named(Thread),
}

/// How the model's answer before this request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LastAnswer {
    /// The model finished it, or infold did not see its end.
    #[default]
    Ended,
    /// It broke off: the stream ended early, or the model was stopped for its length.
    BrokeOff,
}

/// What a conversation begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TranscriptStart {
    /// The person's first words.
    #[default]
    Words,
    /// The summary of a compaction. The client then repeats its preface (rules, environment) behind the summary.
    Summary,
}

/// What a request is for, as its client says or its form shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// A turn of the agent's own loop.
    Turn,
    /// A title, a classifier, a question beside the work: the loop does not go on from its answer.
    Side,
    /// The client asks for a summary, to replace the conversation by it.
    Compaction,
}

/// What is sent for a request.
#[derive(Debug)]
pub struct ViewPlan {
    /// The thread whose model answers the request.
    pub thread: Thread,
    /// The restart to store if this view is changed in the middle; `None` if no anchor would find its place again.
    pub restart_here: Option<Restart>,
    /// The view, in order. If nothing is edited, every block of the request, each kept.
    pub pieces: Vec<ViewPiece>,
    /// What was edited, and why; empty means that the client's own bytes are sent.
    pub edits: Vec<Edit>,
    /// What the engine has to do and store first. After that it plans again.
    pub actions: Vec<PlanAction>,
    /// Results of the last turn, as indices of blocks, that nothing was decided about yet.
    pub unseen: Vec<usize>,
    /// The thread of each unseen result. It may not be `thread`: a result beside an opening belongs to the parent.
    pub unseen_in: Vec<Thread>,
    /// Whether the model can call `read_result` in this view.
    pub reads_results: bool,
    /// Branches that are open in the transcript, outermost first.
    pub open: Vec<BranchId>,
}

/// One piece of a view. `block` is an index into the request's blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewPiece {
    /// A block as the client sent it.
    Keep(usize),
    /// A result with other content, as a JSON value.
    Content {
        /// The result whose content is replaced.
        block: usize,
        /// The value that is sent for its content.
        json: Arc<[u8]>,
    },
    /// A result with other content, as text.
    Text {
        /// The result whose content is replaced.
        block: usize,
        /// The text that is sent for its content.
        text: String,
    },
    /// A block of words with other words.
    Words {
        /// The block whose words are replaced.
        block: usize,
        /// The words that are sent for them.
        text: String,
    },
    /// The text of a result of another thread, repeated on the user's side.
    Quote {
        /// The result that is quoted.
        block: usize,
        /// The content to quote, as a JSON value; `None` quotes it as the client sent it.
        json: Option<Arc<[u8]>>,
        /// A line in front that says which call it comes from.
        head: String,
    },
    /// Words of infold's own, on the user's side.
    Say {
        /// The client's entry that the words are put into; `None` makes an entry of their own.
        entry: Option<usize>,
        /// The words, as the model is sent them.
        text: String,
    },
}

/// How many blocks were edited for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// A plan has one edit for each reason.
    pub reason: Reason,
    /// Blocks that were taken out, replaced or put in.
    pub blocks: usize,
}

/// Why a view differs from what the client sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A branch has folded: its message replaces its work.
    Folded,
    /// A branch works, and does not see its parent's conversation.
    Isolated,
    /// The brief that a branch begins with was put in.
    Brief,
    /// A branch waits while something else is answered on its parent.
    Waiting,
    /// Secrets were taken out of a result or of words.
    Scrubbed,
    /// A reference replaces a long result.
    Offloaded,
    /// Reasoning was left out: it was made in another thread, or on other bytes.
    Reasoning,
    /// A note was put in.
    Note,
    /// The request would not have fitted the model's window.
    Rescued,
    /// The thread's agent asked for space, and a reference replaces an older result.
    Lightened,
}

impl Reason {
    /// Whether what is done for it restarts a thread, and so may replace what was decided before.
    pub fn restarts_thread(self) -> bool {
        match self {
            Self::Rescued | Self::Lightened => true,
            Self::Folded
            | Self::Isolated
            | Self::Brief
            | Self::Waiting
            | Self::Scrubbed
            | Self::Offloaded
            | Self::Reasoning
            | Self::Note => false,
        }
    }
}

/// What the engine has to do before a request can be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanAction {
    /// A person spoke, or the client compacts, while a branch is open: fold it.
    Interrupt {
        /// An open branch; each open one has its own action.
        branch: BranchId,
        /// Where its thread ends and its parent goes on.
        place: Anchor,
    },
    /// The engine has folded a branch by force: store where the transcript was then.
    End {
        /// The branch that was folded.
        branch: BranchId,
        /// Where its thread ends and its parent goes on.
        place: Anchor,
    },
    /// The client went back to before the end of a branch, so the branch goes on: open it again.
    Reopen(BranchId),
    /// The transcript shows a branch with a valid id that the store does not know: store it as open.
    Adopt {
        /// The id that its opening was answered with.
        branch: BranchId,
        /// The thread that opened it.
        parent: Thread,
        /// What it was opened with, as far as the transcript says.
        opening: FoundOpening,
    },
    /// The opening of a branch that the engine has as open is gone from the transcript: end the branch.
    Lose(BranchId),
    /// The client went back to between the first result that an earlier restart changed and the place of that restart.
    /// Its reasoning from there was made on other bytes: store this restart, which is at the transcript's end.
    Restart(Restart),
    /// Somebody spoke behind an answer that broke off: do not interrupt the open branch, and store the words' place.
    Continue(BlockKey),
    /// Store these answers of our tools, by the key of their calls: the client may clear them later.
    Remember(Vec<(BlockKey, String)>),
}

/// What a transcript says of a branch's opening. A model wrote the texts: they may hold secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundOpening {
    /// The task in a few words.
    pub description: Option<String>,
    /// The task at length.
    pub prompt: Option<String>,
    /// The budget that the opening was granted.
    pub budget_tokens: Option<u64>,
    /// The time that the opening was granted.
    pub timeout_s: Option<u64>,
    /// Whether the branch's thread begins with its parent's view.
    pub isolation: Isolation,
    /// The memories that the opening was given, as one text.
    pub injected_context: Option<String>,
}
