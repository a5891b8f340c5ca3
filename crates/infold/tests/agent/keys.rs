//! Where the model's key comes from.

use infold_testkit::model::{Script, Step};

use super::scene::{ASKED, Scene, ended};

#[tokio::test]
async fn the_key_comes_from_the_variable_else_from_the_keyring_and_never_from_the_project() {
    let scene = Scene::start(Script::new([Step::text("One."), Step::text("Two."), Step::text("Three.")])).await;
    // What the desktop's keyring would answer; the real program asks it over the session's bus.
    let folder = scene.home().join("bin");
    std::fs::create_dir(&folder).unwrap();
    let keyring = |script: &str| {
        let program = folder.join("secret-tool");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let run = async |variable: Option<&str>| {
        let mut command = scene.command(&["exec", "--json", ASKED]);
        command.env("PATH", &path).env_remove("ANTHROPIC_API_KEY");
        command.envs(variable.map(|key| ("ANTHROPIC_API_KEY", key)));
        ended(command.spawn().unwrap()).await
    };
    let sent_key = || scene.model.requests().last().unwrap().header("x-api-key").map(str::to_owned);

    keyring("[ \"$*\" = 'lookup service infold account anthropic' ] && printf 'sk-ant-of-the-keyring\\n'");
    run(None).await.finished(0);
    assert_eq!(sent_key().as_deref(), Some("sk-ant-of-the-keyring"));
    run(Some("sk-ant-of-the-variable")).await.finished(0);
    assert_eq!(sent_key().as_deref(), Some("sk-ant-of-the-variable"));

    // An empty keyring, and everything in the project that could look like a key.
    keyring("exit 1");
    scene.write(".env", "ANTHROPIC_API_KEY=sk-ant-of-the-project\n");
    for file in ["[agent]\nkey = \"sk-ant-of-the-project\"\n", "[agent]\nkey_env = \"HOME\"\n", ""] {
        scene.write(".infold.toml", file);
        let ran = run(None).await;
        assert_eq!(ran.code, 3, "{file}: {ran:?}");
        assert_eq!(scene.model.requests().len(), 2, "{file}");
    }
}
