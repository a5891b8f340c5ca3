//! Those who may not come in: web pages, other users of the machine, bearers of bad tokens. Each is
//! turned away on every route there is, with every method, before any of it is looked at.

mod bearers;
mod other_user;
mod pages;
mod routes;

pub use other_user::NOBODY;
