//! Headers that a command of the user's makes, where a server wants to know who asks.

use anyhow::{Context, Result};
use infold_testkit::oauth::OauthSeen;
use infold_testkit::{Era, McpHttp, TempFolder};
use serde_json::json;

use super::super::relaying::{as_setting, said};
use super::{LoginScene, setup};

/// What the server let in last.
fn admitted(scene: &LoginScene) -> Result<String> {
    let seen = scene.server.seen().into_iter().rev().find_map(|seen| match seen {
        OauthSeen::LetIn { headers, .. } => headers.into_iter().find(|(name, _)| name == "authorization"),
        _ => None,
    });
    Ok(seen.context("nobody was let in")?.1)
}

async fn called(client: &McpHttp) -> Result<(String, bool)> {
    Ok(said(client.call("made__read", json!({})).await?))
}

#[tokio::test]
async fn a_command_makes_the_headers_and_makes_them_again_when_they_are_refused() -> Result<()> {
    let scene = LoginScene::logged_in().await?;
    let folder = TempFolder::new()?;
    let (made, runs) = (folder.path().join("made"), folder.path().join("runs"));
    let write = |bearer: &str| std::fs::write(&made, json!({ "Authorization": bearer }).to_string());
    let runs = || std::fs::read_to_string(&runs).unwrap_or_default();
    write(&admitted(&scene)?)?;
    let helper = format!("echo $CLAUDE_CODE_MCP_SERVER_NAME >> '{0}/runs'; cat '{0}/made'", folder.path().display());
    let entry = json!({ "name": "made", "url": scene.server.url(), "headers_helper": helper });
    let settings = vec![format!("gateway.servers={}", as_setting(&[entry]))];
    let daemon = setup(&settings).start().await?;
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    let done = ("read is done".to_owned(), false);
    assert_eq!(called(&client).await?, done);
    assert_eq!(called(&client).await?, done);
    assert_eq!(runs(), "made\n", "it is run once, and knows for whom");

    scene.server.end_access_tokens();
    let refused = called(&client).await?;
    let words = "refuses the headers that the command in headers_helper makes";
    assert!(refused.1 && refused.0.contains(words), "{refused:?}");
    assert_eq!(runs(), "made\nmade\n");

    scene.call("read").await?;
    write(&admitted(&scene)?)?;
    assert_eq!(called(&client).await?, done);
    let said = daemon.stderr();
    assert!(scene.server.secrets().iter().all(|secret| !said.contains(secret) && !refused.0.contains(secret)));
    Ok(())
}
