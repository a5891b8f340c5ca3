//! What is left when the program is killed or the power fails, again and again. These tests keep the machine busy, so
//! they are a test program of their own and run by themselves.

mod kill;
mod power_loss;
