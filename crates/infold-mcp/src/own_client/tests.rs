//! What infold's own agent gets of infold's own server.

use std::path::Path;
use std::sync::Arc;

use infold_core::Principal;
use infold_core::gateway::{DeferralMode, HealthRules, NewTools, SchemaForm};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::link_own_agent;
use crate::gateway::{CallOptions, LinkError, LinkLimits, ListKind, ListLimits};
use crate::testing::{server, settings};
use crate::{Gateway, GatewayListing, GatewaySetup, Server};

fn limits() -> LinkLimits {
    LinkLimits {
        start_timeout_ms: 10_000,
        message_bytes_max: 1 << 20,
        calls_max: 4,
        close_timeout_ms: 1_000,
        list: ListLimits { pages_max: 3, items_max: 50, item_bytes_max: 10_000, timeout_ms: 10_000 },
    }
}

fn gateway_setup() -> GatewaySetup {
    GatewaySetup {
        servers: Vec::new(),
        folder: None,
        new_tools: NewTools::Pin,
        listing: GatewayListing { mode: DeferralMode::Call, room_tokens: 1_000, form: SchemaForm::AsIs },
        limits: limits(),
        health: HealthRules { retry_first_ms: 1, retry_max_ms: 1, failures_max: 1, open_ms: 1 },
        list_wait_ms: 10_000,
        idle_ms: 10_000,
        children_max: 1,
        result_bytes_max: 1 << 20,
        heartbeat_ms: 10_000,
        questions_max: 1,
        question_wait_ms: 1,
    }
}

#[tokio::test]
async fn the_agent_gets_the_gateways_tools_and_none_of_infolds() {
    let fixture = server(settings());
    let gateway = Gateway::new(fixture.engine.clone(), gateway_setup());
    let server = Server::new(fixture.engine.clone(), settings(), Some(Arc::clone(&gateway)));
    let shutdown = CancellationToken::new();
    let link = link_own_agent(&server, Principal::local(), Path::new("/p"), limits(), shutdown.clone()).await.unwrap();

    let listed = link.list(ListKind::Tools).await.unwrap();
    let names: Vec<&str> = listed.items.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["tool_search", "tool_call", "tool_call_read"]);

    let call = async |tool: &str, arguments| {
        let params = json!({ "name": tool, "arguments": arguments });
        link.request("tools/call", params, CallOptions::within(10_000)).await
    };
    let found = call("tool_search", json!({ "query": "anything" })).await.unwrap();
    assert_eq!(found["structuredContent"]["tools"], json!([]));
    let own = call("branch_create", json!({ "session_id": "s", "description": "d" })).await;
    assert!(!matches!(&own, Ok(answer) if answer["isError"] != true), "{own:?}");

    shutdown.cancel();
    let gone = call("tool_search", json!({ "query": "anything" })).await;
    assert!(matches!(gone, Err(LinkError::Ended { .. } | LinkError::Closed)), "{gone:?}");
    fixture.engine.tasks().close();
    fixture.engine.tasks().wait().await;
}
