//! Tests of the crate as a whole: laws, and the sessions in text form that tests are written with.

mod laws;
pub(crate) mod script;
