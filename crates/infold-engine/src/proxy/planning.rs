//! Planning with this database's keys.

use std::panic::AssertUnwindSafe;

use infold_core::view::{self, Known, Plan, Request};

use crate::{Engine, Failure};

impl Engine {
    /// Decides what is sent of a request. A fault in planning is an error and not a panic, because the
    /// request goes on without a plan then.
    pub fn plan_view(&self, request: &Request<'_>, known: &Known) -> Result<Plan, Failure> {
        let plan = || view::plan(request, known, self.id_key(), &self.inner.scrubber);
        std::panic::catch_unwind(AssertUnwindSafe(plan)).map_err(|_| Failure::Planning)
    }
}
