//! Plays recorded sessions against policies, and reports what each would have cost and how much of what was used later
//! it would have kept in the prompt.
//!
//! A policy maps the items before a request to what is sent. Playing a session against it gives sizes, cache reads and
//! writes, a bill, and how much of what the agent used later was still visible. Nothing is sent anywhere and no file is
//! read: transcripts, prices and limits are arguments.
//!
//! What must hold: the same transcript gives the same figures, whatever was played before it.

mod curve;
mod folding;
mod fork;
mod forms;
mod html;
mod measures;
mod play;
mod policy;
mod prices;
mod replay;
mod report;
mod seen_texts;
mod shaping;
mod shares;
mod text;
mod thread;
mod words;
mod works;

#[cfg(test)]
mod tests;

pub use curve::Curve;
pub use folding::Folding;
pub use fork::{ForkRow, ForkTable, ForkTrial, ForkWay};
pub use html::html;
pub use measures::Measures;
pub use play::{Judge, SentItem};
pub use policy::Policy;
pub use prices::{Price, Prices};
pub use replay::{Options, Progress, Replay};
pub use report::{PolicyOutcome, PolicyReport, PortionReport, RecordedUsage, Report, SessionReport, Skipped};
pub use shares::{Portion, PromptShare};
pub use thread::{AnswerStarts, Compactions};
pub use works::{RecordedWork, WorkCall, WorkEnd};
