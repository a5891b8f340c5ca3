//! As whom infold logs in: a client that registers itself, with or without a secret, or one that the user has registered.

use anyhow::Result;
use infold_testkit::oauth::OauthSeen;
use serde_json::json;

use super::LoginScene;

#[tokio::test]
async fn a_secret_that_came_with_the_registration_is_used_to_renew() -> Result<()> {
    let scene = LoginScene::new().await?;
    scene.server.set(|rules| rules.gives_secrets = true);
    scene.log_in().await?;
    scene.server.end_access_tokens();
    assert_eq!(scene.call("read").await?, ("read is done".to_owned(), false));
    assert_eq!(scene.server.count(&OauthSeen::Refreshed), 1);
    Ok(())
}

#[tokio::test]
async fn a_client_that_the_user_has_registered_is_used_with_its_secret_port_and_scopes() -> Result<()> {
    let port = {
        // It is free again when the login needs it.
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.local_addr()?.port()
    };
    let secret = "a secret: of/my own";
    let scene = LoginScene::with(
        |server, mut entry| {
            server.add_client("mine", Some(secret), &format!("http://127.0.0.1:{port}/callback"));
            server.set(|rules| rules.does_register = false);
            let metadata = format!("{}/hidden/description", server.base_url());
            entry["oauth"] = json!({
                "client_id": "mine", "client_secret": "${THE_SECRET}", "callback_port": port,
                "scopes": ["write"], "metadata_url": metadata,
            });
            entry
        },
        |setup| setup.env("THE_SECRET", secret),
    )
    .await?;
    scene.log_in().await?;
    assert_eq!(scene.call("write").await?, ("write is done".to_owned(), false));
    scene.server.end_access_tokens();
    assert_eq!(scene.call("write").await?, ("write is done".to_owned(), false));
    assert_eq!(scene.server.count(&OauthSeen::Registered), 0);
    assert!(!scene.kept()?.to_string().contains(secret), "the secret stays in the settings");
    Ok(())
}
