//! Decides what happens to a session: branches, budgets, what a model is sent, forks, rescues, shaping, token counts
//! and scrubbing.
//!
//! Nothing here reads a file, a clock or a random number: time, ids and limits are arguments, so that every decision
//! can be replayed and tested as a value. Storing and sending are other crates' work.

pub mod atoms;
mod branch;
pub mod compaction;
mod context;
mod context_budget;
mod count;
mod decide;
mod event;
mod findings;
pub mod fork;
pub mod gateway;
mod ids;
mod input;
mod limits;
pub mod memory;
mod models;
mod offload;
mod own_tools;
mod prices;
mod principal;
mod prompt_builder;
pub mod record;
pub mod recording;
mod refusal;
pub mod rescue;
mod scrub;
mod session;
mod shape;
mod stem;
pub mod transcript;
pub mod view;
mod words;
pub mod writes;

pub use branch::{Branch, End, EndReason, Isolation, Start, Status};
pub use context::{ContextHealth, ContextState, ContextWarning};
pub use context_budget::{CompactionThresholds, ContextBudget, CountedParts, FloorTooHigh, usage_note};
pub use count::{Counter, Family, Pixels, SessionCalibration, StreamSize, TextSize, pixels_of_file, readable_of_other};
pub use decide::{Command, Decision, Open, ReturnOutcome, Rules, decide};
pub use event::{Event, Opening, Operation, Origin};
pub use findings::{Findings, ToolUse, partial_result};
pub use ids::{BadSessionId, BlobId, BranchId, IdKey, ProjectHash, SessionId, Thread};
pub use input::{Field, normalise_project_path, strip_controls, strip_hostile, strip_hostile_in};
pub use limits::{Allocation, ContextBound, Limits};
pub use models::{ModelWindow, ModelWindows};
pub use offload::{
    ResultPage, ScrubbedCall, around_matches, grouped, lines, matches, no_match, page, reference,
    reference_if_offloaded, reference_text, shaped_reference, withheld,
};
pub use own_tools::{OwnTool, ToolEffect};
pub use prices::{Price, Prices};
pub use principal::{Claims, Owner, Principal};
pub use prompt_builder::{PromptBuilder, PromptSection, SectionKind};
pub use refusal::Refusal;
pub use scrub::{
    ExplainedMatch, FoundSecret, KNOWN_BYTES_MIN, Mask, MatchVerdict, RuleSet, RulesBase, RulesError, ScrubError,
    Scrubbed, Scrubber, placeholders,
};
pub use session::Session;
pub use shape::{Mentions, Shape, ShapeRules, ToolResult, Wish, excerpt, plain_arguments, shape};
