//! Opens a branch: checks and scrubs what is asked for, and has the core decide.

mod print;

use infold_core::{
    BranchId, Command, ContextHealth, ContextState, Decision, Event, Field, Open, Principal, Refusal, Scrubbed,
    Session, Thread,
};
use infold_store::EndedBranches;

use crate::change::{Absent, ChangeTarget, Proposal, SessionChange, fingerprint};
use crate::notices::notices;
use crate::{Engine, Error, Failure, OpenBranch, Opened, SessionRef, random};
use print::OpenPrint;

impl Engine {
    /// Opens a sub-task. From now on its calls are counted in it, and its parent waits.
    #[tracing::instrument(skip_all)]
    pub async fn open_branch(&self, who: &Principal, request: OpenBranch) -> Result<Opened, Error> {
        let description = request.description_field.clean(&request.description)?;
        let prompt = request.prompt.as_deref().map(|prompt| Field::PROMPT.clean(prompt)).transpose()?;
        check_wishes(&request)?;
        let parent = request.parent.as_deref().map(|parent| self.thread(parent)).transpose()?;
        let key = self.key(request.idempotency_key.as_deref(), &OpenPrint::of(&request))?;
        let has_prompt = prompt.is_some();
        let name = name_of(&request.session);
        let texts = [description, prompt.unwrap_or_default(), name.clone()];
        let [description, prompt, scrubbed_name] = self.scrub(texts).await?;
        check_name(&name, &scrubbed_name)?;
        let id = BranchId::mint(random()?, self.id_key());
        let isolation = request.isolation.unwrap_or(self.inner.settings.isolation);
        let context = self.opening_context(who, &request, [&description, &prompt]).await;

        let change = SessionChange {
            owner: who.owner.clone(),
            ended: ended_branches_for(parent.as_ref()),
            target: ChangeTarget::Session(request.session.clone()),
            absent: Absent::Start,
            key,
        };
        let propose = |loaded: &infold_store::Loaded| {
            let open = Open {
                id: id.clone(),
                parent: parent.clone(),
                description: description.clone(),
                prompt: has_prompt.then(|| prompt.clone()),
                budget_tokens: request.budget_tokens,
                timeout_s: request.timeout_s,
                claims: who.claims.clone(),
                isolation,
                start: request.start,
                memories: context.memories.clone(),
                work_place: Some(context.place.work_place.clone()),
                rate_mark_ms: loaded.rate_mark_ms,
            };
            let proposal = Proposal::telling(asker(parent.as_ref(), &loaded.session), Command::Open(Box::new(open)));
            Ok(Proposal { shown: Some(context.shown.clone()), ..proposal })
        };
        let answer = |before: &Session, decision: &Decision| self.opened(&id, &request, before, decision);
        let mut opened = self.change(&change, propose, answer).await;
        if let Ok(opened) = &mut opened {
            self.note_opened(who, context, opened).await;
        }
        self.inner.metrics.opening(&opened);
        opened
    }

    fn opened(
        &self,
        id: &BranchId,
        request: &OpenBranch,
        before: &Session,
        decision: &Decision,
    ) -> Result<Opened, Failure> {
        let after = &decision.after;
        let branch = after.branches.get(id).ok_or(Failure::Undecided("the opened branch"))?;
        let limits = self.limits();
        let mut notes = Vec::new();
        if request.budget_tokens.is_some_and(|wished| wished > branch.budget_tokens) {
            let why = if branch.budget_tokens == limits.budget_max_tokens { "the maximum" } else { "what is left" };
            notes.push(format!("budget was capped at {} tokens, {why}", branch.budget_tokens));
        }
        if request.timeout_s.is_some_and(|wished| wished > limits.timeout_max_s) {
            notes.push(format!("timeout_seconds was capped at {}, the maximum", limits.timeout_max_s));
        }
        Ok(Opened {
            session_id: after.id.clone(),
            branch_id: id.clone(),
            parent: branch.parent.clone(),
            depth: branch.depth,
            budget_tokens: branch.budget_tokens,
            isolation: branch.isolation,
            timeout_s: branch.timeout_ms / 1000,
            opened_at_ms: branch.opened_at_ms,
            deadline_ms: branch.deadline_ms,
            notes,
            injected_context: injected_into(id, decision),
            state: ContextState::of(after, limits),
            health: ContextHealth::of(after, limits),
            notices: notices(before, &branch.parent),
        })
    }

    /// Reads the name of a thread: a branch's id, or `main`.
    pub(crate) fn thread(&self, text: &str) -> Result<Thread, Refusal> {
        if text == "main" { Ok(Thread::Main) } else { Ok(Thread::Branch(self.branch_id(text)?)) }
    }

    /// Reads an idempotency key, and fingerprints the request that it is for.
    pub(crate) fn key(
        &self,
        key: Option<&str>,
        request: &impl serde::Serialize,
    ) -> Result<Option<(String, [u8; 32])>, Refusal> {
        let key = key.map(|key| Field::IDEMPOTENCY_KEY.clean(key)).transpose()?;
        // Only a hash is stored: a key is the caller's free text, and may hold anything.
        Ok(key.map(|key| (blake3::hash(key.as_bytes()).to_hex().to_string(), fingerprint(request))))
    }
}

/// The name that a caller gives a session; empty if it gives none.
pub(crate) fn name_of(session: &SessionRef) -> String {
    match session {
        SessionRef::Id(id) | SessionRef::Project { session: Some(id), .. } => id.to_string(),
        SessionRef::Project { session: None, .. } => String::new(),
    }
}

/// Refuses a name that holds a secret: a name cannot be scrubbed, or it would be another one.
pub(crate) fn check_name(name: &str, scrubbed: &Scrubbed) -> Result<(), Refusal> {
    if name == scrubbed.as_str() {
        return Ok(());
    }
    let problem = "looks like a secret, and names are kept as they are: use another name".to_owned();
    Err(Refusal::Invalid { field: "session_id", problem })
}

/// Which ended branches to load for a call that names a thread. Open branches are loaded in any case.
pub(crate) fn ended_branches_for(thread: Option<&Thread>) -> EndedBranches {
    match thread {
        Some(Thread::Branch(id)) => EndedBranches::Branch(id.clone()),
        Some(Thread::Main) | None => EndedBranches::Nothing,
    }
}

/// The thread that a call comes from: the one that it names, else the active one.
pub(crate) fn asker<'a>(named: Option<&'a Thread>, session: &'a Session) -> &'a Thread {
    named.unwrap_or(&session.active)
}

/// The memories that the branch was given.
fn injected_into(id: &BranchId, decision: &Decision) -> Option<String> {
    let openings = decision.events.iter().filter_map(|event| match event {
        Event::BranchOpened(opening) if opening.branch == *id => opening.injected.as_ref(),
        _ => None,
    });
    openings.map(|given| given.text.as_str().to_owned()).next()
}

fn check_wishes(request: &OpenBranch) -> Result<(), Refusal> {
    let positive = |field: &'static str, wish: Option<u64>| match wish {
        Some(0) => Err(Refusal::Invalid { field, problem: "must be at least 1".to_owned() }),
        _ => Ok(()),
    };
    positive("budget", request.budget_tokens)?;
    positive("timeout_seconds", request.timeout_s)
}
