//! Where logins are kept, and how they are removed.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Stdio;

use anyhow::Result;
use infold_testkit::oauth::OauthSeen;

use super::{LoginScene, TempFolder, WORDS};

/// A keyring that keeps each item in a file.
const SECRET_TOOL: &str = r#"#!/bin/sh
kept="$(dirname "$0")/kept-$(for last; do :; done; echo "$last")"
case "$1" in
    store) cat > "$kept" ;;
    lookup) cat "$kept" 2>/dev/null || exit 1 ;;
    clear) rm -f "$kept" ;;
esac
"#;

fn keyring(script: &str) -> Result<(TempFolder, String)> {
    let folder = TempFolder::new()?;
    let program = folder.join("secret-tool");
    std::fs::write(&program, script)?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
    Ok((folder, path))
}

#[tokio::test]
async fn a_login_is_in_a_file_that_only_its_user_can_read() -> Result<()> {
    let scene = LoginScene::logged_in().await?;
    let folder = scene.daemon.data().join("credentials");
    assert_eq!(std::fs::metadata(&folder)?.mode() & 0o777, 0o700);
    for entry in std::fs::read_dir(&folder)? {
        assert_eq!(entry?.metadata()?.mode() & 0o777, 0o600);
    }
    assert_eq!(scene.login_files()?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_login_is_in_the_keyring_where_there_is_one() -> Result<()> {
    let (folder, path) = keyring(SECRET_TOOL)?;
    let with = |setup: infold_testkit::DaemonSetup| setup.env("PATH", &path).env("DBUS_SESSION_BUS_ADDRESS", "unix:x");
    let scene = LoginScene::with(|_, entry| entry, with).await?;
    let ended = scene.log_in().await?;
    assert_eq!(ended.stdout, "logged in to locked; its tokens are in the system's keyring\n");
    assert_eq!(scene.call("read").await?, ("read is done".to_owned(), false));
    scene.server.end_access_tokens();
    assert_eq!(scene.call("read").await?, ("read is done".to_owned(), false));
    assert_eq!(scene.server.count(&OauthSeen::Refreshed), 1);

    let file = scene.kept()?;
    assert_eq!(file, serde_json::json!({ "kept_in": "keyring" }));
    let in_keyring = || std::fs::read_dir(folder.path()).map(|entries| entries.count() - 1);
    assert_eq!(in_keyring()?, 1);
    let ended = scene.run(&["servers", "logout", "locked"]).await?;
    assert_eq!((ended.code, in_keyring()?, scene.login_files()?.len()), (0, 0, 0), "{ended:?}");
    Ok(())
}

#[tokio::test]
async fn a_keyring_that_fails_is_named_and_a_file_is_used_unless_it_has_to_be_the_keyring() -> Result<()> {
    let (_folder, path) = keyring("#!/bin/sh\ncat >/dev/null; echo 'no keyring' >&2; exit 1\n")?;
    let with = |setup: infold_testkit::DaemonSetup| setup.env("PATH", &path).env("DBUS_SESSION_BUS_ADDRESS", "unix:x");
    let scene = LoginScene::with(|_, entry| entry, with).await?;
    let ended = scene.log_in().await?;
    assert!(ended.stdout.ends_with("in a private file in the data folder\n"), "{ended:?}");
    let why = "note: the keyring could not be used: secret-tool ended with exit status: 1\n";
    assert!(ended.stderr.ends_with(why), "{ended:?}");

    let arguments = ["servers", "login", "locked", "--no-browser", "--set", "gateway.credentials=keyring"];
    let ended = scene.follow(scene.program(&arguments)).await?;
    assert_eq!(ended.code, 3);
    let why = "error: locked: its login could not be written: secret-tool ended with exit status: 1\n";
    assert!(ended.stderr.ends_with(why), "{ended:?}");

    let mut without = scene.program(&arguments);
    without.env("DBUS_SESSION_BUS_ADDRESS", "").stderr(Stdio::piped());
    let ended = super::ended(without.spawn()?).await?;
    assert_eq!(
        ended.stderr,
        "error: the keyring cannot be used: there is no session bus, as on a machine without a desktop\n  hint: set \
         gateway.credentials to \"auto\" or \"file\"\n"
    );
    Ok(())
}

#[tokio::test]
async fn a_logout_removes_the_login_and_takes_its_tokens_back() -> Result<()> {
    let scene = LoginScene::logged_in().await?;
    let ended = scene.run(&["servers", "logout", "locked"]).await?;
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (0, "logged out of locked: its tokens are removed here, and good for nothing any more\n")
    );
    assert_eq!(scene.server.count(&OauthSeen::Revoked), 2);
    assert!(scene.login_files()?.is_empty());
    assert_eq!(scene.call("read").await?, (WORDS.to_owned(), true));
    let ended = scene.run(&["servers", "logout", "locked"]).await?;
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "there is no login to locked\n"));
    Ok(())
}

#[tokio::test]
async fn a_file_that_cannot_be_understood_is_as_good_as_none() -> Result<()> {
    let scene = LoginScene::logged_in().await?;
    std::fs::write(&scene.login_files()?[0], "{\"kept_in\": \"file\", \"login\": {}")?;
    assert_eq!(scene.call("read").await?, (WORDS.to_owned(), true));
    scene.log_in().await?;
    assert_eq!(scene.call("read").await?, ("read is done".to_owned(), false));
    Ok(())
}
