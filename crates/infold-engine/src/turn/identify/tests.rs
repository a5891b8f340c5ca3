//! Session names of clients, turned into names that the engine takes.

use super::*;

#[test]
fn a_clients_own_name_is_kept_where_it_can_be() {
    assert_eq!(SessionId::of_client("0f3a-11", None).as_str(), "0f3a-11");
    assert_eq!(SessionId::of_client("0f3a-11", Some("agent.1")).as_str(), "0f3a-11:agent.1");
    let hashed = SessionId::of_client("a name with spaces", None);
    assert!(hashed.as_str().starts_with("x-") && hashed.as_str().len() == 34, "{hashed}");
    assert_eq!(hashed, SessionId::of_client("a name with spaces", None));
    assert_ne!(hashed, SessionId::of_client("a name with spaces", Some("b")));
    assert_eq!(SessionId::of_client(&"s".repeat(200), None).as_str().len(), 34);
}

#[test]
fn two_conversations_that_begin_alike_are_two() {
    assert_ne!(nameless(&[[1; 32]], 7), nameless(&[[1; 32]], 7));
}
