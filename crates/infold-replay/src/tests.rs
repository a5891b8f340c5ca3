//! Tests of the whole: laws, and what they are written with.

mod laws;
pub(crate) mod script;
