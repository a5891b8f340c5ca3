//! SEC-001, what callers may write: bounded, and without control characters. Every argument of every
//! tool is in `bad_input`; here are the bounds that the document names.

use anyhow::Result;
use serde_json::{Value, json};

use crate::support::{Program, roomy};

/// A text of so many characters, each of more than one byte: bounds count characters, not bytes.
fn chars(count: usize) -> String {
    "é".repeat(count)
}

#[tokio::test]
async fn sec_001_texts_of_exactly_the_bound_are_taken_and_one_more_is_refused() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let create = |description: usize, prompt: usize| {
        json!({
            "session_id": "s", "description": chars(description), "prompt": chars(prompt),
            "budget": 32_768, "parent_branch_id": "main",
        })
    };
    let branch = program.done("branch_create", create(500, 10_000)).await?["branch_id"].clone();
    let context = |description: usize, prompt: usize| {
        json!({
            "project_path": "/p", "session_id": "t", "description": chars(description), "prompt": chars(prompt),
            "parent_branch_id": "main",
        })
    };
    program.done("context_branch", context(200, 5_000)).await?;
    let before = program.database()?.contents()?;

    for (tool, arguments, field) in [
        ("branch_create", create(501, 1), "description"),
        ("branch_create", create(1, 10_001), "prompt"),
        ("context_branch", context(201, 1), "description"),
        ("context_branch", context(1, 10_001), "prompt"),
        ("branch_return", json!({"branch_id": branch, "message": chars(50_001)}), "message"),
    ] {
        let refused = program.refused(tool, arguments).await?;
        assert_eq!(refused.verdict(), ("invalid_input", 400), "{tool} {field}");
        assert_eq!((&refused.data["field"], refused.unclear(field)), (&json!(field), None));
        assert!(refused.message.contains("1 characters, at most"), "{}", refused.message);
    }
    assert_eq!(program.database()?.contents()?, before, "what is refused leaves nothing");

    let message = chars(50_000);
    let returned = program.done("branch_return", json!({"branch_id": branch, "message": message})).await?;
    assert_eq!(returned["message"], message);
    Ok(())
}

#[tokio::test]
async fn sec_001_the_json_api_refuses_with_a_real_400() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let branch = program.open("s", "Work").await?;
    let before = program.database()?.contents()?;
    for (path, body, field) in [
        ("/api/v1/sessions/s/branches".to_owned(), json!({"description": chars(501)}), "description"),
        ("/api/v1/sessions/s/branches".to_owned(), json!({"description": "x", "prompt": chars(10_001)}), "prompt"),
        ("/api/v1/sessions/s/branches".to_owned(), json!({"description": " \u{0} "}), "description"),
        (format!("/api/v1/branches/{branch}/return"), json!({"message": chars(50_001)}), "message"),
        (format!("/api/v1/sessions/{}/branches", "x".repeat(129)), json!({"description": "x"}), "session_id"),
    ] {
        let refused = program.api.post(&path, &body).await?.refused()?;
        assert_eq!((refused.verdict(), refused.unclear(field)), (("invalid_input", 400), None), "{path}");
    }
    assert_eq!(program.database()?.contents()?, before, "what is refused leaves nothing");
    Ok(())
}

#[tokio::test]
async fn sec_001_control_characters_are_stripped_before_anything_is_stored_or_returned() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let dirty = "\u{0}one\u{1b}[31m two\u{7}\r\n\tthree\u{7f} \u{202e}four\u{2066}\u{85}";
    let clean = "one[31m two\n\tthree four";
    let arguments = json!({"session_id": "s", "description": dirty, "prompt": dirty});
    let branch = program.done("branch_create", arguments).await?["branch_id"].clone();
    let branch = branch.as_str().unwrap_or_default();

    let detail = program.api.get(&format!("/api/v1/branches/{branch}")).await?.with_status(200)?;
    assert_eq!((&detail["description"], &detail["prompt"]), (&json!(clean), &json!(clean)));
    let returned = program.fold(branch, dirty).await?;
    assert_eq!(returned["message"], clean);
    assert_eq!(program.look_at(branch).await?["result"], clean);

    let stored: Vec<Value> = program.database()?.contents()?.into_values().flatten().map(Value::from).collect();
    let stored = Value::from(stored).to_string();
    // In JSON text inside a column, what was stripped would be in one of these forms.
    for form in ["\u{202e}", "\u{2066}", "\u{7f}", "\\u0000", "\\u001b", "\\u0007", "\\u0085"] {
        assert!(!stored.contains(form), "{form:?} was stored");
    }
    Ok(())
}
