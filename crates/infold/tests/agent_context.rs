//! How infold's own agent keeps its context: long sessions, compactions in every hard case, and what branches keep out of
//! the main thread. The running program against the strict model.

mod branches;
mod compactions;
mod long;
mod scene;
