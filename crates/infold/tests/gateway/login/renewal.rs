//! How tokens are renewed: once for all who need them, and never at the cost of what is kept.

use std::os::unix::fs::MetadataExt;

use anyhow::Result;
use infold_testkit::oauth::{OauthSeen, RefreshRule};
use serde_json::json;

use super::{LoginScene, WORDS, call};

#[tokio::test]
async fn a_token_that_is_not_taken_any_more_is_renewed_once_for_many_calls() -> Result<()> {
    let scene = LoginScene::logged_in().await?;
    scene.server.end_access_tokens();
    let calls = (0..8).map(|_| scene.call("read"));
    for answer in futures::future::join_all(calls).await {
        assert_eq!(answer?, ("read is done".to_owned(), false));
    }
    assert_eq!(scene.server.count(&OauthSeen::Refreshed), 1);
    assert_eq!(scene.server.count(&OauthSeen::RefreshRefused), 0);
    Ok(())
}

#[tokio::test]
async fn a_token_that_ends_by_the_clock_is_renewed_before_it_is_used() -> Result<()> {
    let scene = LoginScene::new().await?;
    scene.server.set(|rules| rules.lifetime_s = 0);
    let asked_before = scene.server.count(&OauthSeen::NotLetIn);
    scene.log_in().await?;
    scene.server.set(|rules| rules.lifetime_s = 3_600);
    let asked = scene.server.count(&OauthSeen::NotLetIn);
    assert!(asked > asked_before, "the command asks the server for its login");
    assert_eq!(scene.call("read").await?, ("read is done".to_owned(), false));
    assert_eq!(scene.call("read").await?, ("read is done".to_owned(), false));
    assert_eq!(scene.server.count(&OauthSeen::Refreshed), 1);
    assert_eq!(scene.server.count(&OauthSeen::NotLetIn), asked, "no request was made with a token that is over");
    Ok(())
}

#[tokio::test]
async fn two_daemons_on_one_data_folder_renew_once() -> Result<()> {
    let scene = LoginScene::logged_in().await?;
    let (_daemon, second) = scene.second_daemon().await?;
    assert_eq!(call(&second, "read").await?, ("read is done".to_owned(), false));

    scene.server.set(|rules| rules.refresh = RefreshRule::Hold);
    scene.server.end_access_tokens();
    let not_let_in = scene.server.count(&OauthSeen::NotLetIn);
    let both = async { tokio::join!(scene.call("read"), call(&second, "read")) };
    let release = async {
        // Both know that their token is not taken; one of them asks for another.
        scene.server.until(&OauthSeen::NotLetIn, not_let_in + 2).await?;
        scene.server.until(&OauthSeen::RefreshBegan, 1).await?;
        scene.server.set(|rules| rules.refresh = RefreshRule::Renew);
        anyhow::Ok(())
    };
    let ((one, other), released) = tokio::join!(both, release);
    released?;
    assert_eq!((one?.0, other?.0), ("read is done".to_owned(), "read is done".to_owned()));
    assert_eq!(scene.server.count(&OauthSeen::RefreshBegan), 1);
    assert_eq!(scene.server.count(&OauthSeen::RefreshRefused), 0);
    Ok(())
}

#[tokio::test]
async fn a_refused_renewal_leaves_a_newer_login_alone() -> Result<()> {
    let scene = LoginScene::logged_in().await?;
    let older = scene.kept()?;
    scene.log_in().await?;
    let files = scene.login_files()?;
    let newer = std::fs::read_to_string(&files[0])?;

    // The older login is back, and is being renewed when the newer one is written over it.
    let put = |text: &str| {
        let unfinished = files[0].with_extension("put");
        std::fs::write(&unfinished, text)?;
        std::fs::rename(&unfinished, &files[0])
    };
    let mut dead = older.clone();
    dead["login"]["access_token"] = json!("an access token that is over");
    put(&dead.to_string())?;
    scene.server.set(|rules| rules.refresh = RefreshRule::Hold);
    let replace = async {
        scene.server.until(&OauthSeen::RefreshBegan, 1).await?;
        put(&newer)?;
        scene.server.set(|rules| rules.refresh = RefreshRule::Refuse);
        anyhow::Ok(())
    };
    let (answer, replaced) = tokio::join!(scene.call("read"), replace);
    replaced?;
    assert_eq!(answer?, ("read is done".to_owned(), false), "the newer one is used at once");
    assert_eq!(std::fs::read_to_string(&files[0])?, newer);
    assert_eq!(scene.server.count(&OauthSeen::RefreshRefused), 1);
    Ok(())
}

#[tokio::test]
async fn a_refused_renewal_marks_the_login_and_is_not_tried_again() -> Result<()> {
    let scene = LoginScene::logged_in().await?;
    scene.server.end_access_tokens();
    scene.server.set(|rules| rules.refresh = RefreshRule::Refuse);
    assert_eq!(scene.call("read").await?, (WORDS.to_owned(), true));
    assert_eq!(scene.call("read").await?, (WORDS.to_owned(), true));
    assert_eq!(scene.server.count(&OauthSeen::RefreshBegan), 1);
    assert_eq!(scene.kept()?["login"]["is_refused"], true);
    let listed = scene.run(&["servers"]).await?;
    assert!(listed.stdout.contains("needs login"), "{listed:?}");

    scene.server.set(|rules| rules.refresh = RefreshRule::Renew);
    scene.log_in().await?;
    let listed = scene.run(&["servers"]).await?;
    assert!(!listed.stdout.contains("needs login"), "{listed:?}");
    assert_eq!(scene.call("read").await?, ("read is done".to_owned(), false));
    Ok(())
}

#[tokio::test]
async fn a_renewal_that_fails_otherwise_keeps_everything() -> Result<()> {
    let scene = LoginScene::logged_in().await?;
    let before = scene.kept()?;
    scene.server.end_access_tokens();
    scene.server.set(|rules| rules.refresh = RefreshRule::Fail(503));
    let (words, is_error) = scene.call("read").await?;
    assert_eq!(
        (words.as_str(), is_error),
        (
            "locked: its login could not be renewed: the authorisation server answered with HTTP 503. The login is \
             kept: try again later",
            true
        )
    );
    assert_eq!(scene.kept()?, before);

    scene.server.set(|rules| rules.refresh = RefreshRule::Renew);
    assert_eq!(scene.call("read").await?, ("read is done".to_owned(), false));
    assert_eq!(scene.server.count(&OauthSeen::Refreshed), 1);
    Ok(())
}

#[tokio::test]
async fn a_daemon_that_is_killed_while_it_renews_leaves_a_login_that_can_be_used() -> Result<()> {
    let mut scene = LoginScene::logged_in().await?;
    let before = scene.kept()?;
    scene.server.end_access_tokens();
    scene.server.set(|rules| rules.refresh = RefreshRule::Hold);
    let held = scene.server.until(&OauthSeen::RefreshBegan, 1);
    tokio::select! {
        answer = call(&scene.client, "read") => anyhow::bail!("it was not held: {answer:?}"),
        held = held => held?,
    }
    scene.daemon.kill9().await?;
    assert_eq!(scene.kept()?, before);

    // Nobody holds the lock any more.
    scene.server.set(|rules| rules.refresh = RefreshRule::Renew);
    scene.daemon.restart().await?;
    let client = infold_testkit::McpHttp::connect(scene.daemon.base_url(), infold_testkit::Era::Modern).await?;
    assert_eq!(call(&client, "read").await?, ("read is done".to_owned(), false));
    assert_eq!(scene.server.count(&OauthSeen::Refreshed), 1);
    let file = std::fs::metadata(&scene.login_files()?[0])?;
    assert_eq!(file.mode() & 0o777, 0o600);
    Ok(())
}

#[tokio::test]
async fn a_call_that_is_given_up_does_not_cut_a_renewal_short() -> Result<()> {
    let impatient = |_: &_, mut entry: serde_json::Value| {
        entry["timeout_ms"] = json!(3_000);
        entry
    };
    let scene = LoginScene::with(impatient, |setup| setup).await?;
    scene.log_in().await?;
    assert_eq!(scene.call("read").await?, ("read is done".to_owned(), false));
    scene.server.end_access_tokens();
    scene.server.set(|rules| rules.refresh = RefreshRule::Hold);
    let (words, is_error) = scene.call("read").await?;
    assert!(is_error && words.contains("did not answer tools/call within 3000 ms"), "{words}");
    assert_eq!(scene.server.count(&OauthSeen::RefreshBegan), 1);

    scene.server.set(|rules| rules.refresh = RefreshRule::Renew);
    scene.server.until(&OauthSeen::Refreshed, 1).await?;
    assert_eq!(scene.call("read").await?, ("read is done".to_owned(), false));
    assert_eq!(scene.server.count(&OauthSeen::RefreshBegan), 1);
    Ok(())
}

#[tokio::test]
async fn rights_that_are_missing_are_asked_for_by_the_next_login() -> Result<()> {
    let scene = LoginScene::logged_in().await?;
    let words = "locked needs a login with more rights (read write): ask the user to run `infold servers login locked`";
    assert_eq!(scene.call("write").await?, (words.to_owned(), true));
    assert_eq!(scene.call("read").await?, ("read is done".to_owned(), false), "what it is enough for works on");
    scene.log_in().await?;
    assert_eq!(scene.call("write").await?, ("write is done".to_owned(), false));
    assert_eq!(scene.call("read").await?, ("read is done".to_owned(), false));
    Ok(())
}
