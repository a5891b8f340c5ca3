//! infold's own agent through the running program: tools of other servers, going back, and lists, searches and exports of its sessions.

mod listing;
mod others;
mod rewind;
mod scene;
