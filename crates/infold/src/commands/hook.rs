//! `infold hook`: answers an agent that asks before it runs a tool that can write a file.
//!
//! infold replaces a secret in a tool's result by a placeholder. A model that writes the result back, with an editor, a
//! patch or a shell, would overwrite the secret with its placeholder. So a call that would write a placeholder is
//! refused, with the reason and what to do instead. A call of another server's tool through `tool_call` is answered by the
//! user's rules for that tool. Any other call is none of infold's business, and gets no answer.
//!
//! The key in the data folder shows which placeholders are infold's own. Without a key, everything that looks like a
//! placeholder counts as one.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use infold_core::writes::{Means, writing_of};
use infold_core::{Scrubber, placeholders};
use infold_store::KEY_FILE;
use serde_json::{Value, json};

use crate::data_folder;
use crate::output::Output;
use crate::run::rules_decision;
use crate::settings::{FlagValues, Surroundings, gather, resolve};

/// Longest question that is read. A write is never longer than a request.
const QUESTION_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What the hook takes.
#[derive(Debug, clap::Args)]
pub struct HookArgs {
    /// A file with the user's rules for tools of other servers
    #[arg(long)]
    rules: Option<PathBuf>,
}

/// Reads the agent's question from standard input, and prints a refusal if the call would write a placeholder, or what the rules
/// say about it.
pub fn run(args: &HookArgs, surroundings: &Surroundings, flags: FlagValues, output: &Output) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(QUESTION_BYTES_MAX).read_to_end(&mut bytes)?;
    let question = String::from_utf8_lossy(&bytes);
    // Most questions hold nothing that even looks like a placeholder, and need no file to be read.
    let has_placeholders = placeholders(&question).next().is_some();
    let refused = has_placeholders.then(|| refused(&question, scrubber(surroundings, flags).as_ref())).flatten();
    let answer = match refused {
        Some(refused) => Some(refusal(&refused)),
        None => args.rules.as_deref().and_then(|rules| by_rules(&question, rules)),
    };
    answer.map_or(Ok(()), |answer| output.text(&format!("{answer}\n")).map_err(Into::into))
}

/// What the rules in a file say about the call in a question.
fn by_rules(question: &str, rules: &Path) -> Option<Value> {
    let question: Value = serde_json::from_str(question).ok()?;
    rules_decision(rules, &question).map(|(decision, reason)| answer(decision, &reason))
}

/// The scrubber that recognises infold's own placeholders; `None` if its key cannot be read. Wrong settings are not
/// reported here, because the answer goes to the agent; other commands report them.
fn scrubber(surroundings: &Surroundings, flags: FlagValues) -> Option<Scrubber> {
    let folder = data_folder::location(&resolve(gather(surroundings, flags).ok()?).ok()?).ok()?;
    with_key(&folder)
}

fn with_key(folder: &Path) -> Option<Scrubber> {
    let key = std::fs::read(folder.join(KEY_FILE)).ok()?;
    Some(Scrubber::derive(&key.try_into().ok()?))
}

/// Why a call is refused: the placeholder in it, and the kind of tool that would write it.
struct RefusedWrite {
    placeholder: String,
    means: Means,
}

/// Decides whether the call in a question is refused; `None` lets it through.
fn refused(question: &str, scrubber: Option<&Scrubber>) -> Option<RefusedWrite> {
    let first = |text: &str| match scrubber {
        Some(scrubber) => scrubber.own_placeholders(text).next().map(str::to_owned),
        None => placeholders(text).next().map(str::to_owned),
    };
    let Ok(asked) = serde_json::from_str::<Value>(question) else {
        // A question that is not JSON is searched as it is: better one refusal too many than a lost secret.
        return first(question).map(|placeholder| RefusedWrite { placeholder, means: Means::Editor });
    };
    let writing = writing_of(asked["tool_name"].as_str().unwrap_or_default(), &asked["tool_input"])?;
    let placeholder = writing.texts.iter().find_map(|text| first(text))?;
    Some(RefusedWrite { placeholder, means: writing.means })
}

fn refusal(refused: &RefusedWrite) -> Value {
    let placeholder = &refused.placeholder;
    let what = match refused.means {
        Means::Editor => "write",
        Means::Shell => "command, which can write files",
    };
    let reason = format!(
        "infold refused this {what}: it holds {placeholder}, which stands for a secret that infold keeps out of \
         your sight. Writing it would put the placeholder in the secret's place. Leave that line as it is and edit \
         only the lines around it, with an edit that does not contain it; to use the secret elsewhere, refer to an \
         environment variable or read it from its file in the same command; or ask the user to write it."
    );
    answer("deny", &reason)
}

/// An answer in the form that agents read.
fn answer(decision: &str, reason: &str) -> Value {
    json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    }})
}

#[cfg(test)]
mod tests;
