//! How far branches are in their budgets, for telling them before a budget is gone.

use infold_core::{BranchId, Principal, SessionId};
use infold_store::{Also, SessionKey, Target};

use crate::{Engine, Error};

/// How much of its budget a branch has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetUse {
    /// Tokens that it has used.
    pub used_tokens: u64,
    /// Tokens that it may use.
    pub budget_tokens: u64,
}

impl Engine {
    /// How far an open branch is in its budget, if that is far enough for a warning.
    pub async fn budget_nearly_gone(
        &self,
        who: &Principal,
        session: &SessionId,
        branch: &BranchId,
    ) -> Result<Option<BudgetUse>, Error> {
        let key = SessionKey { owner: who.owner.clone(), id: session.clone() };
        let session = self.look(Target::Session(key), Also::Nothing).await?;
        let branch = session.as_ref().and_then(|session| session.branches.get(branch));
        Ok(branch
            .filter(|branch| branch.warned && branch.is_open())
            .map(|branch| BudgetUse { used_tokens: branch.budget_used_tokens(), budget_tokens: branch.budget_tokens }))
    }
}
