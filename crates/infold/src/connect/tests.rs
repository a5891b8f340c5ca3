//! Changes of settings files and how they are undone, as text.

use std::path::Path;

use serde_json::json;

use super::change::{Change, Done, Syntax, apply, undo};
use super::*;

const PLACE: &str = "settings";

fn changed(form: Syntax, before: &str, changes: &[Change]) -> (String, Vec<Done>) {
    apply(form, before, changes, Path::new(PLACE)).unwrap()
}

fn json_changes() -> Vec<Change> {
    vec![
        Change::set(&["env", "URL"], "http://127.0.0.1:9090/anthropic"),
        Change::append(&["hooks", "PreToolUse"], json!({"matcher": "Write"})),
        Change::set(&["mcpServers", "infold"], json!({"url": "x"})),
    ]
}

const COMMENTED: &str = "// mine\n{\n\t\"a\": 1.50, /* odd */ \"env\": {\"URL\": \"old\", \"x\": \"y\"},\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{\"matcher\": \"Bash\"}, // ask\n\t\t],\n\t},\n}\n";

#[test]
fn comments_and_everything_else_in_json_keep_their_bytes() {
    let (after, _) = changed(Syntax::Json, COMMENTED, &json_changes());
    for kept in ["// mine\n", "\t\"a\": 1.50, /* odd */ ", "\"x\": \"y\"", "{\"matcher\": \"Bash\"}, // ask"] {
        assert!(after.contains(kept), "{kept:?} is gone from\n{after}");
    }
    let value = crate::run::parse_for_tests(&after);
    assert_eq!(value["env"], json!({"URL": "http://127.0.0.1:9090/anthropic", "x": "y"}));
    assert_eq!(value["hooks"]["PreToolUse"], json!([{"matcher": "Bash"}, {"matcher": "Write"}]));
    assert_eq!(value["mcpServers"]["infold"]["url"], "x");
}

#[test]
fn a_text_that_nobody_touched_goes_back_byte_for_byte() {
    for (form, before, changes) in [
        (Syntax::Json, COMMENTED, json_changes()),
        (Syntax::Json, "{}", json_changes()),
        (Syntax::Json, "{\"env\":{}}", json_changes()),
        (Syntax::Toml, TOML, toml_changes()),
        (Syntax::Toml, "", toml_changes()),
    ] {
        let (after, _) = changed(form, before, &changes);
        assert_ne!(after, before);
        assert_eq!(Patch::between(Some(before), &after).reversed(&after), Some(Some(before.to_owned())));
    }
    let (after, _) = changed(Syntax::Json, "", &json_changes());
    assert_eq!(Patch::between(None, &after).reversed(&after), Some(None));
}

#[test]
fn a_text_that_others_have_touched_loses_only_what_is_infolds() {
    let (after, done) = changed(Syntax::Json, COMMENTED, &json_changes());
    let touched = after.replace("\"x\": \"y\"", "\"x\": \"changed\"");
    assert_eq!(Patch::between(Some(COMMENTED), &after).reversed(&touched), None);

    let back = undo(Syntax::Json, &touched, &done, Path::new(PLACE)).unwrap();
    let (was, is) = (crate::run::parse_for_tests(COMMENTED), crate::run::parse_for_tests(&back));
    assert_eq!(is["env"], json!({"URL": "old", "x": "changed"}));
    assert_eq!((&is["hooks"], is.get("mcpServers")), (&was["hooks"], None));
}

#[test]
fn a_value_that_the_user_has_set_since_is_theirs() {
    let (after, done) = changed(Syntax::Json, "{}", &json_changes());
    let touched = after.replace("http://127.0.0.1:9090/anthropic", "http://gate.example");
    let back = undo(Syntax::Json, &touched, &done, Path::new(PLACE)).unwrap();
    assert_eq!(crate::run::parse_for_tests(&back), json!({"env": {"URL": "http://gate.example"}}));
}

#[test]
fn what_is_there_already_is_not_added_again() {
    let (once, _) = changed(Syntax::Json, COMMENTED, &json_changes());
    let (twice, _) = changed(Syntax::Json, &once, &json_changes());
    assert_eq!(once, twice);
}

const TOML: &str = "# mine\nmodel = \"gpt-5.5\" # the good one\nmodel_provider = \"local\"\n\n[model_providers.local]\n# home\nbase_url = \"http://gate.example/v1\" # keep\nenv_key = \"KEY\"\n";

fn toml_changes() -> Vec<Change> {
    vec![
        Change::set(&["model_providers", "local", "base_url"], "http://127.0.0.1:9090/openai/v1"),
        Change::set(&["mcp_servers", "infold", "url"], "http://127.0.0.1:9090/mcp"),
    ]
}

#[test]
fn comments_in_toml_keep_their_bytes() {
    let (after, done) = changed(Syntax::Toml, TOML, &toml_changes());
    let expected = TOML.replace("http://gate.example/v1", "http://127.0.0.1:9090/openai/v1")
        + "\n[mcp_servers.infold]\nurl = \"http://127.0.0.1:9090/mcp\"\n";
    assert_eq!(after, expected);

    let touched = after.replace("gpt-5.5", "gpt-6");
    let back = undo(Syntax::Toml, &touched, &done, Path::new(PLACE)).unwrap();
    assert_eq!(back.trim_end(), TOML.replace("gpt-5.5", "gpt-6").trim_end());
}

#[test]
fn a_value_of_the_document_itself_is_written_in_front_of_its_tables() {
    let (after, done) = changed(Syntax::Toml, "[tui]\ntheme = \"x\"\n", &[Change::set(&["openai_base_url"], "u")]);
    assert_eq!(after, "openai_base_url = \"u\"\n[tui]\ntheme = \"x\"\n");
    assert_eq!(undo(Syntax::Toml, &after, &done, Path::new(PLACE)).unwrap(), "[tui]\ntheme = \"x\"\n");
}

#[test]
fn a_file_that_cannot_be_understood_is_refused() {
    for (form, text) in [(Syntax::Json, "{\"a\""), (Syntax::Json, "[1]"), (Syntax::Toml, "a = ")] {
        let refused = apply(form, text, &toml_changes(), Path::new(PLACE)).unwrap_err().to_string();
        assert!(refused.contains("settings is not") && refused.contains("nothing was changed"), "{refused}");
    }
    let refused = apply(Syntax::Json, "{\"env\": 3}", &json_changes(), Path::new(PLACE)).unwrap_err().to_string();
    assert!(refused.contains("`env.URL` has an unexpected type"), "{refused}");
}
