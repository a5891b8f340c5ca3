//! Results of other servers' tools on their way through infold: cleaned, scrubbed and shaped like those in a request.
//!
//! A result has texts and, often, the same once more as structured content. Texts are scrubbed together, because a secret may
//! begin in one of them and end in the next; a string of the structured content with its key, which may say that it is
//! one. What both say is kept and counted once.

use infold_core::{
    BlobId, Field, Mentions, ScrubError, Scrubbed, ToolResult, reference, strip_hostile, strip_hostile_in,
};
use infold_store::CountedCall;
use serde_json::Value;

use super::shaping::{INLINE_BYTES_MAX, shape_all};
use super::{REFERENCE_BYTES_MIN, ResultSource, ScrubbedResult, ShownResult, StandIn, can_be_read_back, digest};
use crate::{Engine, Error, Failure, RelayedCall, RelayedResult, random};

/// A result without secrets, in the forms in which it may be shown.
pub(crate) struct ScrubbedRelay {
    /// What is recorded of it, and what would replace it.
    pub(crate) result: ScrubbedResult,
    /// Its texts, as many as there were.
    pub(crate) texts: Vec<Scrubbed>,
    /// Its structured content.
    pub(crate) structured: Option<Value>,
}

/// What is recorded of a call beside its result, without secrets.
#[derive(Debug)]
pub(crate) struct CallWords {
    tool: Scrubbed,
    pub(crate) arguments: Scrubbed,
    /// The call's id, and the same without secrets; `None` if it has no proper one.
    call_id: Option<(String, Scrubbed)>,
}

/// A result without what cannot be seen.
struct OpenedResult {
    texts: Vec<String>,
    structured: Option<Value>,
    /// Whether the texts say all that the structured content does.
    is_repeated: bool,
}

impl Engine {
    /// Takes the secrets out of what is recorded of a call beside its result.
    pub(crate) async fn scrub_call(&self, call: &RelayedCall) -> Result<CallWords, ScrubError> {
        let tool = Field::TOOL_NAME.clean(&call.tool).unwrap_or_else(|_| "tool".to_owned());
        // A client may send any id along: an improper one is left out, not refused.
        let call_id = call.call_id.as_deref().and_then(|id| Field::CALL_ID.clean(id).ok());

        let words = vec![tool, call.arguments.clone(), call_id.clone().unwrap_or_default()];
        let mut words = self.scrub_or_withhold(words).await?.into_iter();
        let [tool, arguments, scrubbed_id] = [(); 3].map(|()| words.next().unwrap_or_default());
        Ok(CallWords { tool, arguments, call_id: call_id.map(|id| (id, scrubbed_id)) })
    }

    /// Takes the secrets out of a result, and writes a stand-in for it if it may be offloaded.
    pub(crate) async fn scrub_relayed(
        &self,
        (call, words): (&RelayedCall, CallWords),
        result: RelayedResult,
        source: Option<ResultSource>,
    ) -> Result<ScrubbedRelay, Error> {
        let opened = OpenedResult::make(result).await?;
        let may_go = can_be_read_back(&call.tool, &call.arguments);

        let parts = self.scrub_parts_or_withhold(opened.texts).await?;
        let structured = match &opened.structured {
            Some(structured) => Some(Box::pin(self.scrub_value(structured)).await?),
            None => None,
        };
        let content = match &structured {
            Some(structured) if !opened.is_repeated => Box::pin(self.content_with(&parts, structured)).await?,
            Some(_) | None => joined(&parts),
        };

        let CallWords { tool, arguments, call_id } = words;
        let (call_id, scrubbed_call_id) = call_id.unzip();
        let result = ScrubbedResult {
            call: digest(&[call.call_id.as_deref().unwrap_or_default()]),
            came_as: None,
            call_id: call_id.unwrap_or_default(),
            scrubbed_call_id,
            tool,
            arguments,
            content,
            remarks: Scrubbed::default(),
            stays: ShownResult::AsItIs,
            stand_in: None,
        };
        let result = match source.filter(|source| may_go && self.may_need_reference(&result, *source)) {
            Some(source) => Box::pin(self.with_stand_in(result, source)).await?,
            None => result,
        };
        Ok(ScrubbedRelay { result, texts: parts, structured })
    }

    /// Whether a result may be shown as a reference. Most are short and in no branch that bounds them.
    fn may_need_reference(&self, result: &ScrubbedResult, source: ResultSource) -> bool {
        let (tool, arguments, text) = (result.tool.as_str(), result.arguments.as_str(), result.content.as_str());
        let may_be_long = || self.inner.settings.shape.may_offload_unread(&ToolResult { tool, arguments, text });
        text.len() >= REFERENCE_BYTES_MIN
            && match source {
                ResultSource::Request { is_bounded: false, .. } => may_be_long(),
                ResultSource::Request { is_bounded: true, .. } | ResultSource::HandedIn => true,
            }
    }

    async fn with_stand_in(&self, result: ScrubbedResult, source: ResultSource) -> Result<ScrubbedResult, Error> {
        let blob = BlobId::mint(random()?);
        let reference = reference(&result.tool, &result.content, &blob);
        let stand_in = Some(StandIn { blob, is_long: false, shaped: reference.clone(), reference });
        let result = ScrubbedResult { stand_in, ..result };
        // What the session's cache holds was said up to an earlier turn, and in whichever thread: by it a file could be called
        // known that this thread has never seen. So nothing counts as said.
        let mut shaped = shape_all(vec![result], Mentions::default(), source, self.inner.settings.shape).await;
        shaped.pop().ok_or_else(|| Failure::Undecided("a result").into())
    }

    /// The texts, and below them structured content that says more than they do.
    async fn content_with(&self, texts: &[Scrubbed], structured: &Value) -> Result<Scrubbed, Error> {
        // All of its strings were scrubbed. Scrubbing the whole gives it the type that says so.
        let mut all: Vec<Scrubbed> = texts.to_vec();
        all.extend(self.scrub_or_withhold(vec![structured.to_string()]).await?);
        Ok(joined(&all))
    }
}

impl ScrubbedResult {
    /// What keeps the proxy from counting the result again, which the client was shown as this reference, and what a client is
    /// answered that makes the call again.
    pub(crate) fn counted_as(&self, blob: &BlobId, shown: &Scrubbed) -> CountedCall {
        let offloaded = Some((blob.clone(), shown.as_str().to_owned()));
        CountedCall { call: self.call, content: digest(&[shown.as_str()]), offloaded }
    }
}

fn joined(parts: &[Scrubbed]) -> Scrubbed {
    match parts {
        [only] => only.clone(),
        parts => Scrubbed::join(&parts.iter().collect::<Vec<_>>(), "\n"),
    }
}

impl OpenedResult {
    /// A long result would hold up other calls, so it is gone through on another thread.
    async fn make(result: RelayedResult) -> Result<Self, Error> {
        let mut bytes: usize = result.texts.iter().map(String::len).sum();
        if let Some(structured) = &result.structured {
            each_string(structured, &mut |text| bytes += text.len());
        }
        if bytes <= INLINE_BYTES_MAX {
            return Ok(Self::of(&result));
        }
        let opened = tokio::task::spawn_blocking(move || Self::of(&result)).await;
        opened.map_err(|_| Failure::Undecided("a result").into())
    }

    fn of(result: &RelayedResult) -> Self {
        let is_repeated = result.structured.as_ref().is_none_or(|structured| repeats(&result.texts, structured));
        let texts = result.texts.iter().map(|text| strip_hostile(text)).collect();
        Self { texts, structured: result.structured.as_ref().map(strip_hostile_in), is_repeated }
    }
}

/// Whether texts say all that structured content does: one of them is the same as JSON, or each of its strings is one of
/// them.
fn repeats(texts: &[String], structured: &Value) -> bool {
    let is_it = |text: &String| serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured);
    let mut values = Vec::new();
    each_string(structured, &mut |text| values.push(text));
    let is_text = |value: &str| texts.iter().any(|text| text == value);
    (!values.is_empty() && values.into_iter().all(is_text)) || texts.iter().any(is_it)
}

/// Goes through all strings of a value that are not keys.
fn each_string<'v>(value: &'v Value, take: &mut impl FnMut(&'v str)) {
    match value {
        Value::String(text) => take(text),
        Value::Array(items) => items.iter().for_each(|item| each_string(item, take)),
        Value::Object(fields) => fields.values().for_each(|field| each_string(field, take)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
