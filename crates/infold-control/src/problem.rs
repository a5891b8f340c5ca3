//! Turns a parser's error message about a caller's input into a sentence for that caller.
//!
//! The parser's own message names Rust types and repeats the value that it could not read. The value is left
//! out here: it may be long, and it may be a secret.

use crate::error::{ApiError, shown};

/// Most characters of a parser's message that are passed on if its form is not known here.
const SAID_CHARS_MAX: usize = 200;

/// The refusal for a field at `path` of which a parser `said` what is wrong; both as the parser gave them.
pub(crate) fn refuse(path: Option<&str>, said: &str) -> ApiError {
    let said = said.rsplit_once(" at line ").map_or(said, |(said, _)| said);
    let path = path.map(shown).filter(|path| !path.is_empty() && path != "." && path != "?");
    let field = path.as_deref().unwrap_or("The input");

    if let Some((name, known)) = unknown_field(said) {
        return ApiError::invalid(&name, &format!("is not known here: {known}"));
    }
    if let Some(name) = between(said, "missing field `") {
        return ApiError::invalid(&name, "is required");
    }
    if let Some(name) = between(said, "duplicate field `") {
        return ApiError::invalid(&name, "is given more than once: give it once");
    }
    if said.contains("number too large") {
        return ApiError::invalid(field, "is too large");
    }
    if said.contains("invalid digit") || said.contains("parse integer") {
        return ApiError::invalid(field, &format!("must be {NUMBER}"));
    }
    match said.rsplit_once(", expected ") {
        Some((_, wanted)) => ApiError::invalid(field, &format!("must be {}", in_words(wanted))),
        None => {
            let said: String = said.chars().take(SAID_CHARS_MAX).collect();
            ApiError::invalid(field, &format!("cannot be used: {}", infold_core::strip_controls(&said)))
        }
    }
}

const NUMBER: &str = "a whole number, 0 or more";

/// The name of an unknown field, and advice that lists the known ones.
fn unknown_field(said: &str) -> Option<(String, String)> {
    let rest = said.split_once("unknown field `")?.1;
    match rest.split_once("`, expected ") {
        Some((name, known)) => {
            let known = known.trim_start_matches("one of ").replace('`', "").replace(" or ", ", ");
            Some((shown(name), format!("use only {known}")))
        }
        None => {
            let name = rest.split_once("`, there are no fields").map_or(rest, |(name, _)| name);
            Some((shown(name), "leave it out".to_owned()))
        }
    }
}

/// The name between the backtick that ends `before` and the next one.
fn between(said: &str, before: &str) -> Option<String> {
    let rest = said.split_once(before)?.1;
    Some(shown(rest.split_once('`').map_or(rest, |(name, _)| name)))
}

fn in_words(wanted: &str) -> String {
    match wanted {
        "u64" | "u32" | "usize" => NUMBER.to_owned(),
        "a boolean" => "true or false".to_owned(),
        other => shown(other),
    }
}

#[cfg(test)]
mod tests;
