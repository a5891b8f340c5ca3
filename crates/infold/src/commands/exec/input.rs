//! What a run is asked: the prompt, standard input, the schema of the answer, the folder.

use std::io::Read;
use std::path::{Path, PathBuf};

use infold_agent::image::{AttachedImage, said_with};
use infold_agent::{SpokenBy, ThreadEntry};
use serde_json::Value;

use crate::agent::read_image;
use crate::failure::Refused;

/// Most bytes of standard input.
const STDIN_BYTES_MAX: u64 = 4 << 20;
/// Most bytes of a schema.
const SCHEMA_BYTES_MAX: usize = 1 << 20;

/// The prompt: the words, and standard input where they say `-`; `None` if there are none.
pub fn prompt(words: &[String]) -> anyhow::Result<Option<String>> {
    let mut parts = Vec::new();
    let said: Vec<&str> = words.iter().map(String::as_str).filter(|word| *word != "-").collect();
    if !said.is_empty() {
        parts.push(said.join(" "));
    }
    if words.iter().any(|word| word == "-") {
        parts.push(standard_input()?);
    }
    let prompt = parts.join("\n\n").trim().to_owned();
    Ok((!prompt.is_empty()).then_some(prompt))
}

/// The images that are sent with it.
pub fn images(files: &[PathBuf], bytes_max: u64) -> anyhow::Result<Vec<AttachedImage>> {
    files.iter().map(|file| read_image(file, bytes_max)).collect()
}

/// What is said; `None` if nothing is.
pub fn words(prompt: Option<String>, images: Vec<AttachedImage>) -> Option<ThreadEntry> {
    match (prompt, images.is_empty()) {
        (prompt, true) => prompt.map(|text| ThreadEntry::user(text, SpokenBy::Person)),
        (prompt, false) => Some(said_with(&prompt.unwrap_or_default(), images)),
    }
}

fn standard_input() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(STDIN_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > STDIN_BYTES_MAX {
        return Err(Refused::new(format!("standard input has more than {STDIN_BYTES_MAX} bytes"))
            .hint("save it to a file in the folder, and say where it is")
            .into());
    }
    String::from_utf8(bytes).map_err(|_| Refused::new("standard input is not text").into())
}

/// The schema in a file.
pub fn schema(file: Option<&Path>) -> anyhow::Result<Option<Value>> {
    let Some(file) = file else { return Ok(None) };
    let shown = file.display();
    let text = std::fs::read(file).map_err(|error| Refused::new(format!("cannot read {shown}: {error}")))?;
    if text.len() > SCHEMA_BYTES_MAX {
        return Err(Refused::new(format!("{shown} is longer than {SCHEMA_BYTES_MAX} bytes")).into());
    }
    let schema: Value =
        serde_json::from_slice(&text).map_err(|error| Refused::new(format!("{shown} is not JSON: {error}")))?;
    if !schema.is_object() {
        return Err(Refused::new(format!("{shown} is not a JSON schema")).hint("a schema is an object").into());
    }
    Ok(Some(schema))
}

/// An answer without the fence that models like to put around JSON.
pub fn unfenced(answer: &str) -> &str {
    let answer = answer.trim();
    let inner = answer.strip_prefix("```json").or_else(|| answer.strip_prefix("```"));
    inner.and_then(|inner| inner.strip_suffix("```")).unwrap_or(answer).trim()
}
