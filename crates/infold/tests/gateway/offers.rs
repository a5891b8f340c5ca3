//! Prompts and resources of a server, seen through infold: the server is another daemon with the suite's fixtures.

use anyhow::{Context, Result};
use infold_testkit::{CallAnswer, Daemon, DaemonSetup, Era, McpHttp};
use serde_json::{Value, json};

/// A daemon with fixtures, and one in front of it.
async fn chain() -> Result<(Daemon, Daemon)> {
    let behind = DaemonSetup::new(env!("CARGO_BIN_EXE_infold")).start().await?;
    let url = format!("{}/mcp/conformance", behind.base_url());
    let front = DaemonSetup::new(env!("CARGO_BIN_EXE_infold"))
        .set("gateway.list_wait_ms", 20_000)
        .set("gateway.deferral_tokens", 20_000)
        .set("gateway.servers", format!("[{{ name = \"up\", url = \"{url}\" }}]"))
        .start()
        .await?;
    Ok((behind, front))
}

async fn ask(client: &McpHttp, method: &str, params: Value) -> Result<CallAnswer> {
    let answer = client.request(method, params, serde_json::Map::new()).await?;
    match &answer.jsonrpc_error {
        Some(error) => anyhow::bail!("{method}: {} {}", error.code, error.message),
        None => Ok(answer),
    }
}

fn texts<'a>(answer: &'a CallAnswer, list: &str, key: &str) -> Vec<&'a str> {
    let items = answer.result[list].as_array().into_iter().flatten();
    items.filter_map(|item| item[key].as_str()).collect()
}

#[tokio::test]
async fn prompts_resources_and_completions_pass_in_both_eras() -> Result<()> {
    let (_behind, front) = chain().await?;
    for era in [Era::Legacy, Era::Modern] {
        let client = McpHttp::connect(front.base_url(), era).await?;
        // Until its servers are seen, a gateway may not know what they have.
        client.list_tools().await?;
        let prompts = ask(&client, "prompts/list", json!({})).await?;
        let names = texts(&prompts, "prompts", "name");
        let name = names.iter().find(|name| name.ends_with("simple_prompt")).context(format!("{names:?}"))?;
        assert!(name.starts_with("up__"), "{name}");
        let prompt = ask(&client, "prompts/get", json!({ "name": name })).await?;
        assert!(prompt.result["messages"][0]["content"]["text"].is_string(), "{}", prompt.result);

        let resources = ask(&client, "resources/list", json!({})).await?;
        let (own, others): (Vec<&str>, Vec<&str>) =
            texts(&resources, "resources", "uri").into_iter().partition(|uri| uri.starts_with("infold://"));
        assert_eq!(own, ["infold://memories"], "infold's own are beside those of servers");
        let uri = *others.first().context("no resource is listed")?;
        let read = ask(&client, "resources/read", json!({ "uri": uri })).await?;
        assert_eq!(read.result["contents"][0]["uri"], uri);
        let templates = ask(&client, "resources/templates/list", json!({})).await?;
        let templates = texts(&templates, "resourceTemplates", "uriTemplate");
        let template = templates.iter().find(|uri| !uri.starts_with("infold://")).context("no template is listed")?;
        let filled = template.replace("{id}", "7");
        let read = ask(&client, "resources/read", json!({ "uri": filled })).await?;
        assert_eq!(read.result["contents"][0]["uri"], filled);

        let nobodys = client.request("resources/read", json!({ "uri": "nobody://x" }), serde_json::Map::new()).await?;
        assert!(nobodys.jsonrpc_error.is_some(), "{}", nobodys.result);
        let nobodys = client.request("prompts/get", json!({ "name": "nobodys" }), serde_json::Map::new()).await?;
        assert!(nobodys.jsonrpc_error.is_some(), "{}", nobodys.result);
    }
    Ok(())
}

#[tokio::test]
async fn images_errors_and_progress_of_a_server_come_through() -> Result<()> {
    let (_behind, front) = chain().await?;
    let client = McpHttp::connect(front.base_url(), Era::Legacy).await?;
    let tools = client.list_tools().await?;
    let listed: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(listed.contains(&"up__test_image_content"), "{listed:?}");
    let image = client.call("up__test_image_content", json!({})).await?;
    assert_eq!(image.result["content"][0]["type"], "image", "{}", image.result);
    let error = client.call("up__test_error_handling", json!({})).await?;
    assert!(error.is_error, "{}", error.result);
    let meta = serde_json::Map::from_iter([("progressToken".to_owned(), json!("mine"))]);
    let progress = client.call_with_meta("up__test_tool_with_progress", json!({}), meta).await?;
    let of_token = |notice: &&Value| notice["params"]["progressToken"] == "mine";
    assert!(progress.notifications.iter().filter(of_token).count() >= 2, "{:?}", progress.notifications);
    Ok(())
}
