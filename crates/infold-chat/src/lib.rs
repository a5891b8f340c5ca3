//! The parts of `infold chat` that are functions of text and keys: how words are wrapped and toned, how Markdown that
//! still comes in is shown, how a line of input is edited, and how a terminal is written to.
//!
//! What must hold: nothing here knows agents, sessions, settings or the clock, and nothing reads the terminal. Whatever
//! a model or a tool wrote, no character of it can steer the terminal. No line is wider than its room.

mod clean;
pub mod diff;
pub mod editor;
pub mod highlight;
pub mod inline;
pub mod markdown;
mod numbers;
pub mod tones;
pub mod wrap;

pub use clean::{visible, visible_in_line};
