//! The running program, driven from outside: one test program for all of it, because each that is linked costs
//! as much as compiling its tests. `crashes` is the other one: it disturbs what runs beside it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "`cargo xtask torture` reads the figures of long runs")]

mod acp;
mod agent;
mod agent_context;
mod agent_fence;
mod agent_sessions;
mod bad_input;
mod chat;
mod cli;
mod cluster;
mod connect;
mod forks;
mod gateway;
mod memories;
mod proxy;
mod recorder;
mod recordings;
mod requirements;
mod rescue;
mod run;
mod strangers;
mod support;
mod together;
mod trouble;
