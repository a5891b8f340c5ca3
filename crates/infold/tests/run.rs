//! `infold run`, with programs in the agents' places that show what they were given: the agent's terminal,
//! arguments, signals and exit code are its own, and its requests go through infold.

mod behind;
mod folding_behind;
mod mistakes;
mod passing_through;
mod saving;
mod stand_in;
mod terminal;
