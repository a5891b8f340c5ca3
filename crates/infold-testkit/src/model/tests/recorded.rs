//! Recorded requests of real clients break none of the fake model's rules.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::{anthropic, chat, responses};

#[test]
fn what_real_clients_send_breaks_no_rule() {
    let folder = std::env::var_os("INFOLD_TEST_DATA").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"));
    let mut checked = 0;
    for file in requests_below(&folder.join("clients")) {
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let path = record["path"].as_str().unwrap_or_default();
            let body = without_reasoning(&record["body"]);
            let refused = if path.starts_with("/v1/messages?") || path == "/v1/messages" {
                anthropic::rules::check(&body).err()
            } else if path.ends_with("/responses") {
                responses::rules::check(&body, &HashMap::new()).err()
            } else if path.ends_with("/chat/completions") {
                chat::rules::check(&body).err()
            } else {
                continue;
            };
            checked += 1;
            assert_eq!(refused.map(|refusal| refusal.message), None, "{} in {}", record["seq"], file.display());
        }
    }
    if checked == 0 {
        eprintln!("skipped: no recorded requests; set INFOLD_TEST_DATA to where they are");
    }
}

/// A body without its reasoning, which the fake model would not recognise as its own.
fn without_reasoning(body: &Value) -> Value {
    match body {
        Value::Array(parts) => {
            let kept = parts
                .iter()
                .filter(|part| !matches!(part["type"].as_str(), Some("thinking" | "redacted_thinking" | "reasoning")));
            kept.map(without_reasoning).collect()
        }
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), without_reasoning(value))).collect())
        }
        other => other.clone(),
    }
}

fn requests_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(requests_below(&path));
        } else if path.file_name().is_some_and(|name| name == "requests.jsonl") {
            found.push(path);
        }
    }
    found
}
