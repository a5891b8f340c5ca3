//! Real usage, as providers report it, into the same budgets as everything else.

use infold_core::record::Usage;
use infold_core::{Command, Decision, Principal, Session, SessionId, Thread};
use infold_store::Loaded;

use crate::change::{Absent, Change, ChangeTarget, Proposal};
use crate::observe::exhausted_by;
use crate::open::named;
use crate::{Engine, Error, Notice, SessionRef};

impl Engine {
    /// Counts what a model answered in a thread: the thread grows by the answer. Gives the branch that has
    /// folded because its budget is used up by that, if one has; the next request goes on in its parent.
    #[tracing::instrument(skip_all)]
    pub async fn meter(
        &self,
        who: &Principal,
        session: &SessionId,
        thread: &Thread,
        usage: &Usage,
    ) -> Result<Option<Notice>, Error> {
        let change = Change {
            owner: who.owner.clone(),
            target: ChangeTarget::Session(SessionRef::Id(session.clone())),
            also: named(Some(thread)),
            absent: Absent::Start,
            key: None,
        };
        let propose = |_: &Loaded| {
            let meter = Command::Meter { thread: thread.clone(), usage: *usage };
            Ok(Proposal::of(vec![meter]))
        };
        let answer = |_: &Session, decision: &Decision| Ok(exhausted_by(decision));
        self.change(&change, propose, answer).await
    }
}
