//! `infold servers login` as people use it, and what it says when it cannot go on.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use anyhow::{Context, Result};
use infold_testkit::oauth::{OauthSeen, browse};
use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::{LoginScene, StartedLogin, TempFolder};

#[tokio::test]
async fn a_login_that_cannot_be_made_says_why() -> Result<()> {
    let scene = LoginScene::new().await?;
    let other = scene.other.clone();
    let ended = scene.run(&["servers", "login", "nobody"]).await?;
    assert_eq!(ended.code, 3);
    assert_eq!(
        ended.stderr,
        format!("error: no server is called \"nobody\"\n  hint: the settings have locked, {other}\n")
    );
    let ended = scene.run(&["servers", "login", &other]).await?;
    assert_eq!(
        ended.stderr,
        format!(
            "error: {other} is a program on this machine, and programs have no login\n  hint: give it what it needs in \
             env or env_vars\n"
        )
    );
    scene.server.set(|rules| rules.is_open = true);
    let ended = scene.run(&["servers", "login", "locked"]).await?;
    assert!(ended.stderr.starts_with("error: locked offers no login: the server does not say where"), "{ended:?}");
    scene.server.set(|rules| (rules.is_open, rules.does_register) = (false, false));
    let ended = scene.run(&["servers", "login", "locked"]).await?;
    let why = "error: locked: the authorisation server does not take infold as a client";
    assert!(ended.stderr.starts_with(why) && ended.stderr.contains("oauth.client_id"), "{ended:?}");
    assert_eq!(scene.server.count(&OauthSeen::Asked), 0);
    Ok(())
}

#[tokio::test]
async fn a_user_who_does_not_agree_is_not_logged_in() -> Result<()> {
    let scene = LoginScene::new().await?;
    scene.server.set(|rules| rules.does_agree = false);
    let ended = scene.follow(scene.program(&["servers", "login", "locked", "--no-browser"])).await?;
    assert_eq!(ended.code, 3);
    let why = "error: the login to locked was refused (access_denied: The user said no)\n";
    assert!(ended.stderr.ends_with(why), "{ended:?}");
    assert!(!scene.daemon.data().join("credentials").exists());
    Ok(())
}

#[tokio::test]
async fn nobody_waits_for_ever() -> Result<()> {
    let scene = LoginScene::new().await?;
    let ended = scene.run(&["servers", "login", "locked", "--no-browser", "--timeout-ms", "50"]).await?;
    assert_eq!(ended.code, 3);
    let why = "error: nobody has logged in to locked within 1 seconds\n";
    assert!(ended.stderr.contains(why), "{ended:?}");
    Ok(())
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() -> Result<()> {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let port = taken.local_addr()?.port();
    let entry = |_: &_, mut entry: serde_json::Value| {
        entry["oauth"] = json!({ "callback_port": port });
        entry
    };
    let scene = LoginScene::with(entry, |setup| setup).await?;
    let ended = scene.run(&["servers", "login", "locked", "--no-browser"]).await?;
    assert_eq!(ended.code, 3);
    let why = format!("error: the browser cannot come back to port {port} of this machine: ");
    assert!(ended.stderr.starts_with(&why) && ended.stderr.contains("oauth.callback_port"), "{ended:?}");
    Ok(())
}

#[tokio::test]
async fn what_belongs_to_another_login_is_not_taken() -> Result<()> {
    let scene = LoginScene::new().await?;
    let mut command = scene.program(&["servers", "login", "locked", "--no-browser"]);
    let login = StartedLogin::begin(command.spawn()?).await?;
    let url = reqwest::Url::parse(&login.address)?;
    let field = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let (back, state) = (field("redirect_uri").context("no way back")?, field("state").context("no state")?);
    for odd in ["?code=x&state=another", "?code=x", &format!("?state={state}&state={state}&code=x")] {
        let page = browse(&format!("{back}{odd}")).await?;
        assert!(page.contains("does not belong to the login"), "{page}");
    }
    let page = browse(&login.address).await?;
    assert!(page.contains("You are logged in"), "{page}");
    assert_eq!(login.end().await?.code, 0);
    Ok(())
}

#[tokio::test]
async fn an_address_can_be_pasted_where_the_browser_is_elsewhere() -> Result<()> {
    let scene = LoginScene::new().await?;
    let mut command = scene.program(&["servers", "login", "locked", "--no-browser", "--json"]);
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("no standard input")?;
    let login = StartedLogin::begin(child).await?;
    let elsewhere = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build()?;
    let answer = elsewhere.get(&login.address).send().await?;
    let back = answer.headers()["location"].to_str()?.to_owned();
    stdin.write_all(format!("\nhttp://127.0.0.1:1/callback?code=x&state=y\n{back}\n").as_bytes()).await?;
    let ended = login.end().await?;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stderr.contains("note: that address is not the one of this login: paste another\n"), "{ended:?}");
    let answer: serde_json::Value = serde_json::from_str(&ended.stdout)?;
    assert_eq!(answer, json!({ "server": "locked", "kept_in": "file" }));
    assert_eq!(scene.call("read").await?.0, "read is done");
    Ok(())
}

#[tokio::test]
async fn the_users_browser_is_opened_unless_it_must_not_be() -> Result<()> {
    let scene = LoginScene::new().await?;
    let folder = TempFolder::new()?;
    let opener = folder.join("xdg-open");
    std::fs::write(&opener, "#!/bin/sh\nprintf %s \"$1\" > \"$0.unfinished\"; mv \"$0.unfinished\" \"$0.opened\"\n")?;
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755))?;
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
    let opened = folder.join("xdg-open.opened");
    for (arguments, is_opened) in
        [(&["servers", "login", "locked", "--no-browser"][..], false), (&["servers", "login", "locked"], true)]
    {
        let mut command = scene.program(arguments);
        let login = StartedLogin::begin(command.env("PATH", &path).spawn()?).await?;
        while is_opened && !opened.exists() {
            tokio::task::yield_now().await;
        }
        if is_opened {
            assert_eq!(std::fs::read_to_string(&opened)?, login.address);
        }
        browse(&login.address).await?;
        assert_eq!(login.end().await?.code, 0);
        assert_eq!(opened.exists(), is_opened);
    }
    Ok(())
}

#[tokio::test]
async fn a_check_uses_the_login() -> Result<()> {
    let scene = LoginScene::new().await?;
    let ended = scene.run(&["servers", "check", "locked"]).await?;
    assert!(ended.stderr.starts_with("error: the server needs a login (HTTP 401)"), "{ended:?}");
    scene.log_in().await?;
    let ended = scene.run(&["servers", "check", "locked"]).await?;
    assert!(ended.stdout.starts_with("behind a login 1, MCP 2026-07-28"), "{ended:?}");
    Ok(())
}

#[tokio::test]
async fn a_server_of_an_agent_can_be_logged_in_to_by_its_name_there() -> Result<()> {
    let scene = LoginScene::new().await?;
    let servers = |name: &str| json!({ "mcpServers": { name: { "type": "http", "url": scene.server.url() } } });
    std::fs::write(scene.daemon.home().join(".claude.json"), servers("theirs").to_string())?;
    std::fs::write(scene.daemon.home().join(".mcp.json"), servers("strangers").to_string())?;
    let ended = scene.run(&["servers", "login", "strangers"]).await?;
    assert_eq!(
        ended.stderr,
        "error: strangers is in a project's file, and waits for approval\n  hint: run `infold approve strangers` first\n"
    );
    let ended = scene.follow(scene.program(&["servers", "login", "theirs", "--no-browser"])).await?;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(scene.call("read").await?, ("read is done".to_owned(), false), "a login is for an address");
    Ok(())
}
