//! Where tokens may be: with their server, with its authorisation server, and in the private file. Nowhere else.

use std::path::Path;

use anyhow::Result;
use infold_testkit::oauth::{OauthSeen, OauthServer, RefreshRule};
use reqwest::header::HeaderValue;

use super::{LoginScene, WORDS};

/// Every file below a folder, but the private ones.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else if !(path.parent().is_some_and(|parent| parent.ends_with("credentials"))) {
            found.push((path.display().to_string(), std::fs::read(&path)?));
        }
    }
    Ok(())
}

#[tokio::test]
async fn no_token_is_anywhere_but_in_the_private_file() -> Result<()> {
    let mut scene = LoginScene::new().await?;
    scene.server.set(|rules| rules.gives_secrets = true);
    let mut texts = vec![("the login".to_owned(), format!("{:?}", scene.log_in().await?).into_bytes())];
    let mut say = |what: &str, text: String| texts.push((what.to_owned(), text.into_bytes()));
    say("a call", scene.call("read").await?.0);
    scene.server.set(|rules| rules.does_repeat = true);
    let (careless, _) = scene.call("read").await?;
    assert!(careless.contains("cannot use Some(\"[hidden]\")"), "{careless}");
    say("a careless server", careless);
    scene.server.set(|rules| rules.does_repeat = false);
    scene.server.end_access_tokens();
    say("a renewal", scene.call("read").await?.0);
    scene.server.end_access_tokens();
    scene.server.set(|rules| rules.refresh = RefreshRule::Fail(500));
    say("a failure", scene.call("read").await?.0);
    scene.server.set(|rules| rules.refresh = RefreshRule::Refuse);
    say("a refusal", scene.call("read").await?.0);
    for arguments in
        [&["servers", "--json"][..], &["servers", "locked"], &["servers", "check", "locked", "-vv"], &["doctor"]]
    {
        say("a command", format!("{:?}", scene.run(arguments).await?));
    }
    for path in ["/api/v1/servers", "/api/v1/servers/locked", "/metrics"] {
        let answer = scene.client.http().get(format!("{}{path}", scene.daemon.base_url())).send().await?;
        say(path, answer.text().await?);
    }
    scene.daemon.terminate().await?;
    files(scene.daemon.data(), &mut texts)?;
    files(&scene.daemon.home(), &mut texts)?;
    texts.push(("the log".to_owned(), std::fs::read(scene.daemon.home().with_file_name("stderr"))?));

    let secrets = scene.server.secrets();
    assert!(secrets.len() >= 6, "{}", secrets.len());
    for (place, text) in &texts {
        let text = String::from_utf8_lossy(text);
        let leaked: Vec<&String> = secrets.iter().filter(|secret| text.contains(secret.as_str())).collect();
        assert!(leaked.is_empty(), "{leaked:?} in {place}");
    }
    let log = String::from_utf8_lossy(&texts.last().map(|(_, log)| log.clone()).unwrap_or_default()).into_owned();
    assert!(log.contains("locked"), "the log says something: {log}");
    Ok(())
}

#[tokio::test]
async fn a_token_does_not_follow_a_redirect_to_another_server() -> Result<()> {
    let scene = LoginScene::logged_in().await?;
    let elsewhere = OauthServer::start().await?;
    elsewhere.set(|rules| rules.is_open = true);
    scene.server.set(|rules| rules.moved_to = Some(elsewhere.url()));
    let (words, is_error) = scene.call("read").await?;
    assert!(is_error && words.contains("its address is now"), "{words}");
    assert_eq!(elsewhere.seen(), []);
    Ok(())
}

#[tokio::test]
async fn a_token_is_for_its_own_server_and_a_clients_credentials_are_for_nobody() -> Result<()> {
    let scene = LoginScene::logged_in().await?;
    let strange = OauthServer::start().await?;
    strange.set(|rules| rules.is_open = true);
    let entry = format!(
        "gateway.servers=[{{ name = \"locked\", url = \"{}\" }}, {{ name = \"strange\", url = \"{}\" }}]",
        scene.server.url(),
        strange.url()
    );
    let daemon = super::setup(&[entry]).data(scene.daemon.data()).start().await?;
    let mut client = infold_testkit::McpHttp::connect(daemon.base_url(), infold_testkit::Era::Modern).await?;
    client.set_header("x-api-key", HeaderValue::from_static("a key of the client"));
    client.set_header("cookie", HeaderValue::from_static("session=a cookie of the client"));
    for tool in ["locked__read", "strange__read"] {
        assert_eq!(client.call(tool, serde_json::json!({})).await?.text, "read is done");
    }
    for (server, has_token) in [(&scene.server, true), (&strange, false)] {
        for seen in server.seen() {
            let OauthSeen::LetIn { headers, .. } = seen else { continue };
            assert!(!format!("{headers:?}").contains("of the client"), "{headers:?}");
            assert_eq!(headers.iter().any(|(name, _)| name == "authorization"), has_token, "{headers:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_token_in_the_entry_is_used_instead_of_a_login() -> Result<()> {
    let with = |_: &_, mut entry: serde_json::Value| {
        entry["headers"] = serde_json::json!({ "Authorization": "Bearer one of the user's" });
        entry
    };
    let scene = LoginScene::with(with, |setup| setup).await?;
    assert_eq!(scene.call("read").await?, (WORDS.to_owned(), true));
    let ended = scene.run(&["servers", "login", "locked"]).await?;
    assert_eq!(
        ended.stderr,
        "error: locked has a header Authorization in its entry, which is sent instead\n  hint: remove the header first\n"
    );
    Ok(())
}
