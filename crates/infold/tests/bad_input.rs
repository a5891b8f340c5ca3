//! Bad input, from every side: each argument of each tool missing, empty, of the wrong type, too long,
//! or somebody else's; bodies that are no messages. Whatever comes, the answer is a clear error, and
//! nothing is stored.
//!
//! The cases are made from the schemas that `tools/list` and the OpenAPI description publish, so that
//! a new tool, argument or route is covered when it appears.

mod bodies;
mod cases;
mod ids;
mod json_api;
mod scene;
mod stdio;
mod tools;
