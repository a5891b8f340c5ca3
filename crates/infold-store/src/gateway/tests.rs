//! Rows of the gateway, written and read back.

use infold_core::Owner;
use infold_core::gateway::{DefinitionHash, LatencyCounts, ServerKey};
use infold_core::view::ScrubbedJson;
use tempfile::TempDir;

use super::{KeptDefinition, StoredPin, StoredTool, ToolFigures};
use crate::tests::open_store;

fn kept(hash: &str) -> KeptDefinition {
    let json = format!("{{\"description\":\"{}\"}}", hash.repeat(600));
    KeptDefinition { hash: DefinitionHash::from_stored(hash.to_owned()), definition: ScrubbedJson::stored(json) }
}

fn tool(name: &str, pin: Option<&str>, waiting: Option<&str>) -> StoredTool {
    StoredTool {
        server: ServerKey::new("files"),
        target: "t".to_owned(),
        tool: name.to_owned(),
        pin: pin.map(|hash| StoredPin { kept: kept(hash), tokens: 7, at_ms: 1 }),
        waiting: waiting.map(kept),
        gone_at_ms: None,
    }
}

#[tokio::test]
async fn tools_are_changed_in_one_step_and_one_without_a_definition_is_deleted() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let server = ServerKey::new("files");
    let rows = vec![tool("a", Some("aa"), None), tool("b", Some("bb"), Some("cc")), tool("c", None, Some("dd"))];
    let written = rows.clone();
    store
        .change_gateway_tools(server.clone(), move |before| (written.clone(), assert!(before.is_empty())))
        .await
        .unwrap();
    assert_eq!(store.gateway_tools(Some(server.clone())).await.unwrap(), rows);
    assert_eq!(store.gateway_tools(Some(ServerKey::new("other"))).await.unwrap(), []);

    let count = store.change_gateway_tools(server.clone(), |before| (vec![tool("c", None, None)], before.len()));
    assert_eq!(count.await.unwrap(), 3);
    assert_eq!(store.gateway_tools(None).await.unwrap(), rows[..2]);
}

#[tokio::test]
async fn figures_add_up_over_processes() {
    let folder = TempDir::new().unwrap();
    let mut latencies = LatencyCounts::default();
    latencies.note(900);
    let new = ToolFigures {
        owner: Owner::local(),
        server: ServerKey::new("files"),
        tool: "read".to_owned(),
        calls: 1,
        errors: 1,
        tokens_in: 2,
        tokens_out: 3,
        bytes: 4,
        offloaded: 1,
        latencies,
        last_at_ms: 50,
    };
    for _ in 0..2 {
        open_store(&folder).add_gateway_calls(vec![new.clone(), new.clone()]).await.unwrap();
    }
    let mut sum = new.clone();
    (0..3).for_each(|_| sum.add(&new));
    assert_eq!(open_store(&folder).gateway_calls(Owner::local()).await.unwrap(), [sum]);
}
