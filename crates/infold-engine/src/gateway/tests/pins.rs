//! Tools that are learnt, pinned, changed and approved, over restarts.

use infold_core::gateway::{
    CallLimits, Definition, DefinitionsRead, EntryOrigin, HintTrust, NamedValues, NewTools, PinKey, Rights,
    ServerEntry, ServerKind, ServerWay, Sharing,
};
use serde_json::json;

use super::{is_on_disk, secret, server};
use crate::ServerTools;
use crate::tests::{Bench, settings};

fn tools(offered: &[(&str, &str)]) -> Vec<Definition> {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let tool = |(name, text): &(&str, &str)| json!({"name": name, "description": text, "inputSchema": schema});
    let values: Vec<_> = offered.iter().map(tool).collect();
    DefinitionsRead::of(&server(), &values).definitions
}

fn pin_key() -> PinKey {
    PinKey { server: server(), target: "one".to_owned() }
}

/// Usable tools with their texts, then withheld ones with the reason.
fn lines(tools: &ServerTools) -> Vec<String> {
    let usable = tools.usable.iter().map(|tool| format!("{}: {}", tool.definition.tool, tool.definition.description));
    let withheld = tools.withheld.iter().map(|withheld| format!("{} {}", withheld.tool, withheld.why.words()));
    usable.chain(withheld).collect()
}

async fn learn(bench: &Bench, offered: &[(&str, &str)], new_tools: NewTools) -> Vec<String> {
    // Every time in another process.
    let engine = bench.another(settings());
    let learnt = engine.learn_tools(&pin_key(), tools(offered), new_tools).await.unwrap();
    assert_eq!(bench.engine.known_tools(&server()).await.unwrap(), learnt, "the store says the same");
    lines(&learnt)
}

#[tokio::test]
async fn pins_outlive_restarts_and_a_changed_tool_is_withheld_until_it_is_approved() {
    let bench = Bench::new(settings());
    let first = learn(&bench, &[("write", "writes"), ("read", "reads")], NewTools::Withhold).await;
    assert_eq!(first, ["read: reads", "write: writes"], "all that a new server has is pinned");
    assert_eq!(learn(&bench, &[("read", "reads"), ("write", "writes")], NewTools::Withhold).await, first);

    let changed = learn(&bench, &[("read", "reads, and more"), ("list", "lists")], NewTools::Withhold).await;
    let reasons = ["list is new, and was not approved yet", "read was changed by its server since it was approved"];
    assert_eq!(changed, reasons, "and what is gone is not there");
    let waiting = bench.engine.waiting_tools().await.unwrap();
    assert_eq!(waiting.iter().map(|tool| tool.tool.as_str()).collect::<Vec<_>>(), ["list", "read"]);
    assert!(waiting[0].pinned.is_none());
    assert_eq!(waiting[1].pinned.as_ref().unwrap().description, "reads");
    assert_eq!(waiting[1].offered.description, "reads, and more");

    assert_eq!(bench.engine.approve_tools(&server(), Some("read")).await.unwrap(), ["read"]);
    let approved = bench.engine.known_tools(&server()).await.unwrap();
    assert_eq!(lines(&approved), ["read: reads, and more", reasons[0]]);
    assert_eq!(bench.engine.approve_tools(&server(), None).await.unwrap(), ["list"]);
    assert!(bench.engine.approve_tools(&server(), None).await.unwrap().is_empty());

    let back = learn(&bench, &[("read", "reads, and more"), ("write", "writes elsewhere")], NewTools::Pin).await;
    assert_eq!(back, ["read: reads, and more", "write was changed by its server since it was approved"]);
    let same = learn(&bench, &[("read", "reads, and more"), ("write", "writes")], NewTools::Pin).await;
    assert_eq!(same, ["read: reads, and more", "write: writes"], "a tool that is again what it was needs no approval");
}

#[tokio::test]
async fn new_tools_of_a_known_server_are_pinned_if_the_user_says_so() {
    let bench = Bench::new(settings());
    learn(&bench, &[("read", "reads")], NewTools::Withhold).await;
    let withheld = learn(&bench, &[("list", "lists"), ("read", "reads")], NewTools::Withhold).await;
    assert_eq!(withheld, ["read: reads", "list is new, and was not approved yet"]);
    assert_eq!(learn(&bench, &[("read", "reads")], NewTools::Withhold).await, ["read: reads"]);
    let pinned = learn(&bench, &[("list", "lists"), ("read", "reads")], NewTools::Withhold).await;
    assert_eq!(pinned, withheld);
    let pinned = learn(&bench, &[("list", "lists"), ("read", "reads")], NewTools::Pin).await;
    assert_eq!(pinned, ["list: lists", "read: reads"]);
}

#[tokio::test]
async fn no_secret_in_a_definition_is_stored_and_its_tool_is_usable() {
    let bench = Bench::new(settings());
    let text = format!("pass token={}", secret());
    let offered = tools(&[("read", &text), (&secret(), "odd")]);
    let hash = offered[0].hash();
    let learnt = bench.engine.learn_tools(&pin_key(), offered, NewTools::Pin).await.unwrap();
    assert_eq!((learnt.usable.len(), learnt.withheld.len()), (1, 1));
    assert!(learnt.usable[0].definition.description.contains("[SECRET:"), "{learnt:?}");
    assert_eq!(learnt.usable[0].hash, hash, "what the server sent is what is compared");
    assert!(learnt.usable[0].tokens > 10);
    assert!(!format!("{learnt:?}").contains(&secret()) && !is_on_disk(&bench, &secret()));
    let again = bench.engine.learn_tools(&pin_key(), tools(&[("read", &text)]), NewTools::Pin).await.unwrap();
    assert_eq!(again.usable, learnt.usable);
}

#[tokio::test]
async fn a_projects_server_is_approved_as_it_is_written() {
    let bench = Bench::new(settings());
    let entry = |program: &str| ServerEntry {
        key: server(),
        way: ServerWay::Child {
            program: program.to_owned(),
            arguments: Vec::new(),
            variables: NamedValues::default(),
            inherited: Vec::new(),
            folder: None,
        },
        prefix: String::new(),
        kind: ServerKind::Plain,
        sharing: Sharing::PerProject,
        limits: CallLimits { start_timeout_ms: 1, call_timeout_ms: 1 },
        rights: Rights::default(),
        hints: HintTrust::Ignored,
        origin: EntryOrigin::Settings,
    };
    bench.engine.approve_entry("/a", &entry("x")).await.unwrap();
    let again = bench.another(settings());
    assert!(again.is_entry_approved("/a", &entry("x")).await.unwrap());
    assert!(!again.is_entry_approved("/b", &entry("x")).await.unwrap(), "another project");
    assert!(!again.is_entry_approved("/a", &entry("y")).await.unwrap(), "another program");
}

#[tokio::test]
async fn servers_of_one_name_have_pins_of_their_own() {
    let bench = Bench::new(settings());
    let other = PinKey { target: "two".to_owned(), ..pin_key() };
    let here = tools(&[("read", "reads files")]);
    let there = tools(&[("read", "reads mail"), ("send", "sends mail")]);
    for _ in 0..2 {
        let learnt = bench.engine.learn_tools(&pin_key(), here.clone(), NewTools::Pin).await.unwrap();
        assert_eq!(lines(&learnt), ["read: reads files"]);
        let learnt = bench.engine.learn_tools(&other, there.clone(), NewTools::Pin).await.unwrap();
        assert_eq!(lines(&learnt), ["read: reads mail", "send: sends mail"]);
    }
    assert!(bench.engine.waiting_tools().await.unwrap().is_empty());

    let changed = tools(&[("read", "reads everything")]);
    bench.engine.learn_tools(&pin_key(), changed, NewTools::Pin).await.unwrap();
    assert_eq!(bench.engine.pinned_tools(&other).await.unwrap().usable.len(), 2, "the other one has not changed");
    assert_eq!(bench.engine.approve_tools(&server(), None).await.unwrap(), ["read"]);
    assert_eq!(lines(&bench.engine.pinned_tools(&pin_key()).await.unwrap()), ["read: reads everything"]);
    assert_eq!(bench.engine.pinned_tools(&other).await.unwrap().usable.len(), 2);
}

#[tokio::test]
async fn pins_from_before_targets_were_known_are_the_first_ones_who_comes() {
    let bench = Bench::new(settings());
    let before = PinKey { target: String::new(), ..pin_key() };
    bench.engine.learn_tools(&before, tools(&[("read", "reads")]), NewTools::Pin).await.unwrap();
    assert_eq!(lines(&bench.engine.pinned_tools(&pin_key()).await.unwrap()), ["read: reads"]);

    let changed = bench.engine.learn_tools(&pin_key(), tools(&[("read", "deletes")]), NewTools::Pin).await.unwrap();
    assert_eq!(lines(&changed), ["read was changed by its server since it was approved"]);
    let other = PinKey { target: "two".to_owned(), ..pin_key() };
    let learnt = bench.engine.learn_tools(&other, tools(&[("read", "sings")]), NewTools::Pin).await.unwrap();
    assert_eq!(lines(&learnt), ["read: sings"]);
}
