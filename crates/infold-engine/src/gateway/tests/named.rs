//! Names of tools, and servers of the settings beside what is stored of them.

use infold_core::Principal;
use infold_core::gateway::{
    CallLimits, DefinitionsRead, EntryOrigin, HintTrust, NamedValues, NewTools, Rights, ServerEntry, ServerKey,
    ServerKind, ServerWay, Sharing,
};
use serde_json::json;

use crate::tests::{Bench, settings};
use crate::{ConfiguredServer, NamedTools, ServerUse};

/// A server whose tools have no prefix.
fn configured(name: &str, use_now: ServerUse) -> ConfiguredServer {
    let entry = ServerEntry {
        key: ServerKey::new(name),
        way: ServerWay::Child {
            program: "x".to_owned(),
            arguments: Vec::new(),
            variables: NamedValues::default(),
            inherited: Vec::new(),
            folder: None,
        },
        prefix: String::new(),
        kind: ServerKind::Plain,
        sharing: Sharing::Shared,
        limits: CallLimits { start_timeout_ms: 1, call_timeout_ms: 1 },
        rights: Rights::default(),
        hints: HintTrust::Trusted,
        origin: EntryOrigin::Settings,
    };
    ConfiguredServer { entry, way: "x".to_owned(), origin: "here".to_owned(), use_now }
}

async fn learn(bench: &Bench, server: &str, description: &str) {
    let key = configured(server, ServerUse::On).entry.pin_key();
    let offered = json!({"name": "read", "description": description, "inputSchema": {"type": "object"}});
    let offered = DefinitionsRead::of(&key.server, [&offered]).definitions;
    bench.engine.learn_tools(&key, offered, NewTools::Pin).await.unwrap();
}

fn names(tools: &NamedTools) -> Vec<String> {
    tools.callable.iter().map(|tool| format!("{} of {}", tool.name, tool.definition.server)).collect()
}

#[tokio::test]
async fn a_withheld_tool_keeps_its_name_from_others() {
    let bench = Bench::new(settings());
    let servers = [configured("one", ServerUse::On), configured("two", ServerUse::On)];
    learn(&bench, "one", "reads").await;
    learn(&bench, "two", "reads too").await;
    let before = names(&bench.engine.named_tools(&servers).await.unwrap());
    assert_eq!(before[0], "read of one");

    learn(&bench, "one", "reads, and sends").await;
    let tools = bench.engine.named_tools(&servers).await.unwrap();
    assert_eq!(names(&tools), before[1..]);
    let refused = "read was changed by its server since it was approved: ask the user to run `infold approve one/read`";
    assert_eq!((tools.refused["read"].as_str(), tools.refused["one/read"].as_str()), (refused, refused));
}

#[tokio::test]
async fn servers_are_in_the_order_of_settings_and_others_follow() {
    let bench = Bench::new(settings());
    learn(&bench, "removed", "reads").await;
    learn(&bench, "off", "reads").await;
    let refused = ServerUse::Refused("KEY is not set".to_owned());
    let servers = [configured("new", ServerUse::On), configured("off", ServerUse::Off), configured("bad", refused)];
    let seen = bench.engine.servers(&Principal::local(), &servers).await.unwrap();
    let line = |at: usize| {
        let server = &seen[at];
        (server.figures.server.as_str(), server.state.as_str(), server.detail.as_deref(), server.origin.as_deref())
    };
    assert_eq!(line(0), ("new", "configured", None, Some("here")));
    assert_eq!(line(1), ("off", "off", None, Some("here")));
    assert_eq!(line(2), ("bad", "refused", Some("KEY is not set"), Some("here")));
    assert_eq!(line(3), ("removed", "configured", None, None));
    assert!(bench.engine.named_tools(&servers).await.unwrap().callable.is_empty(), "one that is off has no tools");
}
