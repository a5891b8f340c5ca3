//! The fence through the whole program: what may not be done is not done, and the model reads why.

use std::os::unix::fs::symlink;

use infold_testkit::model::{Script, Step};
use serde_json::{Value, json};

use super::scene::{ASKED, Ran, Scene, calls};

/// The results of a run: whether each failed, and what the model reads.
fn results(ran: &Ran) -> Vec<(bool, String)> {
    let result = |event: &Value| (event["is_error"] == true, event["text"].as_str().unwrap().to_owned());
    ran.of_kind("result").iter().map(result).collect()
}

#[tokio::test]
async fn nothing_outside_of_the_folder_is_written_or_read() {
    let script = Script::new([
        calls(vec![
            ("write", json!({"path": "../outside.txt", "content": "x"})),
            ("write", json!({"path": "link/outside.txt", "content": "x"})),
            ("write", json!({"path": "direct", "content": "x"})),
            ("edit", json!({"path": "direct", "old": "private", "new": "public"})),
            ("read", json!({"path": "direct"})),
            ("read", json!({"path": "../private.txt"})),
            ("list", json!({"path": ".."})),
            ("search", json!({"pattern": "private", "path": "link"})),
            ("write", json!({"path": ".git/hooks/pre-commit", "content": "x"})),
        ]),
        Step::text("I could do none of it."),
    ]);
    let scene = Scene::start(script).await;
    let outside = scene.home().join("private.txt");
    std::fs::write(&outside, "private words").unwrap();
    symlink(scene.home(), scene.file("link")).unwrap();
    symlink(&outside, scene.file("direct")).unwrap();
    std::fs::create_dir_all(scene.file(".git/hooks")).unwrap();
    let ran = scene.exec(&["--approval", "all", ASKED]).await;
    ran.finished(0);
    let results = results(&ran);
    assert_eq!(results.len(), 9);
    for (number, (is_error, text)) in results.iter().enumerate() {
        assert!(is_error, "{number}: {text}");
        assert!(!text.contains("private words"), "{number}: {text}");
        assert!(text.contains("outside") || text.contains("never written"), "{number}: {text}");
    }
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "private words");
    assert!(!scene.home().join("outside.txt").exists() && !scene.file(".git/hooks/pre-commit").exists());
    assert!(scene.turns()[1].holds("outside of the working folder"));
    assert_eq!(ran.finished(0)["files_changed"], json!([]));
}

#[tokio::test]
async fn what_is_not_approved_is_not_done() {
    let wanted = || {
        Script::new([
            calls(vec![
                ("write", json!({"path": "new.txt", "content": "x"})),
                ("shell", json!({"command": "touch ran.txt"})),
                ("shell", json!({"command": "echo allowed; touch ran.txt"})),
                ("shell", json!({"command": "echo allowed $(touch ran.txt)"})),
                ("shell", json!({"command": "echo allowed"})),
            ]),
            Step::text("That is what was possible."),
        ])
    };
    // For each mode: whether the file may be written, whether anything runs, whether everything does.
    for (mode, writes, runs, all) in [
        ("read_only", false, false, false),
        ("ask", false, true, false),
        ("edits", true, true, false),
        ("all", true, true, true),
    ] {
        let scene = Scene::start(wanted()).await.set("agent.allow=[\"echo allowed\"]");
        let ran = scene.exec(&["--approval", mode, ASKED]).await;
        ran.finished(0);
        let failed: Vec<bool> = results(&ran).into_iter().map(|(failed, _)| failed).collect();
        assert_eq!(failed, [!writes, !all, !all, !all, !runs], "{mode}: {:?}", results(&ran));
        assert_eq!((scene.file("new.txt").exists(), scene.file("ran.txt").exists()), (writes, all), "{mode}");
        if !all {
            assert!(scene.turns()[1].holds("nobody is there to be asked") || mode == "read_only", "{mode}");
        }
    }
}

#[tokio::test]
async fn what_is_denied_is_denied_in_every_mode() {
    let script = Script::new([
        calls(vec![("shell", json!({"command": "touch ran.txt"})), ("shell", json!({"command": "env touch ran.txt"}))]),
        Step::text("So be it."),
    ]);
    let scene = Scene::start(script).await.set("agent.deny=[\"touch\"]").set("agent.allow=[\"touch\"]");
    let ran = scene.exec(&["--approval", "all", ASKED]).await;
    ran.finished(0);
    assert!(
        results(&ran).iter().all(|(failed, text)| *failed && text.contains("denies `touch`")),
        "{:?}",
        results(&ran)
    );
    assert!(!scene.file("ran.txt").exists());
}

#[tokio::test]
async fn a_project_s_file_widens_nothing() {
    let widening = [
        "approval = \"all\"",
        "network = true",
        "upstream = \"http://127.0.0.1:1\"",
        "allow = [\"touch\"]",
        "sandbox = \"off\"",
        "writable = [\"/\"]",
        "readable = [\"/\"]",
        "key_env = \"HOME\"",
        "provider = \"ollama\"",
        "turns_max = 0",
        "context_budget = 1000000",
    ];
    for line in widening {
        let script = Script::new([calls(vec![("shell", json!({"command": "touch ran.txt"}))]), Step::text("No.")]);
        let scene = Scene::start(script).await;
        scene.write(".infold.toml", &format!("[agent]\n{line}\n"));
        let ran = scene.exec(&[ASKED]).await;
        let setting = line.split_once(' ').unwrap().0;
        if ran.code == 3 {
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(said.contains(&format!("agent.{setting}")), "{line}: {ran:?}");
            assert_eq!(scene.model.requests().len(), 0, "{line}");
        } else {
            ran.finished(0);
            assert!(
                ran.stderr.contains(&format!("agent.{setting}")),
                "{line} is passed over in silence: {}",
                ran.stderr
            );
        }
        assert!(!scene.file("ran.txt").exists(), "{line}");
    }
}

#[tokio::test]
async fn a_project_s_file_narrows() {
    let script = Script::new([calls(vec![("write", json!({"path": "new.txt", "content": "x"}))]), Step::text("No.")]);
    let scene = Scene::start(script).await;
    scene.write(".infold.toml", "[agent]\napproval = \"read_only\"\n");
    let ran = scene.exec(&[ASKED]).await;
    ran.finished(0);
    assert!(results(&ran)[0].0 && !scene.file("new.txt").exists(), "{ran:?}");
}

#[tokio::test]
async fn commands_do_not_see_the_key() {
    let script = Script::new([calls(vec![("shell", json!({"command": "env"}))]), Step::text("Seen.")]);
    let scene = Scene::start(script).await;
    let ran = scene.exec(&["--approval", "all", ASKED]).await;
    ran.finished(0);
    let (failed, text) = results(&ran).remove(0);
    assert!(!failed && text.contains("PATH="), "{text}");
    assert!(!text.contains("sk-ant-fake") && !text.contains("sk-fake"), "{text}");
}
