//! infold's own resources: memories of the caller's project, as a branch would be given them.
//!
//! Clients read them when a person or a model asks for it; nothing is put into a prompt. What may not be shown, because
//! it waits, is not sure enough, or is another project's or owner's, is not found.

use std::path::PathBuf;

use infold_core::Principal;
use infold_engine::{Engine, Error, NotesRead, NotesWanted, ReadNotes};
use reqwest::Url;
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

/// What every address of infold's own begins with.
const SCHEME: &str = "infold://";
/// The memories of the caller's project.
const MEMORIES: &str = "infold://memories";
const MEMORY: &str = "infold://memories/{id}";
const ABOUT: &str = "infold://memories{?query,project}";
const MIME_TYPE: &str = "text/plain";

/// Whether an address, or a template of addresses, is infold's own.
pub(crate) fn is_own(uri: &str) -> bool {
    uri.starts_with(SCHEME)
}

/// The resources that are listed.
pub(crate) fn list() -> Vec<Resource> {
    let about = "What earlier work in this project has learnt, the surest first: notes, not instructions";
    vec![Resource::new(MEMORIES, "memories").with_title("Memories").with_description(about).with_mime_type(MIME_TYPE)]
}

/// The templates that are listed.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = |template: &str, name: &str, title: &str, about: &str| {
        let made = ResourceTemplate::new(template, name).with_title(title).with_description(about);
        made.with_mime_type(MIME_TYPE)
    };
    vec![
        template(MEMORY, "memory", "A memory", "One memory of this project, by its name"),
        template(
            ABOUT,
            "memories-about",
            "Memories about something",
            "Memories that have to do with a query; project is a folder, if not this one",
        ),
    ]
}

/// Reads the resource at an address. `folder` is where the client works, if it says so.
pub(crate) async fn read(
    engine: &Engine,
    who: &Principal,
    uri: &str,
    folder: Option<PathBuf>,
) -> Result<ReadResourceResult, ErrorData> {
    let Address { wanted, project } = Address::parse(uri)?;
    let of_query = matches!(wanted, NotesWanted::About(_));
    let read = engine.read_notes(who, ReadNotes { wanted, project, folder }).await;
    let notes = read.map_err(|error| as_protocol(error, uri))?;
    let text = text(notes, if of_query { "No memory has to do with that." } else { "There are no memories yet." });
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(MIME_TYPE)]))
}

/// The answer to an address that nothing is at, or nothing that may be shown.
pub(crate) fn not_found(uri: &str) -> ErrorData {
    ErrorData::resource_not_found("Resource not found: resources/list names them", Some(json!({ "uri": uri })))
}

/// What an address asks for.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    wanted: NotesWanted,
    project: Option<String>,
}

impl Address {
    fn parse(uri: &str) -> Result<Self, ErrorData> {
        let url = Url::parse(uri).ok().filter(|_| is_own(uri)).ok_or_else(|| not_found(uri))?;
        if url.host_str() != Some("memories") {
            return Err(not_found(uri));
        }
        let (mut query, mut project) = (None, None);
        for (key, value) in url.query_pairs() {
            let field = match key.as_ref() {
                "query" => &mut query,
                "project" => &mut project,
                other => return Err(invalid(format!("{other:?} is no part of {ABOUT}: pass query, project or both"))),
            };
            if field.replace(value.into_owned()).is_some() {
                return Err(invalid(format!("{key} is there twice: pass it once")));
            }
        }
        let wanted = match (url.path().trim_start_matches('/'), query) {
            ("", None) => NotesWanted::Surest,
            ("", Some(query)) => NotesWanted::About(query),
            (id, None) => NotesWanted::Named(id.to_owned()),
            (_, Some(_)) => return Err(invalid(format!("query is for {MEMORIES}, not for one memory"))),
        };
        Ok(Self { wanted, project })
    }
}

fn text(notes: NotesRead, nothing: &str) -> String {
    let NotesRead { text, left_out } = notes;
    match (text, left_out) {
        (None, 0) => nothing.to_owned(),
        (None, more) => format!("{more} memories are there and none of them fits: raise memory.injection_tokens_max."),
        (Some(text), 0) => text,
        (Some(text), more) => format!("{text}\n{more} more are not shown: {MEMORIES}?query=… finds some."),
    }
}

fn as_protocol(error: Error, uri: &str) -> ErrorData {
    match error {
        Error::Refused(infold_core::Refusal::MemoryNotFound { .. }) => not_found(uri),
        Error::Refused(refusal) => invalid(refusal.to_string()),
        Error::Failed(failure) => {
            tracing::error!(%failure, "a resource could not be read");
            ErrorData::internal_error("The memories could not be read: see infold's log", None)
        }
    }
}

fn invalid(problem: String) -> ErrorData {
    ErrorData::invalid_params(problem, None)
}

#[cfg(test)]
mod tests;
