//! What is taken out of a server's words, and what stays.

use infold_core::gateway::{CallLimits, EntryOrigin, HintTrust, LoginHints, Rights, ServerKey, ServerKind, Sharing};

use super::*;
use crate::gateway::{ChildWay, HttpWay};

fn entry(way: ServerWay) -> ServerEntry {
    ServerEntry {
        key: ServerKey::new("s"),
        way,
        prefix: String::new(),
        kind: ServerKind::Plain,
        sharing: Sharing::Shared,
        limits: CallLimits { start_timeout_ms: 1, call_timeout_ms: 1 },
        rights: Rights::default(),
        hints: HintTrust::Trusted,
        origin: EntryOrigin::Settings,
    }
}

#[test]
fn a_token_in_a_header_is_hidden_with_and_without_its_scheme() {
    let headers = vec![("Authorization".to_owned(), "Bearer abc-def-ghi".to_owned())];
    let written = ServerWay::Http {
        url: String::new(),
        headers: NamedValues(vec![("Authorization".to_owned(), "Bearer ${KEY}".to_owned())]),
        helper: None,
        login: LoginHints::default(),
    };
    let hidden = HiddenValues::of(
        &entry(written),
        &LinkWay::Http(HttpWay { url: String::new(), headers, helper: None, login: None }),
    );
    assert_eq!(hidden.hide("Bearer abc-def-ghi, abc-def-ghi".to_owned()), "Bearer [hidden], [hidden]");
}

#[test]
fn only_variables_that_the_entry_names_are_hidden() {
    let written = ServerWay::Child {
        program: "x".to_owned(),
        arguments: Vec::new(),
        variables: NamedValues(vec![("KEY".to_owned(), "${SECRET}".to_owned()), ("PORT".to_owned(), "80".to_owned())]),
        inherited: vec!["TOKEN".to_owned()],
        folder: None,
    };
    let variables = [("KEY", "long-secret"), ("PORT", "80"), ("TOKEN", "long-secret-too"), ("HOME", "/home/somebody")];
    let way = ChildWay {
        tender: "x".into(),
        program: "x".into(),
        arguments: Vec::new(),
        variables: variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        folder: None,
    };
    let hidden = HiddenValues::of(&entry(written), &LinkWay::Child(way));
    let words = "long-secret long-secret-too 80 /home/somebody".to_owned();
    assert_eq!(hidden.hide(words), "[hidden] [hidden] 80 /home/somebody");
}
