//! The gateway's side of the program: which servers the user has, how they are reached, and how servers of other clients
//! become infold's.

mod configured;
mod entries;
mod hosting;
mod import;
mod logins;
mod project;
mod taken;
mod variables;
mod way;

pub use configured::configured;
pub use entries::{LoadedServer, LoadedState, is_own, load};
pub use hosting::start;
pub use import::{AddedServers, Import, ImportScope, ImportSource, ImportedServer, add_servers};
pub use logins::{LoginTarget, login_store, login_target, store_wish};
pub use project::{ProjectServer, approve_project_server, project_servers};
pub use taken::{OffServer, TakenServers, take_none, take_servers};
pub use way::{describe as describe_way, link_way};
