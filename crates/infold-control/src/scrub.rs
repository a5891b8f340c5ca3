//! Handler that takes the secrets out of a text, for programs that want to use infold's scrubber.

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::control::Control;
use crate::error::ApiError;
use crate::extract::Body;
use crate::shapes::result::ScrubbedText;

/// Body of a request to scrub a text.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScrubRequest {
    /// The text from which secrets are removed.
    text: String,
}

/// Takes the secrets out of a text. Nothing is stored.
pub(crate) async fn scrub(
    State(control): State<Control>,
    Body(body): Body<ScrubRequest>,
) -> Result<Json<ScrubbedText>, ApiError> {
    let [scrubbed] = control.engine.scrub([body.text]).await?;
    let secrets = scrubbed.secrets();
    Ok(Json(ScrubbedText { text: scrubbed.into_string(), secrets_scrubbed: secrets }))
}
