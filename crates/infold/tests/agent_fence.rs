//! The fence around the agent's commands, with the program and the kernel: what a confined command cannot do, and that no
//! process outlives its command.

mod commands;
mod confined;
