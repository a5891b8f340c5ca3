//! A count of the user's messages that does without the readers under test: it looks at the lines themselves.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// How texts begin that are in a user's message though the user did not write them.
const OPENINGS: [&str; 22] = [
    "<local-command-",
    "<bash-",
    "<task-notification>",
    "<system-reminder>",
    "<user-prompt-submit-hook>",
    "<ide_",
    "<new-diagnostics>",
    "[Request interrupted by user",
    "Caveat: The messages below",
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<turn_aborted>",
    "<skill>",
    "<subagent_notification>",
    "<user_shell_command>",
    "<model_switch>",
    "Another language model started to solve this problem",
    "[infold rescue: receipt]",
    "<personality_spec>",
];

/// How many messages of the user a client would load of these lines.
pub fn user_messages(lines: &[Value]) -> usize {
    if lines.iter().any(|line| line["payload"].is_object()) { of_codex(lines) } else { of_claude(lines) }
}

fn is_users(text: &str) -> bool {
    let is_bare_command = text.starts_with("<command-")
        && text.split("<command-args>").nth(1).is_none_or(|rest| rest.starts_with("</command-args>"));
    !is_bare_command && !OPENINGS.iter().any(|opening| text.starts_with(opening))
}

/// Whether content that is a text or a list of blocks has anything of the user's in it.
fn has_words(content: &Value) -> bool {
    match content {
        Value::String(text) => is_users(text),
        Value::Array(blocks) => blocks.iter().any(|block| match block["type"].as_str() {
            Some("text" | "input_text") => block["text"].as_str().is_some_and(is_users),
            Some("image" | "document" | "input_image") => true,
            _ => false,
        }),
        _ => false,
    }
}

fn of_codex(lines: &[Value]) -> usize {
    let is_said = |item: &&Value| item["type"] == "message" && item["role"] == "user" && has_words(&item["content"]);
    let from = lines.iter().rposition(|line| line["type"] == "compacted");
    let listed = from
        .map_or(&[][..], |at| lines[at]["payload"]["replacement_history"].as_array().map_or(&[][..], Vec::as_slice));
    let later = &lines[from.map_or(0, |at| at + 1)..];
    let later = later.iter().filter(|line| line["type"] == "response_item").map(|line| &line["payload"]);
    listed.iter().chain(later).filter(is_said).count()
}

fn of_claude(lines: &[Value]) -> usize {
    let live = way_to_the_end(lines);
    let asked: HashMap<&str, &str> = blocks(lines)
        .filter(|block| block["type"] == "tool_use")
        .filter_map(|block| Some((block["id"].as_str()?, block["name"].as_str()?)))
        .collect();
    let typed = live.iter().filter(|line| is_typed(line)).count();
    let calls: HashSet<&Value> = live
        .iter()
        .flat_map(|line| line["message"]["content"].as_array().into_iter().flatten())
        .filter(|block| block["type"] == "tool_use")
        .map(|block| &block["id"])
        .collect();
    let answers = blocks(lines).filter(|block| {
        let asks = asked.get(block["tool_use_id"].as_str().unwrap_or_default()) == Some(&"AskUserQuestion");
        let text = block["content"].as_str().unwrap_or_default();
        let is_refusal = text.starts_with("The user doesn't want to ") && text.contains("the user said:");
        block["type"] == "tool_result" && (asks || is_refusal) && calls.contains(&block["tool_use_id"])
    });
    typed + answers.count()
}

fn is_typed(line: &Value) -> bool {
    let note = &line["attachment"];
    let is_queued =
        note["type"] == "queued_command" && note["commandMode"].as_str().is_none_or(|mode| mode == "prompt");
    let is_own = line["isMeta"] != true && line["isCompactSummary"] != true;
    is_queued || (line["type"] == "user" && is_own && has_words(&line["message"]["content"]))
}

fn blocks(lines: &[Value]) -> impl Iterator<Item = &Value> {
    let own = lines.iter().filter(|line| line["isSidechain"] != true);
    own.flat_map(|line| line["message"]["content"].as_array().into_iter().flatten())
}

/// The lines that a client loads, from the last one back to the beginning or to where the client compacted.
fn way_to_the_end(lines: &[Value]) -> Vec<&Value> {
    let is_said = |line: &&Value| {
        let kinds = ["user", "assistant", "attachment", "system"];
        line["isSidechain"] != true
            && line["uuid"].is_string()
            && kinds.contains(&line["type"].as_str().unwrap_or_default())
    };
    let by_id: HashMap<&str, &Value> = lines.iter().filter_map(|line| Some((line["uuid"].as_str()?, line))).collect();
    let mut way = Vec::new();
    let mut next = lines.iter().rev().find(is_said);
    while let Some(line) = next.filter(|line| line["subtype"] != "compact_boundary") {
        way.push(line);
        next = line["parentUuid"].as_str().and_then(|parent| by_id.get(parent)).copied();
    }
    way
}
