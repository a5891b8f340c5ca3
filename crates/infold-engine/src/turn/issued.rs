//! Calls of infold's own tools that models were seen to make; with a gateway, of all tools. The call itself comes by another surface, and is identified
//! by this: it belongs to a session and a thread. Scripts that models run count as well, because they may call infold's
//! tools.

use std::collections::{HashMap, VecDeque};
use std::sync::PoisonError;

use infold_core::view::runs_scripts;
use infold_core::{Owner, Principal, SessionId, Thread, ToolEffect};
use serde_json::Value;

use super::KeptCalls;
use crate::{CallPlace, Engine};

/// How many calls of one owner are held; the oldest are dropped first.
const PER_OWNER_MAX: usize = 1_024;
/// How many owners' calls are held.
const OWNERS_MAX: usize = 256;

/// A call that a model was seen to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedCall {
    /// The call's id, as the provider gave it.
    pub id: String,
    /// The tool's name, as the client spells it.
    pub tool: String,
    /// A hash of the arguments; see [`arguments_hash`].
    pub arguments_hash: [u8; 32],
}

#[derive(Debug)]
struct IssuedEntry {
    call: IssuedCall,
    session: SessionId,
    thread: Thread,
    /// Whether the model still waits for it, so that it can be found by tool and arguments. Clients that send no ids
    /// make each call once; those that send ids may repeat a call.
    awaited: bool,
}

/// Calls that were seen in answers and may arrive as calls.
#[derive(Debug, Default)]
pub(crate) struct IssuedCalls {
    owners: HashMap<Owner, VecDeque<IssuedEntry>>,
}

impl IssuedCalls {
    fn note(&mut self, owner: &Owner, session: &SessionId, thread: &Thread, calls: Vec<IssuedCall>) {
        if !self.owners.contains_key(owner) && self.owners.len() >= OWNERS_MAX {
            self.owners.clear();
        }
        let held = self.owners.entry(owner.clone()).or_default();
        let mut reported = Vec::new();
        for held in held.iter_mut().filter(|held| held.session == *session) {
            if !held.call.id.is_empty() && calls.contains(&held.call) {
                // The same answer was reported before, with fewer of its calls.
                reported.push(held.call.clone());
            } else {
                // A model that goes on has got its results: it no longer waits for what it asked for before.
                held.awaited = false;
            }
        }
        for call in calls.into_iter().filter(|call| !reported.contains(call)) {
            held.push_back(IssuedEntry { call, session: session.clone(), thread: thread.clone(), awaited: true });
        }
        held.drain(..held.len().saturating_sub(PER_OWNER_MAX));
    }

    fn find(&mut self, owner: &Owner, call_id: Option<&str>, tool: &str, hash: &[u8; 32]) -> Option<&IssuedEntry> {
        let held = self.owners.get_mut(owner)?;
        let by_id = call_id.and_then(|id| held.iter().rposition(|held| held.call.id == id));
        // Of several equal ones the latest is the likeliest, because an older one was perhaps never made.
        let is_it =
            |held: &IssuedEntry| held.awaited && held.call.tool.ends_with(tool) && held.call.arguments_hash == *hash;
        let at = by_id.or_else(|| held.iter().rposition(is_it))?;
        let found = held.get_mut(at)?;
        found.awaited = false;
        Some(found)
    }

    /// The script that the model of a session waits for; the last one if there are several.
    fn script(&self, owner: &Owner, session: &SessionId) -> RunningScript {
        let scripts = self.owners.get(owner).into_iter().flatten().rev();
        let mut scripts = scripts.filter(|held| held.session == *session && runs_scripts(&held.call.tool)).peekable();
        if scripts.peek().is_none() {
            return RunningScript::Unseen;
        }
        match scripts.find(|held| held.awaited) {
            Some(held) => RunningScript::Awaited { run_by: held.call.id.clone(), thread: held.thread.clone() },
            None => RunningScript::LeftAlone,
        }
    }

    /// Marks calls whose results the client has: the model no longer waits for them.
    fn answered(&mut self, owner: &Owner, session: &SessionId, calls: &[&str]) {
        let held = self.owners.get_mut(owner).into_iter().flatten();
        for held in held.filter(|held| held.session == *session && calls.contains(&&*held.call.id)) {
            held.awaited = false;
        }
    }
}

/// The script in a session that a call of infold's tools may come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunningScript {
    /// No model of the session was seen to run a script.
    Unseen,
    /// Scripts were run, and the model waits for none of them now.
    LeftAlone,
    /// The model waits for a script.
    Awaited {
        /// The id of the call that runs the script, or that goes on with it.
        run_by: String,
        /// The thread in which the model made that call.
        thread: Thread,
    },
}

/// A hash of a call's arguments that does not depend on how a client writes them: the order of fields, fields that are
/// null, whole numbers with a fraction.
pub fn arguments_hash(arguments: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    match serde_json::from_str::<Value>(arguments) {
        Ok(value) => feed(&mut hasher, &value),
        // Some clients send an empty text if there are no arguments.
        Err(_) if arguments.trim().is_empty() => feed(&mut hasher, &Value::Object(serde_json::Map::new())),
        Err(_) => {
            hasher.update(arguments.as_bytes());
        }
    }
    *hasher.finalize().as_bytes()
}

fn feed(hasher: &mut blake3::Hasher, value: &Value) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().filter(|(_, value)| !value.is_null()).collect();
            fields.sort_by_key(|(name, _)| *name);
            hasher.update(b"{").update(&(fields.len() as u64).to_le_bytes());
            for (name, value) in fields {
                feed_text(hasher, name);
                feed(hasher, value);
            }
        }
        Value::Array(items) => {
            hasher.update(b"[").update(&(items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| feed(hasher, item));
        }
        Value::String(text) => feed_text(hasher, text),
        Value::Number(number) => {
            let number = number.as_f64().map_or_else(|| number.to_string(), |number| number.to_string());
            hasher.update(b"#");
            feed_text(hasher, &number);
        }
        Value::Bool(true) => {
            hasher.update(b"t");
        }
        Value::Bool(false) => {
            hasher.update(b"f");
        }
        Value::Null => {
            hasher.update(b"n");
        }
    }
}

fn feed_text(hasher: &mut blake3::Hasher, text: &str) {
    hasher.update(b"\"").update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
}

impl Engine {
    /// Registers the calls in one answer of a model. Without a gateway, calls of other tools than infold's are left out,
    /// except those that run scripts, which may call infold's tools.
    pub fn calls_issued(&self, who: &Principal, session: &SessionId, thread: &Thread, calls: Vec<IssuedCall>) {
        let kept: Vec<IssuedCall> = calls.into_iter().filter(|call| self.is_kept(&call.tool)).collect();
        if !kept.is_empty() {
            let mut registry = self.inner.issued.lock().unwrap_or_else(PoisonError::into_inner);
            registry.note(&who.owner, session, thread, kept);
        }
    }

    /// Whether calls of a tool are remembered until they arrive.
    pub(super) fn is_kept(&self, tool: &str) -> bool {
        match self.inner.settings.turn.kept_calls {
            KeptCalls::Own => ToolEffect::of(tool).is_some() || runs_scripts(tool),
            KeptCalls::All => true,
        }
    }

    /// Registers that a client has the results of these calls.
    pub(super) fn calls_answered(&self, who: &Principal, session: &SessionId, calls: &[&str]) {
        let mut registry = self.inner.issued.lock().unwrap_or_else(PoisonError::into_inner);
        registry.answered(&who.owner, session, calls);
    }

    /// Finds the script that a call of infold's tools comes from, if no model was seen to make the call and its client
    /// names the session.
    pub fn running_script(&self, who: &Principal, session: &SessionId) -> RunningScript {
        self.inner.issued.lock().unwrap_or_else(PoisonError::into_inner).script(&who.owner, session)
    }

    /// Finds the session and the thread of a call that was seen: by its id, else by tool and arguments. By tool and
    /// arguments a call is found only once.
    pub fn issued(
        &self,
        who: &Principal,
        call_id: Option<&str>,
        tool: &str,
        arguments_hash: &[u8; 32],
    ) -> Option<(SessionId, Thread)> {
        let mut registry = self.inner.issued.lock().unwrap_or_else(PoisonError::into_inner);
        let found = registry.find(&who.owner, call_id, tool, arguments_hash)?;
        Some((found.session.clone(), found.thread.clone()))
    }

    /// Finds whose a call of another server's tool is, like [`Engine::issued`]. The arguments are hashed if a model was seen
    /// to make calls at all.
    pub fn issued_place(
        &self,
        who: &Principal,
        call_id: Option<&str>,
        tool: &str,
        arguments_hash: impl FnOnce() -> [u8; 32],
    ) -> Option<CallPlace> {
        let registry = || self.inner.issued.lock().unwrap_or_else(PoisonError::into_inner);
        let has_any = registry().owners.contains_key(&who.owner);
        let hash = has_any.then(arguments_hash)?;
        let mut registry = registry();
        let found = registry.find(&who.owner, call_id, tool, &hash)?;
        let (session, thread) = (found.session.clone(), found.thread.clone());
        Some(CallPlace::Proxy { session, thread, call_id: found.call.id.clone() })
    }
}

#[cfg(test)]
mod tests;
