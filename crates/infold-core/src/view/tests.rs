//! Views, as text in and text out, and the laws over generated conversations.

mod cleared;
mod details;
mod hard_cases;
mod laws;
mod overflow;
mod said;
mod stored;
pub(super) mod text;
