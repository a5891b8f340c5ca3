//! infold's agent in an editor: the protocol's own client drives `infold acp` against a strict model, and peers that break
//! the protocol get an error and lose nothing.

mod commands;
mod editor;
mod loading;
mod malformed;
mod permissions;
mod servers;
mod sessions;
mod turns;
