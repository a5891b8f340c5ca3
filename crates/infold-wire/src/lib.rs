//! Reads and writes what agents recorded and what they send, without losing a byte that it leaves alone.
//!
//! [`Reader`] takes one entry at a time from a recording, with its exact bytes and the items in it;
//! [`read_transcript`] and [`read_sessions`] put entries together into whole transcripts, leaving out what the
//! model did not get to see. The writers turn a transcript into other forms and say what those cannot carry.
//!
//! Memory is bounded by the longest entry, not by the file, unless a whole transcript is asked for.

pub mod answer;
mod assemble;
mod client_words;
mod content;
mod detect;
mod document;
mod error;
mod form;
mod forms;
mod handed_in;
mod input;
mod json_text;
mod live;
mod loose;
mod numbers;
mod order;
mod person_answers;
mod reader;
mod refusal;
pub mod request;
mod rescue;
mod sessions;
mod source;
#[cfg(test)]
mod testing;
mod told;
mod whose;
mod wrapped;
mod write;

pub use error::{Problem, WireError};
pub use form::Format;
pub use handed_in::{NotATranscript, read_handed_in};
pub use live::GivenUp;
pub use person_answers::is_answered_by_person;
pub use reader::{Entry, EntryKind, KeptBytes, Metered, ReadLimits, Reader};
pub use refusal::ProviderRefusal;
pub use rescue::{LineEdit, LineTraits, NewLines, NewSession, RescueClient, ResumedLine, ResumedSession};
pub use sessions::{Read, Sessions, read_sessions, read_transcript};
pub use source::{Source, open};
pub use told::Told;
pub use whose::{Whose, whose};
pub use wrapped::unwrapped;
pub use write::{Loss, Written, write_anthropic, write_markdown, write_openai, write_opencode};
