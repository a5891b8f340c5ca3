//! Keeps what is moved out of a context in infold's store, where it can be read back.

use std::cell::OnceCell;

use infold_core::{Principal, Scrubbed};
use infold_engine::{Engine, RecordResult, SessionRef};
use tokio::runtime::Runtime;

use crate::commands::Invocation;
use crate::failure::Refused;
use crate::parts;

/// Longest name of a tool and longest id of a call that the store takes.
const NAME_CHARS_MAX: usize = 128;

/// What is kept, and how it is read back.
#[derive(Debug, Clone)]
pub struct Kept {
    /// Its handle.
    pub handle: String,
    /// What was kept, without its secrets.
    pub content: Scrubbed,
}

/// A text to keep.
#[derive(Debug, Clone)]
pub struct Keep<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The id of the call.
    pub call: &'a str,
    /// The text.
    pub content: String,
}

/// Keeps texts for one session. The store is opened when the first one comes.
pub struct Keeper<'a> {
    invocation: &'a Invocation,
    session: SessionRef,
    store: OnceCell<(Engine, Runtime)>,
}

impl<'a> Keeper<'a> {
    /// A keeper for the session of that name.
    pub fn new(invocation: &'a Invocation, session: &str) -> anyhow::Result<Self> {
        let session = SessionRef::by_id(session).map_err(|refusal| Refused::new(refusal.to_string()))?;
        Ok(Self { invocation, session, store: OnceCell::new() })
    }

    fn store(&self) -> anyhow::Result<&(Engine, Runtime)> {
        if let Some(open) = self.store.get() {
            return Ok(open);
        }
        // Whatever is handed in has been found too long already.
        let mut settings = self.invocation.in_force.settings.clone();
        (settings.store.result_offload_threshold, settings.shape.file_bytes_max) = (0, 0);
        let open = (parts::engine(&self.invocation.data_folder()?, &settings)?, parts::asking_runtime()?);
        Ok(self.store.get_or_init(|| open))
    }

    /// Keeps a text. When this returns, it is on disk.
    pub fn keep(&self, keep: Keep<'_>) -> anyhow::Result<Kept> {
        let (engine, runtime) = self.store()?;
        runtime.block_on(async {
            let [content] = engine.scrub([keep.content]).await?;
            let request = RecordResult {
                session: self.session.clone(),
                thread: None,
                tool_name: short(keep.tool),
                call_id: None,
                arguments: String::new(),
                content: content.as_str().to_owned(),
                idempotency_key: None,
            };
            let recorded = engine.record_result(&Principal::local(), request).await.map_err(parts::told)?;
            let handle = recorded.ref_id.ok_or_else(|| anyhow::anyhow!("{} was not kept", keep.call))?;
            Ok(Kept { handle: handle.to_string(), content })
        })
    }
}

fn short(name: &str) -> String {
    let short: String = name.chars().take(NAME_CHARS_MAX).collect();
    if short.trim().is_empty() { "tool".to_owned() } else { short }
}
