//! Several machines with one state: daemons with folders of their own, on three real NATS servers.

mod access;
mod agents;
mod clocks;
mod direct;
mod faults;
mod history;
mod lapse;
mod looking;
mod lost;
mod machines;
mod moves;
mod offline;
mod owners;
mod power;
mod python;
mod refusals;
mod secrets;
mod transfer;
mod trimming;
mod watching;
