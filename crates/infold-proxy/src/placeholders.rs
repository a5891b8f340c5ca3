//! Placeholders that a model writes where a secret should stand: a file would lose its secret to its mask.
//!
//! infold cannot stop a client's own tools, so it says what happened: to people in the recorder, and to the
//! model behind the result. A call that was refused, by a hook for instance, has written nothing.

use infold_core::view::{BlockKind, Note, Piece, Plan, ResultBlock};
use infold_engine::Facts;
use infold_wire::request::Request;
use serde_json::Value;

use crate::Proxy;
use crate::first_sight::{call_of, calls};
use crate::planning::{Fault, Turn};

/// Parts of the names of tools that write files.
const WRITERS: [&str; 6] = ["write", "edit", "patch", "create_file", "str_replace", "insert"];
const OPENING: &str = "[SECRET:";
const HASH_DIGITS: usize = 6;
const RULE_BYTES_MAX: usize = 64;

impl Proxy {
    /// Notes that a call of the last turn has written a placeholder. Says so in words, once for each call.
    pub(crate) async fn note_placeholders(
        &self,
        turn: &Turn<'_>,
        plan: &Plan,
        facts: &mut Facts,
    ) -> Result<Vec<String>, Fault> {
        let mut told = Vec::new();
        for (result, written) in written(turn.request, plan) {
            if facts.known.notes.iter().any(|note| note.after == *result.call) {
                continue;
            }
            let text = format!(
                "[infold: your last call to {} contained {}, which stands for a secret that was hidden from you. What \
                 was written now holds this placeholder in the secret's place: put the secret back (ask the user, or \
                 restore the file), and leave such parts of a file as they are.]",
                written.tool, written.placeholder
            );
            let note = Note { after: result.call.clone().into_owned(), text };
            self.engine.keep_note(&turn.identity.who, &turn.identity.session, note.clone()).await?;
            facts.known.notes.push(note);
            told.push(format!("{} wrote {} where a secret was", written.tool, written.placeholder));
        }
        Ok(told)
    }
}

struct Written {
    tool: String,
    placeholder: String,
}

/// Results of the last turn whose calls wrote placeholders.
fn written<'r, 'a>(request: &'r Request<'a>, plan: &Plan) -> Vec<(&'r ResultBlock<'a>, Written)> {
    let mut found = Vec::new();
    let mut places = None;
    for at in last_results(request) {
        let BlockKind::Result(result) = &request.blocks()[at].kind else { continue };
        if !plan.pieces.iter().any(|piece| is_of(piece, at)) {
            continue;
        }
        let calls = places.get_or_insert_with(|| calls(request));
        let (tool, arguments) = call_of(request, result, calls);
        let Some(placeholder) = find(&arguments) else { continue };
        if is_writer(&tool) && !is_refused(request, result) {
            found.push((result, Written { tool, placeholder: placeholder.to_owned() }));
        }
    }
    found
}

fn is_of(piece: &Piece, at: usize) -> bool {
    match piece {
        Piece::Keep(block)
        | Piece::Content { block, .. }
        | Piece::Text { block, .. }
        | Piece::Words { block, .. }
        | Piece::Quote { block, .. } => *block == at,
        Piece::Say { .. } => false,
    }
}

/// Results behind the model's last words.
fn last_results(request: &Request<'_>) -> impl Iterator<Item = usize> {
    let blocks = request.blocks();
    let behind = blocks.iter().rposition(|block| matches!(block.kind, BlockKind::Call(_) | BlockKind::Assistant));
    (behind.map_or(blocks.len(), |at| at + 1)..blocks.len())
        .filter(|at| matches!(blocks[*at].kind, BlockKind::Result(_)))
}

fn is_writer(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    WRITERS.iter().any(|writer| tool.contains(writer))
}

/// Whether a result says that nothing was done. Only the Messages API has a word for it. It is looked up in the
/// whole body, which is slow, and seldom needed.
fn is_refused(request: &Request<'_>, result: &ResultBlock<'_>) -> bool {
    let Ok(body) = serde_json::from_slice::<Value>(request.body()) else { return false };
    let messages = body["messages"].as_array().into_iter().flatten();
    let mut blocks = messages.filter_map(|message| message["content"].as_array()).flatten();
    blocks.any(|block| block["tool_use_id"] == *result.call && block["is_error"] == true)
}

/// The first placeholder in a text.
pub(crate) fn find(text: &str) -> Option<&str> {
    text.match_indices(OPENING).find_map(|(start, _)| {
        let rest = &text[start..];
        let end =
            rest.char_indices().take(OPENING.len() + RULE_BYTES_MAX + HASH_DIGITS + 2).find(|(_, c)| *c == ']')?.0;
        let inner = &rest[OPENING.len()..end];
        let (rule, hash) = inner.split_once(':')?;
        let is_rule =
            !rule.is_empty() && rule.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        let is_hash = hash.len() == HASH_DIGITS && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (is_rule && is_hash).then(|| &rest[..=end])
    })
}

#[cfg(test)]
mod tests;
