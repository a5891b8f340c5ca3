//! Rescued sessions of Claude Code: what is in the new file.

use std::fs;

use serde_json::{Value, json};

use super::home::mode;
use super::sessions::{CLAUDE_FOLDER, ID, claude_home, lines, names, printed};

#[test]
fn a_session_that_does_not_fit_goes_on_in_a_new_file_beside_it() {
    let (home, original) = claude_home(8);
    let before = fs::read(&original).unwrap();
    let report = printed(&home.run(&["rescue", ID, "--window", "30000", "--reserve", "8000", "--json"]));

    let session = report["written"]["session_id"].as_str().unwrap();
    assert_ne!(session, ID);
    assert_eq!(names(&home.join(CLAUDE_FOLDER)), {
        let mut names = vec![format!("{ID}.jsonl"), format!("{session}.jsonl")];
        names.sort();
        names
    });
    assert_eq!(report["written"]["go_on"], format!("claude --resume {session}"));
    assert_eq!(fs::read(&original).unwrap(), before, "the original must not change");
    assert_eq!(mode(&home.join(&format!("{CLAUDE_FOLDER}/{session}.jsonl"))), 0o600);

    let (after, room) = (report["after_tokens"].as_u64().unwrap(), report["room_tokens"].as_u64().unwrap());
    assert!(after + report["written"]["receipt_tokens"].as_u64().unwrap() <= room, "{report}");
    assert!(report["offloaded"].as_array().unwrap().len() >= 4, "{report}");
    assert_eq!(report["reasoning"]["count"], 8);
    assert_eq!(report["left_out"], json!([]));
}

#[test]
fn the_new_lines_form_one_chain_of_the_new_session() {
    let (home, _) = claude_home(8);
    let report = printed(&home.run(&["rescue", ID, "--window", "30000", "--reserve", "8000", "--json"]));
    let lines = lines(report["written"]["path"].as_str().unwrap(), &home);
    assert_eq!(report["written"]["lines"], lines.len());

    let mut parent = Value::Null;
    for line in &lines {
        assert_eq!(line["parentUuid"], parent);
        assert_eq!(line["sessionId"], report["written"]["session_id"]);
        assert!(line["timestamp"].is_string());
        let tokens = line["message"]["usage"]["cache_read_input_tokens"].as_u64();
        assert!(tokens.is_none_or(|tokens| tokens == 0), "figures of old requests make the client compact at once");
        parent = line["uuid"].clone();
    }

    // The receipt for the model comes first, the note for the user last.
    assert!(lines[0]["isMeta"] == true && lines[0]["message"]["content"].as_str().unwrap().contains("infold rescue"));
    assert_eq!(lines[1]["message"]["content"], format!("read the files, and mind session {ID}"));
    assert_eq!(lines.last().unwrap()["subtype"], "informational");
    let blocks: Vec<&Value> =
        lines.iter().flat_map(|line| line["message"]["content"].as_array().into_iter().flatten()).collect();
    assert!(blocks.iter().all(|block| block["type"] != "thinking"));
    let calls: Vec<&Value> =
        blocks.iter().filter(|block| block["type"] == "tool_use").map(|block| &block["id"]).collect();
    let answered: Vec<&Value> = blocks.iter().filter_map(|block| block.get("tool_use_id")).collect();
    assert_eq!(calls, answered);
    assert_eq!(calls.len(), 8);
    assert!(blocks.iter().any(|block| block["text"] == "thanks, now fix \u{e9}\u{1f600} them"));
}

#[test]
fn offloaded_results_leave_a_reference_and_no_second_copy() {
    let (home, _) = claude_home(8);
    let report = printed(&home.run(&["rescue", ID, "--window", "30000", "--reserve", "8000", "--json"]));
    let lines = lines(report["written"]["path"].as_str().unwrap(), &home);
    for moved in report["offloaded"].as_array().unwrap() {
        let line = lines.iter().find(|line| line["message"]["content"][0]["tool_use_id"] == moved["call_id"]).unwrap();
        let shown = line["message"]["content"][0]["content"].as_str().unwrap();
        assert!(shown.contains(moved["ref_id"].as_str().unwrap()), "{shown}");
        assert!(line.to_string().len() < 8_000, "the client's own copy must go, too: {line}");
    }
}

#[test]
fn what_fits_already_is_left_alone_unless_it_is_forced() {
    let (home, _) = claude_home(2);
    let ended = home.run(&["rescue", ID]);
    insta::assert_snapshot!(ended.stdout.replace(|c: char| c.is_ascii_digit(), "0"), @"It fits already: 00,000 tokens, and there is room for 000,000. Nothing was written.");
    assert_eq!(ended.code, 0);
    assert_eq!(names(&home.join(CLAUDE_FOLDER)).len(), 1);
    assert_eq!(printed(&home.run(&["rescue", ID, "--json"]))["fits"], true);

    let report = printed(&home.run(&["rescue", ID, "--force", "--json"]));
    assert_eq!(report["offloaded"], json!([]));
    assert_eq!(report["fits"], true);
    assert_eq!(names(&home.join(CLAUDE_FOLDER)).len(), 2);
}

#[test]
fn a_dry_run_says_what_would_be_done_and_writes_nothing() {
    let (home, _) = claude_home(8);
    let ended = home.run(&["rescue", ID, "--window", "30000", "--dry-run"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains("results offloaded") && ended.stdout.contains("would become"), "{}", ended.stdout);
    assert_eq!(names(&home.join(CLAUDE_FOLDER)).len(), 1);
    assert!(!home.data().exists());
}

#[test]
fn oldest_exchanges_go_when_references_alone_do_not_fit() {
    let (home, _) = claude_home(60);
    let report = printed(&home.run(&["rescue", ID, "--window", "8000", "--reserve", "0", "--json"]));
    assert!(!report["left_out"].as_array().unwrap().is_empty(), "{report}");
    assert_eq!(report["left_out"][0]["tools"], json!(["Read"]));
    let lines = lines(report["written"]["path"].as_str().unwrap(), &home);
    let said = |line: &&Value| line["message"]["content"].to_string().contains("thanks, now fix");
    assert_eq!(lines.iter().filter(said).count(), 1);
}

#[test]
fn a_window_that_is_too_small_is_refused_with_what_cannot_shrink() {
    let (home, _) = claude_home(3);
    home.write(&format!("{CLAUDE_FOLDER}/{ID}.jsonl"), &{
        let mut session = super::sessions::Session::claude(1);
        session.user(json!("these words stay ".repeat(3_000)));
        session.text()
    });
    let ended = home.run(&["rescue", ID, "--window", "4000", "--reserve", "0"]);
    assert_eq!(ended.code, 3);
    assert!(ended.stderr.contains("the user's turns"), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: give a larger --window"), "{}", ended.stderr);
    assert_eq!(names(&home.join(CLAUDE_FOLDER)).len(), 1);
    assert!(!home.data().join("infold.db").exists());
}

#[test]
fn output_goes_where_it_is_wanted_and_never_over_something() {
    let (home, _) = claude_home(8);
    let wanted = "0a2438e4-96a7-43f7-b051-10a055bb0fbe";
    let output = home.join(&format!("{wanted}.jsonl"));
    let output = output.to_str().unwrap();
    let report = printed(&home.run(&["rescue", ID, "--window", "30000", "--output", output, "--json"]));
    assert_eq!(report["written"]["go_on"], format!("claude --resume HOME/{wanted}.jsonl"));
    assert_eq!(report["written"]["session_id"], wanted, "the client takes the id from the name");
    let written = fs::read(output).unwrap();
    let ended = home.run(&["rescue", ID, "--window", "30000", "--output", output]);
    assert_eq!(ended.code, 3);
    assert!(ended.stderr.contains("is there already"), "{}", ended.stderr);
    assert_eq!(fs::read(output).unwrap(), written);

    let named = home.join("new.jsonl");
    let ended = home.run(&["rescue", ID, "--window", "30000", "--output", named.to_str().unwrap()]);
    assert!(ended.stdout.contains("rename it to "), "{}", ended.stdout);
}
