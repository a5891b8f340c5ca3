//! The tools of other servers, as they were pinned when the user first had them.
//!
//! A pin has the hash of what the server sent, and the definition without secrets. Both are stored by one decision in one
//! transaction, so two processes that learn a server at once agree.

mod learn;

use infold_core::ProjectHash;
use infold_core::gateway::{
    Definition, DefinitionHash, DefinitionsRead, NewTools, PinKey, ServerEntry, ServerKey, Withholding,
};
use infold_core::view::ScrubbedJson;
use infold_store::{StoredPin, StoredTool};

use crate::{Engine, Error, Failure};
use learn::{Learning, is_stored, rows_of};

/// How often a server is learnt again because another process learnt it meanwhile.
const ATTEMPTS_MAX: usize = 4;
/// Tools that are stored of one server, with those that it has no longer. Their pins stay, so a server that has other names
/// each time would fill the disk.
const STORED_MAX: usize = 4_000;

/// A tool that may be used.
#[derive(Debug, Clone, PartialEq)]
pub struct PinnedDefinition {
    /// The tool as it was pinned, without secrets.
    pub definition: Definition,
    /// The hash of what its server sent.
    pub hash: DefinitionHash,
    /// How many tokens the tool takes in a request that lists it.
    pub tokens: u64,
}

/// A tool that may not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldTool {
    /// What its server calls it.
    pub tool: String,
    /// Why.
    pub why: Withholding,
}

/// The tools of a server, in order of names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServerTools {
    /// Those that may be used.
    pub usable: Vec<PinnedDefinition>,
    /// Those that may not.
    pub withheld: Vec<WithheldTool>,
}

impl ServerTools {
    /// Whether anything was ever seen of the server.
    pub fn is_known(&self) -> bool {
        !self.usable.is_empty() || !self.withheld.is_empty()
    }

    /// Whether any of its tools waits for the user's approval.
    pub fn waits_for_approval(&self) -> bool {
        self.withheld.iter().any(|withheld| withheld.why.waits_for_approval())
    }
}

/// A tool that waits for the user's approval.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitingTool {
    /// Its server.
    pub server: ServerKey,
    /// What its server calls it.
    pub tool: String,
    /// The tool as it was; `None` if it is new.
    pub pinned: Option<Definition>,
    /// The tool as its server offers it now.
    pub offered: Definition,
}

impl Engine {
    /// Compares what a server offers with what is pinned of it. What is new is pinned, or waits for approval; what has
    /// changed waits; what is gone keeps its pin.
    #[tracing::instrument(skip_all)]
    pub async fn learn_tools(
        &self,
        key: &PinKey,
        offered: Vec<Definition>,
        new_tools: NewTools,
    ) -> Result<ServerTools, Error> {
        let mut stored = self.stored_of(key).await?;
        for _ in 0..ATTEMPTS_MAX {
            let (learning, unusable) = self.prepare_learning(key, &offered, &stored, new_tools).await?;

            let decide = move |stored: Vec<StoredTool>| learning.decide(stored);
            match self.inner.store.change_gateway_tools(key.server.clone(), decide).await? {
                Ok(tools) => {
                    let mut tools = tools_of(&tools);
                    tools.withheld.extend(unusable);
                    return Ok(tools);
                }
                Err(now) => stored = now,
            }
        }
        Err(Failure::Contended.into())
    }

    /// The tools of a server as they are stored; the server is not asked.
    pub async fn pinned_tools(&self, key: &PinKey) -> Result<ServerTools, Error> {
        Ok(tools_of(&self.stored_of(key).await?))
    }

    /// The tools of all servers of a name as they are stored.
    pub async fn known_tools(&self, server: &ServerKey) -> Result<ServerTools, Error> {
        Ok(tools_of(&self.inner.store.gateway_tools(Some(server.clone())).await?))
    }

    /// Lists the tools of all servers that wait for approval.
    pub async fn waiting_tools(&self) -> Result<Vec<WaitingTool>, Error> {
        let stored = self.inner.store.gateway_tools(None).await?;
        let waiting = stored.into_iter().filter_map(|stored| {
            let offered = definition_of(&stored.server, &stored.waiting.as_ref()?.definition)?;
            let pinned = stored.pin.as_ref().and_then(|pin| definition_of(&stored.server, &pin.kept.definition));
            Some(WaitingTool { server: stored.server, tool: stored.tool, pinned, offered })
        });
        Ok(waiting.collect())
    }

    /// Approves tools of a server that wait, all or one: from now on they are used as they are offered. Returns their
    /// names.
    pub async fn approve_tools(&self, server: &ServerKey, tool: Option<&str>) -> Result<Vec<String>, Error> {
        let stored = self.inner.store.gateway_tools(Some(server.clone())).await?;
        let wanted = stored.into_iter().filter(|stored| tool.is_none_or(|tool| tool == stored.tool));
        let approved: Vec<(DefinitionHash, StoredTool)> = wanted.filter_map(|stored| self.approved(stored)).collect();

        let decide = move |now: Vec<StoredTool>| {
            let waits = |hash: &DefinitionHash, approved: &StoredTool| {
                let is_it = |now: &&StoredTool| now.tool == approved.tool && now.target == approved.target;
                let mut waiting = now.iter().filter(is_it);
                waiting.any(|now| now.waiting.as_ref().is_some_and(|waiting| waiting.hash == *hash))
            };
            // What was offered meanwhile was not looked at by anybody, so it goes on waiting.
            let changed = approved.iter().filter(|(hash, approved)| waits(hash, approved));
            let changed: Vec<StoredTool> = changed.map(|(_, approved)| approved.clone()).collect();
            let names = changed.iter().map(|approved| approved.tool.clone()).collect();
            (changed, names)
        };
        Ok(self.inner.store.change_gateway_tools(server.clone(), decide).await?)
    }

    fn approved(&self, stored: StoredTool) -> Option<(DefinitionHash, StoredTool)> {
        let kept = stored.waiting?;
        let definition = definition_of(&stored.server, &kept.definition)?;
        let tokens = definition.tokens(&self.inner.settings.counter);
        let hash = kept.hash.clone();
        let pin = Some(StoredPin { kept, tokens, at_ms: self.now_ms() });
        Some((hash, StoredTool { pin, waiting: None, ..stored }))
    }

    async fn stored_of(&self, key: &PinKey) -> Result<Vec<StoredTool>, Error> {
        let stored = self.inner.store.gateway_tools(Some(key.server.clone())).await?;
        Ok(rows_of(stored, &key.target).rows)
    }

    /// Stores that the user approved a server of a project, as it is written now.
    pub async fn approve_entry(&self, project_path: &str, entry: &ServerEntry) -> Result<(), Error> {
        let (project, hash) = (ProjectHash::of(project_path), entry.approval_hash());
        Ok(self.inner.store.approve_gateway_entry(project, entry.key.clone(), hash, self.now_ms()).await?)
    }

    /// Whether the user approved a server of a project, as it is written now.
    pub async fn is_entry_approved(&self, project_path: &str, entry: &ServerEntry) -> Result<bool, Error> {
        let (project, hash) = (ProjectHash::of(project_path), entry.approval_hash());
        Ok(self.inner.store.is_gateway_entry_approved(project, entry.key.clone(), hash).await?)
    }

    /// Makes ready what may have to be stored: all that is not stored yet in the same form. Returns beside it the tools
    /// that cannot be stored.
    async fn prepare_learning(
        &self,
        key: &PinKey,
        offered: &[Definition],
        stored: &[StoredTool],
        new_tools: NewTools,
    ) -> Result<(Learning, Vec<WithheldTool>), Error> {
        let mut learning = Learning::new(key, new_tools, self.now_ms());
        let mut unusable = Vec::new();
        let mut room = STORED_MAX.saturating_sub(stored.len());
        for definition in offered {
            let hash = definition.hash();
            if is_stored(stored, &definition.tool, &hash) {
                learning.offer(&definition.tool, hash, None);
                continue;
            }
            let is_known = stored.iter().any(|stored| stored.tool == definition.tool);
            let storable = if is_known || room > 0 { self.storable(definition).await? } else { None };
            room -= usize::from(!is_known && storable.is_some());
            match storable {
                Some(ready) => learning.offer(&definition.tool, hash, Some(ready)),
                None => {
                    let [name] = self.scrub([definition.tool.clone()]).await?;
                    unusable.push(WithheldTool { tool: name.into_string(), why: Withholding::Unstorable });
                }
            }
        }
        Ok((learning, unusable))
    }

    /// What is stored of a definition, and its tokens; `None` if it cannot be stored.
    async fn storable(&self, definition: &Definition) -> Result<Option<(ScrubbedJson, u64)>, Error> {
        let json = match self.scrub_json(definition.as_json().to_string().as_bytes(), &[]).await {
            Ok(json) => json,
            Err(failure @ Failure::Scrubbing(_)) => return Err(failure.into()),
            Err(_) => return Ok(None),
        };
        // The tool's name is its key, so it has to stay as it is.
        let read = definition_of(&definition.server, &json).filter(|read| read.tool == definition.tool);
        let tokens = read.map(|read| read.tokens(&self.inner.settings.counter));
        Ok(tokens.map(|tokens| (json, tokens)))
    }
}

/// Reads a definition that was stored; `None` if it cannot be read any more.
fn definition_of(server: &ServerKey, json: &ScrubbedJson) -> Option<Definition> {
    let value = serde_json::from_slice(json.bytes()).ok()?;
    DefinitionsRead::of(server, [&value]).definitions.into_iter().next()
}

/// What stored tools are to whoever wants to use them. Those that are gone are left out.
fn tools_of(stored: &[StoredTool]) -> ServerTools {
    let mut tools = ServerTools::default();
    for StoredTool { server, tool, pin, waiting, gone_at_ms, .. } in stored {
        let mut withhold = |why| tools.withheld.push(WithheldTool { tool: tool.clone(), why });
        match (pin, waiting, gone_at_ms) {
            (Some(_), Some(_), _) => withhold(Withholding::Changed),
            (None, Some(_), _) => withhold(Withholding::New),
            (Some(pin), None, None) => match definition_of(server, &pin.kept.definition) {
                Some(definition) => {
                    let (hash, tokens) = (pin.kept.hash.clone(), pin.tokens);
                    tools.usable.push(PinnedDefinition { definition, hash, tokens });
                }
                None => withhold(Withholding::Unreadable),
            },
            (_, None, _) => {}
        }
    }
    tools
}
