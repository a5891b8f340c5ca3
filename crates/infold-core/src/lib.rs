//! Decides what happens to a session: ids, limits, branches, token counts and scrubbing.
//!
//! Nothing here reads a file, a clock or a random number: time, ids and limits are arguments, so
//! that every decision can be replayed and tested as a value.

mod branch;
mod context;
mod count;
mod decide;
mod event;
mod findings;
mod ids;
mod input;
mod limits;
mod offload;
mod principal;
mod refusal;
mod scrub;
mod session;

pub use branch::{Branch, End, EndReason, Status};
pub use context::{ContextHealth, ContextState, Warning};
pub use count::{Counter, Family};
pub use decide::{Command, Decision, Open, Outcome, Rules, decide};
pub use event::{Event, Opening, Operation};
pub use findings::{Findings, ToolUse};
pub use ids::{BadSessionId, BlobId, BranchId, IdKey, ProjectHash, SessionId, Thread};
pub use input::{Field, normalise_project_path, strip_controls};
pub use limits::{Allocation, ContextBound, Limits};
pub use offload::{Page, lines, matches, page, reference};
pub use principal::{Claims, Owner, Principal};
pub use refusal::Refusal;
pub use scrub::{ScrubError, Scrubbed, Scrubber};
pub use session::Session;
