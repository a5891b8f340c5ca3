//! The flight recorder of the running daemon: what is shown of each request through the JSON API, by `infold show`
//! and by `infold top`, after real work between a scripted agent and a strict model.

mod metering;
mod requests;
mod scene;
mod showing;
mod terminal;
