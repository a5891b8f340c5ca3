//! Several machines with one state: daemons with folders of their own, on three real NATS servers.

mod faults;
mod machines;
mod moves;
mod refusals;
mod transfer;
mod trimming;
mod watching;
