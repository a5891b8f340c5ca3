//! `session_end`: folds the open branches of a session and closes it. It is the one call that can take a while, so
//! it reports its progress and can be cancelled.

use infold_core::{Field, OwnTool, Refusal};
use infold_engine::{EndProgress, EndSession, Error, SessionEnded, SessionRef};
use rmcp::model::Tool;
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::schema::{self, Effect, ToolDraft};
use crate::answer::{self, ToolAnswer};
use crate::arguments::Arguments;
use crate::call::ToolCall;
use crate::refused::ToolRefused;

pub(super) fn definition() -> Tool {
    let input = json!({
        "session_id": schema::id("The session to end"),
        "project_path": schema::text(
            "Or the project whose current session is meant; one of the two is required",
            Field::PROJECT_PATH.chars_max,
        ),
        "idempotency_key": schema::idempotency_key(),
    });
    let output = json!({
        "session_id": schema::string(),
        "ended_at": schema::time(),
        "branches_folded": schema::strings(),
        "branches_failed": schema::strings(),
        "context_state": schema::context_state(),
        "notices": schema::notices(),
    });
    let draft = ToolDraft {
        name: OwnTool::SessionEnd.name(),
        title: "End a session",
        description: "Folds all open branches of a session and closes it; its session_id cannot be used again.",
        effect: Effect::Ends,
    };
    draft.takes(
        schema::object(input, &[]),
        schema::object(output, &["session_id", "ended_at", "branches_folded", "branches_failed"]),
    )
}

pub(crate) async fn run(call: &ToolCall, arguments: &mut Arguments) -> Result<ToolAnswer, ToolRefused> {
    let session = session(call, arguments)?;
    let request = EndSession { session, idempotency_key: call.idempotency_key(arguments)? };

    if call.client.wants_progress()
        && let Ok(view) = call.engine.session(&call.who, &request.session).await
    {
        // The response's header goes out with the first progress notification, before the end is known.
        call.show_context(&view.state);
    }
    let ended = end(call, request).await?;

    let body = answer::object(json!({
        "session_id": ended.session_id,
        "ended_at": answer::time(ended.ended_at_ms),
        "branches_folded": ended.folded,
        "branches_failed": ended.failed,
        "context_state": answer::context_state(&ended.state),
    }));
    Ok(ToolAnswer::new(body, ended.state).with_notices(&ended.notices))
}

fn session(call: &ToolCall, arguments: &mut Arguments) -> Result<SessionRef, ToolRefused> {
    let problem = "or project_path is required: pass one of them".to_owned();
    let unnamed = Refusal::Invalid { field: "session_id", problem };
    Ok(call.session_if_named(arguments)?.ok_or(unnamed)?)
}

async fn end(call: &ToolCall, request: EndSession) -> Result<SessionEnded, Error> {
    let cancel = CancellationToken::new();
    // Only the latest progress is kept, so that nothing can pile up behind a slow client.
    let (progress, mut news) = watch::channel(None::<EndProgress>);
    let ending = async {
        let report = |now: EndProgress| {
            progress.send_replace(Some(now));
        };
        let ended = call.engine.end_session(&call.who, request, &cancel, report).await;
        drop(progress);
        ended
    };
    let reporting = async {
        while call.client.wants_progress() && news.changed().await.is_ok() {
            let now = *news.borrow_and_update();
            if let Some(EndProgress { folded, total }) = now {
                let message = format!("{folded} of {total} branches folded");
                call.client.report_progress(folded as f64, Some(total as f64), Some(message)).await;
            }
        }
    };
    let both = async { tokio::join!(ending, reporting).0 };
    tokio::pin!(both);
    tokio::select! {
        ended = &mut both => ended,
        () = call.client.cancelled() => {
            cancel.cancel();
            both.await
        }
    }
}
