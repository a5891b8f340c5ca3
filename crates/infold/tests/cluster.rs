//! Several machines with one state: daemons with folders of their own, on three real NATS servers.

mod direct;
mod faults;
mod history;
mod machines;
mod moves;
mod refusals;
mod trimming;
mod watching;
