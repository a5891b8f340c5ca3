//! Requests: the golden ones of a rich thread, the laws that hold for any thread, and whole sessions with a strict model.

mod engine;
mod golden;
mod growth;
mod sessions;
mod threads;
