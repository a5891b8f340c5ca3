//! Reads recordings of agents and the requests they send, and edits and writes both, without changing a byte that it
//! leaves alone.
//!
//! [`Reader`] gives one entry of a recording at a time, with its exact bytes and the items in it. [`Reader::into_transcript`]
//! and [`read_sessions`] put entries together into whole transcripts, without what the model did not see. The writers
//! turn a transcript into other forms and list what those cannot carry. [`request::Request`] and
//! [`answer::AnswerReader`] read what goes to a provider and what comes back. What of it all is kept or hidden is
//! decided in `infold-core`.
//!
//! Memory is bounded by the longest entry of a recording, not by the file, unless a whole transcript is read.

pub mod answer;
mod assemble;
mod client_words;
mod content;
mod detect;
mod document;
mod error;
mod flattened;
mod form;
mod forms;
mod handed_in;
mod identify;
mod input;
mod json_text;
mod live;
mod loose;
mod numbers;
mod order;
mod person_answers;
mod reader;
mod recorded_at;
mod refusal;
pub mod request;
mod rescue;
mod sessions;
mod source;
#[cfg(test)]
mod testing;
mod wrapped;
mod write;

pub use error::{Problem, WireError};
pub use flattened::FlattenedConversation;
pub use form::Format;
pub use handed_in::{NotATranscript, read_handed_in};
pub use identify::{RequestIdentity, identify};
pub use live::GivenUp;
pub use person_answers::is_answered_by_person;
pub use reader::{Entry, EntryKind, KeptEntries, ReadLimits, Reader, ReportedUsage};
pub use recorded_at::RecordedAt;
pub use refusal::ProviderRefusal;
pub use rescue::{LineEdit, LineTraits, NewLines, NewSession, RescueClient, ResumedLine, ResumedSession};
pub use sessions::{Read, Sessions, read_sessions};
pub use source::{Source, open};
pub use wrapped::unwrapped;
pub use write::{Loss, Written, write_anthropic, write_markdown, write_openai, write_opencode};
