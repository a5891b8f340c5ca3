//! `infold hook`: what agents ask before a tool runs that can write a file.
//!
//! A secret that infold has taken out of a result stands there as a placeholder. A model that writes the
//! result back, with an editor, a patch or a shell, would overwrite the secret with its mask; so a call that would
//! write a placeholder is refused, with the reason and what to do instead. Anything else is not infold's business,
//! and nothing is said.
//!
//! A placeholder proves itself with the key in the data folder. Where there is no key, whatever looks like one
//! counts as one.

use std::io::{self, Read};
use std::path::Path;

use infold_core::writes::{Means, writing_of};
use infold_core::{Scrubber, placeholders};
use infold_store::KEY_FILE;
use serde_json::{Value, json};

use crate::data_folder;
use crate::output::Output;
use crate::settings::{FlagValues, Surroundings, gather, resolve};

/// Longest question that is read. A write is never longer than a request.
const QUESTION_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Answers the question on standard input.
pub fn run(surroundings: &Surroundings, flags: FlagValues, output: &Output) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(QUESTION_BYTES_MAX).read_to_end(&mut bytes)?;
    let question = String::from_utf8_lossy(&bytes);
    // Most questions hold nothing that even looks like one, and are answered without looking at any file.
    if placeholders(&question).next().is_none() {
        return Ok(());
    }
    let scrubber = scrubber(surroundings, flags);
    if let Some(refused) = refused(&question, scrubber.as_ref()) {
        output.text(&format!("{}\n", refusal(&refused)))?;
    }
    Ok(())
}

/// The scrubber that proves placeholders, if its key can be read. Settings that are wrong are told elsewhere.
fn scrubber(surroundings: &Surroundings, flags: FlagValues) -> Option<Scrubber> {
    let folder = data_folder::location(&resolve(gather(surroundings, flags).ok()?).ok()?).ok()?;
    with_key(&folder)
}

fn with_key(folder: &Path) -> Option<Scrubber> {
    let key = std::fs::read(folder.join(KEY_FILE)).ok()?;
    Some(Scrubber::derive(&key.try_into().ok()?))
}

/// What is refused.
struct Refused {
    placeholder: String,
    means: Means,
}

/// What a question is refused for, if it is.
fn refused(question: &str, scrubber: Option<&Scrubber>) -> Option<Refused> {
    let first = |text: &str| match scrubber {
        Some(scrubber) => scrubber.own_placeholders(text).next().map(str::to_owned),
        None => placeholders(text).next().map(str::to_owned),
    };
    let Ok(asked) = serde_json::from_str::<Value>(question) else {
        // What cannot be read is looked through as it is: better one refusal too many than a lost secret.
        return first(question).map(|placeholder| Refused { placeholder, means: Means::Editor });
    };
    let writing = writing_of(asked["tool_name"].as_str().unwrap_or_default(), &asked["tool_input"])?;
    let placeholder = writing.texts.iter().find_map(|text| first(text))?;
    Some(Refused { placeholder, means: writing.means })
}

fn refusal(refused: &Refused) -> Value {
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
    json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    }})
}

#[cfg(test)]
mod tests;
