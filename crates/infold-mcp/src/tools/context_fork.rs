//! `context_fork`: starts a session from what another one has seen, cut to fit.

use infold_core::fork::Profile;
use infold_core::transcript::Item;
use infold_core::{Field, OwnTool, Refusal, SessionId, strip_controls};
use infold_engine::{ForkSession, ForkSource, Forked};
use infold_wire::{Format, read_handed_in};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use super::schema::{self, Effect, ToolDraft};
use crate::answer::{self, ToolAnswer};
use crate::arguments::Arguments;
use crate::call::ToolCall;
use crate::refused::ToolRefused;

/// The formats in which a transcript can be passed to this tool.
const FORMATS: [Format; 3] = [Format::Anthropic, Format::OpenAi, Format::OpenCode];
/// Most characters of a transcript reader's error message that are passed on.
const WORDS_CHARS_MAX: usize = 300;

pub(super) fn definition() -> Tool {
    let input = json!({
        "project_path": schema::project_path(),
        "session_id": schema::session_in_project(),
        "prompt": schema::text("Task of the new session", Field::PROMPT.chars_max),
        "transcript": {
            "type": "array",
            "description": "Fork these messages instead of what infold recorded",
            "items": { "type": "object" },
        },
        "format": schema::choice("Form of transcript", &FORMATS.map(Format::name)),
        "profile": schema::choice("Keep by age, or by likely use", &["seed", "recall"]),
        "new_session_id": schema::new_session_id("Name of the new session"),
        "idempotency_key": schema::idempotency_key(),
    });
    let context = json!({
        "ref_id": schema::string(),
        "chars": schema::count(),
        "tokens": schema::count(),
    });
    let output = json!({
        "session_id": schema::string(),
        "parent_session_id": schema::string_or_null(),
        "profile": schema::string(),
        "preamble": schema::string(),
        "context": schema::object(context, &["ref_id", "chars", "tokens"]),
        "stats": stats_schema(),
        "next": schema::string(),
    });
    let draft = ToolDraft {
        name: OwnTool::ContextFork.name(),
        title: "Fork a session",
        description: "Start a new session from this one's transcript, cut to fit. Its context is stored; read it with read_result.",
        effect: Effect::Adds,
    };
    draft.takes(
        schema::object(input, &["project_path"]),
        schema::object(output, &["session_id", "parent_session_id", "preamble", "context", "stats"]),
    )
}

fn stats_schema() -> Value {
    let tiers = json!({ "tier1": schema::count(), "tier2": schema::count(), "tier3": schema::count() });
    let figures = json!({
        "originalCount": schema::count(),
        "finalCount": schema::count(),
        "totalChars": schema::count(),
        "removedMessages": schema::count(),
        "compactionDetected": { "type": "boolean" },
        "compactionSliceIndex": { "type": "integer", "minimum": -1 },
        "truncatedResults": schema::count(),
        "tierDistribution": schema::object(tiers, &["tier1", "tier2", "tier3"]),
        "headTailApplied": schema::count(),
    });
    schema::object(figures, &["originalCount", "finalCount", "totalChars"])
}

pub(crate) async fn run(call: &ToolCall, arguments: &mut Arguments) -> Result<ToolAnswer, ToolRefused> {
    let session = call.session_by_project(arguments)?;
    let format = arguments.optional_text("format")?.as_deref().map(format).transpose()?;
    let source = match arguments.optional_list("transcript")? {
        Some(list) => ForkSource::Transcript { items: read(list, format).await?, parent: Some(session.clone()) },
        None if format.is_some() => {
            return Err(invalid("format", "goes with a transcript: pass one, or leave format out").into());
        }
        None => ForkSource::Session { session: session.clone(), thread: call.thread.clone() },
    };
    let request = ForkSession {
        source,
        prompt: arguments.optional_text("prompt")?,
        profile: arguments.optional_text("profile")?.as_deref().map(profile).transpose()?,
        child: arguments.optional_text("new_session_id")?.as_deref().map(child).transpose()?,
        idempotency_key: call.idempotency_key(arguments)?,
    };

    let forked = call.engine.fork(&call.who, request).await?;

    // The caller goes on in its own session, so the answer carries that session's figures.
    let state = match call.engine.session(&call.who, &session).await {
        Ok(view) => view.state,
        Err(_) => forked.state.clone(),
    };
    Ok(ToolAnswer::new(body(&forked), state))
}

/// Reads a transcript on a blocking thread, because a long one takes a while.
async fn read(list: Vec<Value>, format: Option<Format>) -> Result<Vec<Item>, Refusal> {
    let reading = tokio::task::spawn_blocking(move || read_handed_in(&Value::Array(list).to_string(), format));
    match reading.await {
        Ok(Ok(items)) => Ok(items),
        Ok(Err(refused)) => {
            let words = strip_controls(&refused.to_string()).replace(['\n', '\t'], " ");
            Err(invalid("transcript", &words.chars().take(WORDS_CHARS_MAX).collect::<String>()))
        }
        Err(_) => Err(invalid("transcript", "is more than can be made sense of: please report this")),
    }
}

fn format(name: &str) -> Result<Format, Refusal> {
    let known = FORMATS.into_iter().find(|format| format.name() == name);
    known.ok_or_else(|| invalid("format", &format!("must be one of {}", FORMATS.map(Format::name).join(", "))))
}

fn profile(name: &str) -> Result<Profile, Refusal> {
    name.parse().map_err(|_| invalid("profile", "must be seed or recall"))
}

fn child(name: &str) -> Result<SessionId, Refusal> {
    let problem = "must be 1 to 128 characters, each one of A-Z a-z 0-9 . _ : -";
    SessionId::parse(name).map_err(|_| invalid("new_session_id", problem))
}

fn invalid(field: &'static str, problem: &str) -> Refusal {
    Refusal::Invalid { field, problem: problem.to_owned() }
}

fn body(forked: &Forked) -> JsonObject {
    let ref_id = &forked.ref_id;
    answer::object(json!({
        "session_id": forked.session_id,
        "parent_session_id": forked.parent,
        "profile": forked.profile.to_string(),
        "preamble": forked.preamble,
        "context": { "ref_id": ref_id, "chars": forked.chars, "tokens": forked.tokens },
        "stats": forked.stats,
        "next": format!(
            "Work in session {}: begin with the preamble, then read the context with read_result, ref_id {ref_id}",
            forked.session_id
        ),
    }))
}
