//! infold's own agent, run as `infold exec` against a strict model: what the model is sent, what is done in the folder,
//! what the command prints, and how it ends.
//!
//! The model refuses what its provider would refuse (`infold_testkit::model`), so every test here is also a test of the
//! providers' rules. Tests that are named `enh_N_…` show an enhancement of the context engine (`docs/requirements.md`).

mod branches;
mod context;
mod edits;
mod endings;
mod fallbacks;
mod fence;
mod first;
pub mod images;
mod instructions;
mod interrupted;
mod keys;
mod kills;
mod providers;
mod repeated_ids;
pub mod scene;
mod takeover;
