//! Who can cancel which call.

use infold_core::Owner;

use super::RunningCalls;
use crate::http::HttpCall;

#[test]
fn only_the_client_that_made_a_call_can_cancel_it() {
    let (running, call, owner) = (RunningCalls::default(), HttpCall::default(), Owner::local());
    let entered = running.enter(&owner, "client", "7", &call);

    running.cancel(&Owner::from_subject("somebody"), "client", "7");
    running.cancel(&owner, "another", "7");
    running.cancel(&owner, "client", "8");
    assert!(!call.cancelled.is_cancelled());

    running.cancel(&owner, "client", "7");
    assert!(call.cancelled.is_cancelled());
    drop(entered);
}

#[test]
fn a_call_that_is_over_leaves_nothing_behind() {
    let (running, call, owner) = (RunningCalls::default(), HttpCall::default(), Owner::local());
    drop(running.enter(&owner, "client", "7", &call));
    assert!(running.table(|table| table.is_empty()));
}
