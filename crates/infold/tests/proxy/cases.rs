//! The hard cases of folding, one test each, named like the case.

mod client;
mod ending;
mod last_words;
mod making;
mod seeing;
mod spoken_words;
