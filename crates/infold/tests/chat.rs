//! `infold chat` in a real terminal (tmux), against a model that records what it was sent.

mod beginnings;
mod conversation;
mod images;
mod plain;
mod scene;
mod sizes;
mod trouble;
mod typing;
