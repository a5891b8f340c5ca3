//! Drawing for people: styles, words for numbers and times, tables, branch trees.
//!
//! Everything here is a function from values to text. What a terminal can show is in [`Style`]; all
//! of it reads well without colour and with ASCII alone.

mod style;
mod table;
mod tree;
mod view;
mod words;

pub use style::{Charset, Paint, Style, Tone};
pub use table::{Align, Column, Table};
pub use tree::draw;
pub use view::{BranchView, Mark, SessionView};
pub use words::{ago, duration, thousands};
