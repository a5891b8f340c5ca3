//! Offloads texts of a rescued session into infold's store, where they can be read back.

use std::cell::OnceCell;

use infold_core::{Principal, Scrubbed};
use infold_engine::{Engine, RecordResult, SessionRef};
use tokio::runtime::Runtime;

use crate::commands::Invocation;
use crate::failure::Refused;
use crate::parts;

/// Longest name of a tool that the store takes; longer ones are cut.
const NAME_CHARS_MAX: usize = 128;

/// A text in the store.
#[derive(Debug, Clone)]
pub struct StoredText {
    /// The `ref_id` by which the text is read back.
    pub handle: String,
    /// The text as it was stored, without its secrets.
    pub content: Scrubbed,
}

/// A text to offload: the result of a call, or its input.
#[derive(Debug, Clone)]
pub struct LongText<'a> {
    /// The tool that was called.
    pub tool: &'a str,
    /// The id of the call.
    pub call: &'a str,
    /// The whole text, not yet scrubbed.
    pub content: String,
}

/// Offloads the texts of one session. The store is opened when the first text comes.
pub struct Offloader<'a> {
    invocation: &'a Invocation,
    session: SessionRef,
    store: OnceCell<(Engine, Runtime)>,
}

impl<'a> Offloader<'a> {
    /// Prepares to offload texts for the session with this id.
    pub fn new(invocation: &'a Invocation, session: &str) -> anyhow::Result<Self> {
        let session = SessionRef::by_id(session).map_err(|refusal| Refused::new(refusal.to_string()))?;
        Ok(Self { invocation, session, store: OnceCell::new() })
    }

    fn store(&self) -> anyhow::Result<&(Engine, Runtime)> {
        if let Some(open) = self.store.get() {
            return Ok(open);
        }
        // The plan has decided already that these texts are too long, so no other limit applies.
        let mut settings = self.invocation.in_force.settings.clone();
        (settings.store.result_offload_threshold, settings.shape.file_bytes_max) = (0, 0);
        let open = (parts::engine(&self.invocation.data_folder()?, &settings)?, parts::asking_runtime()?);
        Ok(self.store.get_or_init(|| open))
    }

    /// Scrubs and stores a text. When this returns, it is on disk.
    pub fn offload(&self, long: LongText<'_>) -> anyhow::Result<StoredText> {
        let (engine, runtime) = self.store()?;
        runtime.block_on(async {
            let [content] = engine.scrub([long.content]).await?;
            let request = RecordResult {
                session: self.session.clone(),
                thread: None,
                tool_name: short(long.tool),
                call_id: None,
                arguments: String::new(),
                content: content.as_str().to_owned(),
                idempotency_key: None,
            };
            let recorded = engine.record_result(&Principal::local(), request).await.map_err(parts::command_error)?;
            let handle = recorded.ref_id.ok_or_else(|| anyhow::anyhow!("{} was not kept", long.call))?;
            Ok(StoredText { handle: handle.to_string(), content })
        })
    }
}

fn short(name: &str) -> String {
    let short: String = name.chars().take(NAME_CHARS_MAX).collect();
    if short.trim().is_empty() { "tool".to_owned() } else { short }
}
