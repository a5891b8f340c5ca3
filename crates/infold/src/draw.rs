//! Drawing for people: styles, words for numbers and times, tables, branch trees, requests.
//!
//! Everything here is a function from values to text. What a terminal can show is in [`Style`]; all
//! of it reads well without colour and with ASCII alone.

mod memories;
mod requests;
mod style;
mod table;
mod tree;
mod view;
mod words;

pub use memories::memories;
pub use requests::{CountView, RequestScope, RequestsView, request_lines, requests};
pub use style::{Charset, Paint, Style, Tone, columns};
pub use table::{Align, Column, Spans, Table};
pub use tree::{draw, head};
pub use view::{BranchView, HeadView, MainView, Mark, MemoriesView, MemoryView, SessionView};
pub use words::{ago, duration, fitted, money, one_line, packed, short, signed, thousands, wrapped};
