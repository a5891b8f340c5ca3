//! Rescued sessions of Codex: what is in the new file.

use std::fs;

use serde_json::{Value, json};

use super::sessions::{CODEX_FOLDER, ID, Session, codex_home, lines, names, printed};

#[test]
fn a_session_that_does_not_fit_goes_on_in_a_new_rollout_beside_it() {
    let (home, original) = codex_home(8);
    let before = fs::read(&original).unwrap();
    let report = printed(&home.run(&["rescue", ID, "--window", "30000", "--reserve", "8000", "--json"]));

    let session = report["written"]["session_id"].as_str().unwrap();
    let found = names(&home.join(CODEX_FOLDER));
    assert_eq!(found.len(), 2);
    assert!(found.iter().any(|name| name.starts_with("rollout-20") && name.ends_with(&format!("-{session}.jsonl"))));
    assert_eq!(report["written"]["go_on"], format!("codex resume {session}"));
    assert_eq!(fs::read(&original).unwrap(), before, "the original must not change");

    let lines = lines(report["written"]["path"].as_str().unwrap(), &home);
    assert_eq!(lines[0]["payload"]["id"], session);
    let kinds: Vec<&str> = lines.iter().filter_map(|line| line["payload"]["type"].as_str()).collect();
    for gone in ["reasoning", "token_count", "exec_command_end"] {
        assert!(!kinds.contains(&gone), "{gone} is still there");
    }
    let ids = |kind: &str| -> Vec<&Value> {
        let items = lines.iter().map(|line| &line["payload"]).filter(|item| item["type"] == kind);
        items.map(|item| &item["call_id"]).collect()
    };
    assert_eq!(ids("function_call"), ids("function_call_output"));
    assert_eq!(ids("function_call").len(), 8);
    assert!(kinds.contains(&"user_message"), "without it the session is not listed");
    let receipt = lines.last().unwrap()["payload"]["content"][0]["text"].as_str().unwrap();
    assert!(receipt.contains("infold rescue"), "{receipt}");
}

#[test]
fn numbered_lines_are_numbered_again() {
    let (home, original) = codex_home(8);
    let numbered: String = Session::codex(8)
        .text()
        .lines()
        .enumerate()
        .map(|(at, line)| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line["ordinal"] = json!(at);
            format!("{line}\n")
        })
        .collect();
    fs::write(original, numbered).unwrap();
    let report = printed(&home.run(&["rescue", ID, "--window", "30000", "--json"]));
    for (at, line) in lines(report["written"]["path"].as_str().unwrap(), &home).iter().enumerate() {
        assert_eq!(line["ordinal"], at);
    }
}

#[test]
fn long_inputs_are_shortened_and_stay_json() {
    let (home, original) = codex_home(0);
    let mut session = Session::codex(1);
    for call in 0..30 {
        let arguments = json!({"path": format!("{call}.rs"), "body": "fn f() {}\n".repeat(400)}).to_string();
        let id = format!("write_{call}");
        session.rollout(
            "response_item",
            json!({"type": "function_call", "name": "write", "arguments": arguments, "call_id": id}),
        );
        session.rollout("response_item", json!({"type": "function_call_output", "call_id": id, "output": "ok"}));
    }
    fs::write(original, session.text()).unwrap();
    let report = printed(&home.run(&["rescue", ID, "--window", "20000", "--reserve", "0", "--json"]));
    assert!(!report["shortened"].as_array().unwrap().is_empty(), "{report}");
    assert_eq!(report["left_out"], json!([]));
    for line in lines(report["written"]["path"].as_str().unwrap(), &home) {
        if line["payload"]["name"] == "write" {
            let input: Value = serde_json::from_str(line["payload"]["arguments"].as_str().unwrap()).unwrap();
            assert!(input["path"].as_str().unwrap().ends_with(".rs") && input["body"].is_string());
        }
    }
    let shortened = &report["shortened"][0];
    let ended = home.run(&["result", shortened["ref_id"].as_str().unwrap(), "--limit", "65536"]);
    let whole: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(whole["body"], "fn f() {}\n".repeat(400));
}
