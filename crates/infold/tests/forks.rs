//! Forks through the running program: over MCP and over the JSON API, of sessions that it keeps and of
//! transcripts that are handed in, with bad input, planted secrets, and the daemon killed in between.

mod crashes;
mod kept_sessions;
mod mistakes;
mod scene;
mod secrets;
mod transcripts;
