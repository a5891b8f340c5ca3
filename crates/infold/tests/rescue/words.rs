//! What the user said is there after a rescue, wherever the client put it, and the receipt counts it.

use serde_json::{Value, json};

use super::home::Home;
use super::sessions::{CLAUDE_FOLDER, CODEX_FOLDER, ID, Session, lines, long_text, printed};

fn rescued(path: &str, text: &str) -> (Value, String) {
    let home = Home::new();
    home.write(path, text);
    let report = printed(&home.run(&["rescue", ID, "--window", "9000", "--reserve", "0", "--json"]));
    let lines = lines(report["written"]["path"].as_str().unwrap(), &home);
    (report, lines.iter().map(|line| format!("{line}\n")).collect())
}

#[test]
fn words_in_commands_answers_refusals_queues_and_images_stay() {
    let mut session = Session::default();
    session.user(json!(
        "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>look at the parser first</command-args>"
    ));
    let asked = json!({"questions": [{"question": "Which one?"}]});
    session.answer("msg_q", json!({"type": "tool_use", "id": "q", "name": "AskUserQuestion", "input": asked}));
    session.result("q", "User has answered your questions: \"Which one?\"=\"the blue one\".");
    session
        .answer("msg_r", json!({"type": "tool_use", "id": "r", "name": "Bash", "input": {"command": "rm -r build"}}));
    session.result(
        "r",
        "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nkeep the build folder",
    );
    let queued = json!({"type": "queued_command", "prompt": "and mind the tests", "commandMode": "prompt"});
    let shown =
        json!([{"content": "<system-reminder>The user sent a new message: and mind the tests</system-reminder>"}]);
    session.note(json!({"attachment": queued, "rendered": shown}));
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAMgAAADICAIAAAA="}});
    session.user(json!([{"type": "text", "text": "it looks like this"}, image]));
    for read in 0..30 {
        let call = format!("toolu_{read}");
        session.answer(
            &format!("msg_{read}"),
            json!({"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": "a"}}),
        );
        session.result(&call, &long_text(read, 200));
    }
    session.answer("msg_end", json!({"type": "text", "text": "Done."}));

    let (report, text) = rescued(&format!("{CLAUDE_FOLDER}/{ID}.jsonl"), &session.text());
    assert!(!report["left_out"].as_array().unwrap().is_empty(), "{report}");
    for words in
        ["look at the parser first", "the blue one", "keep the build folder", "and mind the tests", "iVBORw0KGgo"]
    {
        assert!(text.contains(words), "{words}: {report}");
    }
    assert_eq!(report["user_messages"], 5, "{report}");
    assert!(text.contains("All 5 messages of the user that it still held are here, word for word."));
}

#[test]
fn words_that_an_earlier_compaction_of_codex_lists_outlast_one_that_lists_nothing() {
    let said =
        |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    let mut session = Session::codex(1);
    session.rollout("compacted", json!({"message": "", "replacement_history": [said("words of long ago")]}));
    session.rollout("response_item", said("words in between"));
    session.rollout("event_msg", json!({"type": "user_message", "message": "words in between"}));
    session.rollout("compacted", json!({"message": "what was done"}));
    session.rollout("response_item", said("words of today"));
    session.rollout("event_msg", json!({"type": "user_message", "message": "words of today"}));
    let path = format!("{CODEX_FOLDER}/rollout-2026-11-15T18-16-47-{ID}.jsonl");
    let home = Home::new();
    home.write(&path, &session.text());
    let report = printed(&home.run(&["rescue", ID, "--force", "--json"]));
    let lines = lines(report["written"]["path"].as_str().unwrap(), &home);
    let text: String = lines.iter().map(Value::to_string).collect();
    for words in ["words of long ago", "words in between", "what was done", "words of today"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(report["user_messages"], 3, "{report}");
}
