//! MCP servers that the editor hands over: they are the agent's, through the gateway.

use agent_client_protocol::v1::schema::{
    EnvVariable, McpServer, McpServerHttp, McpServerSse, McpServerStdio, NewSessionRequest, SessionId, StopReason,
};
use infold_testkit::model::{Script, Step};
use serde_json::{Value, json};

use super::editor::{ALLOWS, Editor, PlayedModel, until};
use crate::agent::scene::{ASKED, Scene, calls, result_of};
use crate::gateway::relaying::{as_setting, echo_tools, server, text_result};

/// A server of the tests as an editor names it.
fn handed(server: &Value) -> McpServer {
    let arguments = server["args"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned());
    let variables = server["env"].as_object().unwrap().iter();
    let variables = variables.map(|(name, value)| EnvVariable::new(name, value.as_str().unwrap()));
    let stdio = McpServerStdio::new(server["name"].as_str().unwrap(), "/bin/sh");
    McpServer::Stdio(stdio.args(arguments.collect()).env(variables.collect()))
}

async fn begin(editor: &Editor, scene: &Scene, servers: Vec<McpServer>) -> SessionId {
    let request = NewSessionRequest::new(scene.file("")).mcp_servers(servers);
    editor.connection.send_request(request).block_task().await.unwrap().session_id
}

#[tokio::test]
async fn tools_of_a_server_that_the_editor_hands_over_are_called_through_the_gateway() {
    let scene = Scene::start(Script::new([
        calls(vec![("files__read_file", json!({"path": "a.txt"}))]),
        Step::text("Read."),
        Step::text("No tools."),
    ]))
    .await
    .set("gateway.list_wait_ms=20000");
    let files = server("files", &echo_tools(), &text_result("what the file says"));
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let session = begin(&editor, &scene, vec![handed(&files)]).await;
            assert_eq!(editor.say(&session, ASKED).await.unwrap(), StopReason::EndTurn);
            let call = editor.call(&session, "files__read_file");
            assert_eq!((&call["status"], &call["name"]), (&json!("completed"), &json!("files__read_file")), "{call}");
            let other = begin(&editor, &scene, Vec::new()).await;
            assert_eq!(editor.say(&other, ASKED).await.unwrap(), StopReason::EndTurn);
        })
        .await;
    let turns = scene.turns();
    assert!(result_of(&turns[1], "files__read_file").contains("what the file says"));
    assert!(turns[0].holds("files__read_file"), "{}", turns[0].shape());
    assert!(!turns[2].holds("files__delete_file"), "one session's servers are not the other's");
}

#[tokio::test]
async fn servers_that_cannot_be_used_are_named_and_the_session_works_without_them() {
    let scene = Scene::start(Script::new([Step::text("Here.")])).await;
    let settings = as_setting(&[server("files", &echo_tools(), &text_result("of the settings"))]);
    let scene = scene.set("gateway.list_wait_ms=20000").set(&format!("gateway.servers={settings}"));
    let servers = vec![
        McpServer::Http(McpServerHttp::new("files", "http://127.0.0.1:9/mcp")),
        McpServer::Sse(McpServerSse::new("old", "http://127.0.0.1:9/sse")),
        McpServer::Stdio(McpServerStdio::new("itself", "/usr/bin/infold").args(vec!["mcp".to_owned()])),
        McpServer::Stdio(McpServerStdio::new("gone", "/nowhere/to/be/found")),
    ];
    PlayedModel::new(&scene, ALLOWS)
        .does(async |editor| {
            let session = begin(&editor, &scene, servers).await;
            until("the notes", || editor.of_kind(&session, "agent_message_chunk").len() >= 3).await;
            let said = editor.said(&session);
            for words in ["there is another server files", "over SSE is not used", "itself is infold itself"] {
                assert!(said.contains(words), "{words}: {said}");
            }
            assert_eq!(editor.say(&session, ASKED).await.unwrap(), StopReason::EndTurn);
            assert!(editor.said(&session).contains("gone"), "{}", editor.said(&session));
        })
        .await;
    assert!(scene.turns()[0].holds("files__read_file"));
}
