//! Secrets and their placeholders: what agents are refused, and how a secret comes back that was overwritten.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::home::Home;

fn made_up_token(ending: &str) -> String {
    // Put together here, so that no scanner takes this file for a leak.
    format!("{}{}{ending}", "ghp_", "q7Rk2Vd9Xw4Zb8Nc3Mt6Ys1Lf5Hg0JpAe")
}

/// The placeholder that replaces a secret in this home.
fn mask(home: &Home, secret: &str) -> String {
    home.run_with_input(&["scrub", "--quiet"], secret.as_bytes()).stdout
}

fn asked(home: &Home, tool: &str, input: Value) -> String {
    let question = json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input}).to_string();
    let ended = home.run_with_input(&["hook"], question.as_bytes());
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    ended.stdout
}

/// A session of Claude Code's in which a file was read.
fn record(home: &Home, session: &str, shown: &str) {
    let entry = |kind: &str, content: Value| {
        let id = format!("{session}-{kind}-{}", content.to_string().len());
        json!({"type": kind, "uuid": id, "sessionId": session, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p",
            "message": {"role": kind, "content": content}})
    };
    let call = json!([{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/p/.env"}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": shown}]);
    let lines = [entry("user", json!("Read it.")), entry("assistant", call), entry("user", result)];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    home.write(&format!(".claude/projects/-p/{session}.jsonl"), &text);
}

#[test]
fn a_call_that_would_write_a_placeholder_is_refused_with_what_to_do_instead() {
    let home = Home::new();
    let mask = mask(&home, &made_up_token("UiO"));
    let heredoc = format!("cat > config.env <<EOF\nTOKEN={mask}\nEOF");
    let patch = format!("*** Begin Patch\n*** Update File: a\n@@\n-a\n+TOKEN={mask}\n*** End Patch");
    for (tool, input) in [
        ("Bash", json!({"command": heredoc})),
        ("Bash", json!({"command": format!("sed -i 's/x/{mask}/' config.env")})),
        ("Write", json!({"file_path": "/a", "content": mask})),
        ("Edit", json!({"file_path": "/a", "old_string": "x", "new_string": mask})),
        ("MultiEdit", json!({"file_path": "/a", "edits": [{"old_string": "x", "new_string": mask}]})),
        ("NotebookEdit", json!({"notebook_path": "/a", "new_source": mask})),
        ("apply_patch", json!({"command": patch})),
        ("mcp__files__write_file", json!({"path": "/a", "content": mask})),
    ] {
        let answer: Value = serde_json::from_str(&asked(&home, tool, input)).unwrap();
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "{tool}");
        let reason = answer["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
        assert!(reason.contains(&mask) && reason.contains("edit only the lines around it"), "{reason}");
    }
}

#[test]
fn looking_for_a_placeholder_and_what_only_looks_like_one_is_let_through() {
    let home = Home::new();
    let mask = mask(&home, &made_up_token("UiO"));
    let proven = &mask[mask.len() - 3..mask.len() - 1];
    let other = format!("{}{}]", &mask[..mask.len() - 3], if proven == "00" { "11" } else { "00" });
    for (tool, input) in [
        ("Bash", json!({"command": format!("grep -rn '{mask}' . 2>/dev/null")})),
        ("Bash", json!({"command": format!("echo '{mask}'")})),
        ("Edit", json!({"file_path": "/a", "old_string": mask, "new_string": "none"})),
        ("mcp__infold__branch_return", json!({"message": mask})),
        ("Write", json!({"file_path": "/a", "content": other})),
        ("Bash", json!({"command": format!("echo '{other}' > docs.md")})),
    ] {
        assert_eq!(asked(&home, tool, input.clone()), "", "{tool} {input}");
    }
}

#[test]
fn a_secret_is_put_back_from_the_agents_own_recording_and_never_printed() {
    let home = Home::new();
    let secret = made_up_token("UiO");
    let mask = mask(&home, &secret);
    record(&home, "5b2438e4-96a7-43f7-b051-10a055bb0fbe", &format!("     1\tGITHUB_TOKEN={secret}\n     2\tLEVEL=1\n"));
    home.write("project/config.env", &format!("GITHUB_TOKEN={mask}\nOTHER={mask}\nLEVEL=2\n"));
    let file = home.join("project/config.env");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();

    let ended = home.run(&["secret", "restore", file.to_str().unwrap()]);

    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (0, "HOME/project/config.env: 2 secrets restored\n"),
        "{}",
        ended.stderr
    );
    assert!(!ended.stdout.contains(&secret) && !ended.stderr.contains(&secret));
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("GITHUB_TOKEN={secret}\nOTHER={secret}\nLEVEL=2\n"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    let again = home.run(&["--json", "secret", "restore", file.to_str().unwrap()]);
    let printed: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!((again.code, &printed["files"][0]["restored"]), (0, &json!(0)));
}

#[test]
fn a_secret_is_put_back_from_a_file_that_is_named() {
    let home = Home::new();
    let secret = made_up_token("UiO");
    let mask = mask(&home, &secret);
    home.write("config.env", &format!("GITHUB_TOKEN={mask}\n"));
    home.write("backup", &format!("GITHUB_TOKEN={secret}\n"));
    let (file, backup) = (home.join("config.env"), home.join("backup"));
    let (file, backup) = (file.to_str().unwrap(), backup.to_str().unwrap());

    let ended = home.run(&["secret", "restore", file]);
    assert_eq!((ended.code, ended.stdout.as_str()), (3, "HOME/config.env: 0 secrets restored\n"));
    assert!(ended.stderr.contains("was not found") && ended.stderr.contains("--from FILE"), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(file).unwrap(), format!("GITHUB_TOKEN={mask}\n"), "nothing was touched");

    let ended = home.run(&["secret", "restore", file, "--from", backup]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(fs::read_to_string(file).unwrap(), format!("GITHUB_TOKEN={secret}\n"));
}

#[test]
fn restoring_what_is_not_there_or_without_a_key_says_what_to_do() {
    let home = Home::new();
    home.write("config.env", "TOKEN=[SECRET:github-pat:7f3a2c]\n");
    let file = home.join("config.env");
    let ended = home.run(&["secret", "restore", file.to_str().unwrap()]);
    assert_eq!(ended.code, 3);
    assert!(
        ended.stderr.contains("this data folder has no key") && ended.stderr.contains("--data"),
        "{}",
        ended.stderr
    );

    mask(&home, "makes the key");
    let ended = home.run(&["secret", "restore", "/nowhere/at/all"]);
    assert_eq!(ended.code, 3);
    assert!(ended.stderr.contains("cannot read /nowhere/at/all"), "{}", ended.stderr);
}
