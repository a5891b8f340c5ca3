//! Each agent gets the hook in the form that it understands.

use serde_json::json;

use super::*;

fn guard() -> Guard {
    Guard { program: "/opt/in fold".into(), data: "/home/a'b/data".into() }
}

#[test]
fn claude_code_asks_before_shells_editors_and_tools_of_servers() {
    let hook = guard().claude_hook(None).unwrap();
    assert_eq!(hook["matcher"], "Bash|Write|Edit|MultiEdit|NotebookEdit|mcp__.*");
    assert_eq!(hook["hooks"][0]["command"], r"'/opt/in fold' hook --data '/home/a'\''b/data'");
}

#[test]
fn codex_is_given_the_hook_and_the_digest_that_it_makes_of_it_itself() {
    let plain = Guard { program: "/bin/infold".into(), data: "/data".into() };
    let [hook, state] = plain.codex_settings();
    let parsed: toml::Table = hook.replacen("hooks.PreToolUse", "hook", 1).parse().unwrap();
    assert_eq!(parsed["hook"][0]["hooks"][0]["command"].as_str(), Some("/bin/infold hook --data /data"));
    // The JSON that Codex makes the digest of: names sorted, no spaces, nothing that is not set.
    let canonical = r#"{"event_name":"pre_tool_use","hooks":[{"async":false,"command":"/bin/infold hook --data /data","timeout":30,"type":"command"}],"matcher":"^(Bash|apply_patch|mcp__.*)$"}"#;
    let digest: String =
        digest(&SHA256, canonical.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(state.contains(&format!("\"sha256:{digest}\"")), "{state}");
    let [quoted, _] = guard().codex_settings();
    let parsed: toml::Table = quoted.replacen("hooks.PreToolUse", "hook", 1).parse().unwrap();
    let command = parsed["hook"][0]["hooks"][0]["command"].as_str();
    assert_eq!(command, Some(r"'/opt/in fold' hook --data '/home/a'\''b/data'"));
}

#[test]
fn opencodes_plugin_names_this_program_and_lies_in_the_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    let guard = Guard { program: "/opt/in \"fold".into(), data: folder.path().to_owned() };
    let file = guard.opencode_plugin().unwrap();
    guard.opencode_plugin().unwrap();
    let source = std::fs::read_to_string(&file).unwrap();
    let called = format!(r#"spawnSync("/opt/in \"fold", ["hook", "--data", {}]"#, json!(folder.path()));
    assert!(source.contains(&called), "{source}");
}
