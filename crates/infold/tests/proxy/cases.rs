//! The hard cases of folding, one test each, named like the case.

mod client;
mod ending;
mod making;
mod seeing;
