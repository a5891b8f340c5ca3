//! `compact_context`: has older results leave the prompt of the thread that calls it. It answers at once, with estimates;
//! what is done is done with the thread's next request, and a receipt in it has the figures.

use infold_core::{Field, OwnTool, Refusal, grouped};
use infold_engine::{Lighten, Lightened, LighteningPlan, PromptSize};
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::schema::{self, Effect, ToolDraft};
use crate::answer::{self, ToolAnswer};
use crate::arguments::Arguments;
use crate::call::ToolCall;
use crate::refused::ToolRefused;

pub(super) fn definition() -> Tool {
    let input = json!({
        "session_id": schema::id("Your session"),
        "project_path": schema::text("Or the project whose current session is meant", Field::PROJECT_PATH.chars_max),
    });
    let output = json!({
        "before_tokens": schema::count(),
        "after_tokens": schema::count(),
        "before_msg_count": schema::count(),
        "after_msg_count": schema::count(),
        "strategies_run": schema::strings(),
        "is_estimate": { "type": "boolean" },
        "summary": schema::string(),
    });
    let draft = ToolDraft {
        name: OwnTool::CompactContext.name(),
        title: "Free space",
        description: "Frees context: older tool results leave the prompt, and read_result reads them back. No words are lost.",
        effect: Effect::Adds,
    };
    let required = ["strategies_run", "summary"];
    draft.takes(schema::object(input, &[]), schema::object(output, &required))
}

pub(crate) async fn run(call: &ToolCall, arguments: &mut Arguments) -> Result<ToolAnswer, ToolRefused> {
    let problem = "is required where infold does not forward the model's requests. It can shorten only those that it \
                   forwards: start the agent with `infold run`, or use the agent's own command, such as /compact";
    let unnamed = Refusal::Invalid { field: "session_id", problem: problem.to_owned() };
    let session = call.session_if_named(arguments)?.ok_or(unnamed)?;

    let lightened = call.engine.lighten(&call.who, &Lighten { session, thread: call.thread.clone() }).await?;

    let body = body(&lightened);
    Ok(match lightened.state {
        Some(state) => ToolAnswer::new(body, state),
        None => ToolAnswer::without_state(body),
    })
}

fn body(lightened: &Lightened) -> JsonObject {
    let strategies: &[&str] = match lightened.plan {
        LighteningPlan::Offload { drops_reasoning: true } => &["offload_results", "drop_reasoning"],
        LighteningPlan::Offload { drops_reasoning: false } => &["offload_results"],
        LighteningPlan::Nothing | LighteningPlan::NotProxied => &[],
    };
    let mut body = answer::object(json!({ "strategies_run": strategies, "summary": summary(lightened) }));
    let tokens = |size: Option<PromptSize>| size.map(|size| size.tokens);
    let messages = |size: Option<PromptSize>| size.and_then(|size| size.messages);
    let Lightened { before, after, .. } = *lightened;
    let figures = [
        ("before_tokens", tokens(before)),
        ("after_tokens", tokens(after)),
        ("before_msg_count", messages(before)),
        ("after_msg_count", messages(after)),
    ];
    for (name, figure) in figures {
        if let Some(figure) = figure {
            body.insert(name.to_owned(), json!(figure));
        }
    }
    if before.is_some() {
        body.insert("is_estimate".to_owned(), json!(true));
    }
    body
}

fn summary(lightened: &Lightened) -> String {
    let tokens = |size: Option<PromptSize>| grouped(size.map_or(0, |size| size.tokens));
    let (before, after) = (tokens(lightened.before), tokens(lightened.after));
    match lightened.plan {
        LighteningPlan::Offload { .. } => format!(
            "Your next request will have about {after} tokens in place of {before}: references stand for older tool \
             results, and read_result reads these back. A receipt will say what went. Go on with your work."
        ),
        LighteningPlan::Nothing => format!(
            "Nothing to free: {before} tokens are system prompt, tools and words, or results that are short or recent. \
             Asking again will not help until there are more results."
        ),
        LighteningPlan::NotProxied => "Nothing can be freed: this session's requests to the model do not pass through \
             infold. Start the agent with `infold run`, or use the agent's own command, such as /compact."
            .to_owned(),
    }
}
