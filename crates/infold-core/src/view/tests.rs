//! Tests of views: transcripts as text in, views as text out, and the laws over generated conversations.

mod cleared;
mod details;
mod hard_cases;
mod laws;
mod relief;
mod spoken_words;
mod stored;
pub(super) mod text;
