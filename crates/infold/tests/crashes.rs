//! What is left when the program is killed or the power fails, again and again. These tests keep the machine busy, so
//! they are a test program of their own and run by themselves.

#![allow(clippy::print_stdout, reason = "`cargo xtask torture` reads the figures of long runs")]

mod kill;
mod power_loss;
