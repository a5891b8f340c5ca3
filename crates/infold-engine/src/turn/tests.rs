//! What turns store of a session, on a real store.

mod decisions;
mod words;
