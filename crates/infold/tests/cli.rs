//! The program as people run it: what it prints where, and how it ends. Each test has a home of its
//! own, so nothing of the person's is read or written.

mod count;
mod demo;
pub mod home;
mod inspect;
mod memory;
mod scrubbing;
mod secret;
mod serve;
mod settings;
mod shell;
