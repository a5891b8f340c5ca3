//! The commands `sessions`, `show`, `scrub` and `doctor`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::Value;

use super::home::Home;

/// A token of a known form that was never anyone's. Put together here, so that no file holds it.
fn made_up_token() -> String {
    format!("{}_{}", "ghp", "Q7rT2mXv9LkB4nZc8JpW3sHd6FgY1aEu5oRi")
}

#[test]
fn looking_makes_nothing() {
    let home = Home::new();
    let ended = home.run(&["sessions"]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (0, "", "note: no sessions yet\n"));
    assert_snapshot!(home.run(&["sessions", "--json"]).stdout, @r#"
    {
      "sessions": []
    }
    "#);
    assert_eq!(home.run(&["doctor"]).code, 0);
    assert!(!home.data().exists());
}

#[test]
fn a_session_that_is_not_there_is_refused() {
    let home = Home::new();
    let ended = home.run(&["show", "nobody"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (3, ""));
    assert_snapshot!(ended.stderr, @r#"
    error: no session "nobody" in this data folder
      hint: `infold sessions` lists them
    "#);
    home.run_with_input(&["mcp"], b"");
    assert_eq!(home.run(&["show", "nobody"]).stderr, ended.stderr);
    assert_eq!(home.run(&["show", "no/body"]).code, 3);
}

#[test]
fn scrubbing_takes_out_secrets_with_stable_placeholders() {
    let home = Home::new();
    let token = made_up_token();
    let text = format!("export GITHUB_TOKEN={token}\nls\n");
    let first = home.run_with_input(&["scrub"], text.as_bytes());
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert!(!first.stdout.contains(&token));
    assert!(first.stdout.contains("[SECRET:") && first.stdout.ends_with("\nls\n"), "{}", first.stdout);
    assert_eq!(first.stderr, "note: 1 secret removed\n");
    let again = home.run_with_input(&["scrub", "--json", "--quiet"], text.as_bytes());
    let printed: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(printed["text"], first.stdout);
    assert_eq!(printed["secrets_scrubbed"], 1);
    assert_eq!(again.stderr, "");
}

#[test]
fn what_cannot_be_scrubbed_is_not_printed() {
    let home = Home::new();
    let text = made_up_token();
    for fault in ["panic", "missing", "stall"] {
        let setting = format!("testing.scrub_fault={fault}");
        let arguments = ["scrub", "--set", &setting, "--set", "scrub.timeout_ms=200"];
        let ended = home.run_with_input(&arguments, text.as_bytes());
        assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{fault}: {}", ended.stderr);
        assert!(!ended.stderr.contains(&text), "{fault}");
    }
    let not_text = home.run_with_input(&["scrub"], b"\xff\xfe");
    assert_eq!((not_text.code, not_text.stdout.as_str()), (3, ""));
    let too_long = home.run_with_input(&["scrub", "--set", "scrub.max_bytes=1024"], &[b'a'; 1025]);
    assert_eq!((too_long.code, too_long.stdout.as_str()), (3, ""));
    assert!(too_long.stderr.contains("--set scrub.max_bytes"), "{}", too_long.stderr);
}

#[test]
fn a_folder_that_others_can_enter_is_refused_and_doctor_says_what_to_do() {
    let home = Home::new();
    let data = home.join("wide");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    let data = data.to_str().unwrap();

    let ended = home.run_with_input(&["scrub", "--data", data], b"text");
    assert_eq!((ended.code, ended.stdout.as_str()), (3, ""));
    assert_snapshot!(ended.stderr, @"
    error: other users can access the data folder HOME/wide (mode 0755)
      hint: chmod 700 HOME/wide
    ");

    let ended = home.run(&["doctor", "--data", data, "--json"]);
    assert_eq!(ended.code, 1);
    let printed: Value = serde_json::from_str(&ended.stdout).unwrap();
    let failed: Vec<&Value> =
        printed["checks"].as_array().unwrap().iter().filter(|check| check["status"] == "failed").collect();
    assert_eq!(printed["ok"], false);
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["hint"], "chmod 700 HOME/wide");
}

#[test]
fn doctor_looks_at_a_database_that_is_there() {
    let home = Home::new();
    home.run_with_input(&["mcp"], b"");
    let ended = home.run(&["doctor", "--set", "server.listen=127.0.0.1:0"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    for part in ["✓ database", "✓ durability", "✓ clock", "✓ scrubber", "✓ free space", "✓ data folder", "✓ key"]
    {
        assert!(ended.stdout.contains(part), "{part} is missing from\n{}", ended.stdout);
    }

    fs::write(home.data().join("infold.db"), b"this is no database, but it is longer than a header of one....")
        .unwrap();
    fs::write(home.data().join("token"), b"short").unwrap();
    let ended = home.run(&["doctor", "--set", "server.listen=127.0.0.1:0"]);
    assert_eq!(ended.code, 1);
    for part in ["✗ database", "✗ token"] {
        assert!(ended.stdout.contains(part), "{part} is missing from\n{}", ended.stdout);
    }
}

#[test]
fn doctor_tells_of_settings_that_are_wrong() {
    let home = Home::new();
    home.write(".config/infold/settings.toml", "[folding]\nmax_depth = 0\n");
    let ended = home.run(&["doctor"]);
    assert_eq!(ended.code, 1);
    assert_snapshot!(ended.stdout, @"
    ✗ settings  `folding.max_depth` = 0 in HOME/.config/infold/settings.toml:2 is out of range
                hint: give a whole number from 1 to 64
    ");
}

#[test]
fn with_json_an_error_is_json_too_on_standard_error() {
    let home = Home::new();
    let error = |arguments: &[&str], code: i32| {
        let ended = home.run(arguments);
        assert_eq!((ended.code, ended.stdout.as_str()), (code, ""), "{arguments:?}: {}", ended.stderr);
        let last: Value = serde_json::from_str(ended.stderr.lines().last().unwrap()).unwrap();
        assert_eq!(last["error"]["exit_code"], code);
        last["error"].clone()
    };
    let absent = error(&["show", "nobody", "--json"], 3);
    assert_eq!(
        (&absent["code"], &absent["hint"]),
        (&"session_not_found".into(), &"`infold sessions` lists them".into())
    );
    assert_eq!(error(&["--json", "result", "res_1"], 3)["code"], "result_not_found");
    assert_eq!(error(&["--json", "--set", "folding.max_depth=0", "sessions"], 3)["code"], "invalid_settings");
    assert_eq!(error(&["--json", "nonsense"], 2)["code"], "usage");
    assert_eq!(error(&["--json", "replay", "no/such"], 3)["code"], "refused");
}
