//! Forks a session: starts a new one from another's transcript, cut to fit.
//!
//! The parent is only read. Its transcript is scrubbed before anything is cut out of it, because half a secret is no
//! longer recognised as one; the outcome is scrubbed once more. The child's context is stored as an offloaded result,
//! to be read in parts.

use std::io::Write;

use infold_core::fork::{Fork, ForkBatch, Forked as Shortened, Profile};
use infold_core::transcript::Item;
use infold_core::{
    BlobId, Command, ContextState, Decision, Event, Field, Origin, Principal, ProjectHash, Refusal, Scrubbed, Session,
    SessionId, recording,
};
use infold_store::{EndedBranches, Loaded, NewBlob, SessionKey, Target};
use serde::Serialize;

use crate::change::{Absent, ChangeTarget, Proposal, SessionChange};
use crate::fold::belongs;
use crate::naming::store_target;
use crate::open::{asker, check_name, ended_branches_for};
use crate::{Engine, Error, Failure, ForkSession, ForkSource, ForkView, Forked, SessionRef, random};

/// The tool name under which a child's context is stored.
const FORK_TOOL: &str = "context_fork";
/// The version at which a fork's log records it: right after the start of its session.
const FORKED_VERSION: u64 = 2;

/// What a child begins with, ready to be recorded.
struct ForkStart {
    parent: Option<SessionId>,
    profile: Profile,
    shortened: Shortened,
    context: Scrubbed,
    preamble: Scrubbed,
    prompt: Option<Scrubbed>,
    blob: BlobId,
}

/// What a fork is made from.
struct Parent {
    id: Option<SessionId>,
    project: Option<ProjectHash>,
    items: Vec<Item>,
    /// Whether the texts were scrubbed before.
    texts: Texts,
    /// The name of the caller's argument, for the refusal if there is nothing in it.
    field: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Texts {
    Scrubbed,
    AsTheyCame,
}

impl Engine {
    /// Starts a session from another's transcript. The other session stays as it is.
    #[tracing::instrument(skip_all)]
    pub async fn fork(&self, who: &Principal, request: ForkSession) -> Result<Forked, Error> {
        let prompt = request.prompt.as_deref().map(|prompt| Field::PROMPT.clean(prompt)).transpose()?;
        let key = self.key(request.idempotency_key.as_deref(), &print(&request))?;
        let child = self.child_id(who, request.child.as_ref(), key.as_ref())?;
        let target = ChangeTarget::Session(SessionRef::Id(child.clone()));
        let mut change = SessionChange {
            owner: who.owner.clone(),
            target,
            ended: EndedBranches::Nothing,
            absent: Absent::Fork(None),
            key,
        };
        if let Some(answer) = self.answered(&change).await? {
            return Ok(answer);
        }

        // Whether the name is free is decided when the child is recorded. Looking now saves the work if it is taken.
        if self.find_session(store_target(&who.owner, &change.target), EndedBranches::Nothing).await?.is_some() {
            return Err(Refusal::SessionExists { session: child }.into());
        }

        let parent = self.parent(who, request.source).await?;
        change.absent = Absent::Fork(parent.project.clone());
        let profile = request.profile.unwrap_or(self.inner.settings.fork.profile);
        let beginning = self.beginning(parent, profile, prompt, &child).await?;

        let propose = |_: &Loaded| Ok(self.proposal(&beginning));
        self.change(&change, propose, |_, decision| self.forked_by(decision)).await
    }

    /// Reads a session that began as a fork, with the texts that it began with.
    #[tracing::instrument(skip_all)]
    pub async fn fork_view(&self, who: &Principal, session: &SessionRef) -> Result<ForkView, Error> {
        let session = self.require_session(who, session, EndedBranches::Nothing).await?;
        let Some(origin) = &session.origin else {
            return Err(Refusal::NotForked { session: session.id }.into());
        };
        let missing = || Failure::Undecided("the context that the fork began with");
        let blob = self.inner.store.blob(who.owner.clone(), origin.blob.clone()).await?.ok_or_else(missing)?;
        let key = SessionKey { owner: session.owner.clone(), id: session.id.clone() };
        let prompt = match self.inner.store.event(key, FORKED_VERSION).await? {
            Some(Event::SessionForked { prompt, .. }) => prompt,
            _ => None,
        };
        let forked = self.forked_from(&session, origin);
        Ok(ForkView { forked, context: blob.content, prompt: prompt.map(Scrubbed::into_string) })
    }

    /// Chooses the child's name. A name that follows from the idempotency key is the same when the call is repeated,
    /// and so leads to the answer that was given before.
    fn child_id(
        &self,
        who: &Principal,
        wished: Option<&SessionId>,
        key: Option<&(String, [u8; 32])>,
    ) -> Result<SessionId, Failure> {
        if let Some(wished) = wished {
            return Ok(wished.clone());
        }
        let Some((key, _)) = key else { return Ok(SessionId::mint(random()?)) };
        let mut hasher = blake3::Hasher::new_derive_key("infold 2026 fork ids");
        hasher
            .update(self.inner.store.secret())
            .update(who.owner.as_str().as_bytes())
            .update(b"/")
            .update(key.as_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Ok(SessionId::mint(bytes))
    }

    async fn parent(&self, who: &Principal, source: ForkSource) -> Result<Parent, Error> {
        match source {
            ForkSource::Session { session, thread } => self.load_parent(who, &session, thread.as_deref()).await,
            ForkSource::Transcript { items, parent } => {
                let (id, project) = self.lineage(who, parent).await?;
                Ok(Parent { id, project, items, texts: Texts::AsTheyCame, field: "transcript" })
            }
        }
    }

    async fn load_parent(&self, who: &Principal, session: &SessionRef, thread: Option<&str>) -> Result<Parent, Error> {
        let thread = thread.map(|thread| self.thread(thread)).transpose()?;
        let found = self.require_session(who, session, ended_branches_for(thread.as_ref())).await?;
        let thread = asker(thread.as_ref(), &found);
        if let Some(branch) = thread.branch() {
            belongs(&found, branch)?;
        }
        let key = SessionKey { owner: found.owner.clone(), id: found.id.clone() };
        let bytes_max = self.inner.settings.fork.log_bytes_max;
        let events = self.inner.store.log(key, bytes_max).await?.ok_or_else(|| {
            let problem = format!("has a log of more than {bytes_max} bytes: fork a transcript of it instead");
            Refusal::Invalid { field: "session_id", problem }
        })?;
        let inherited = match &found.origin {
            Some(origin) => self.inner.store.blob(who.owner.clone(), origin.blob.clone()).await?,
            None => None,
        };
        let items = recording::items(&events, thread, inherited.as_ref().map(|blob| blob.content.as_str()));
        Ok(Parent { id: Some(found.id), project: found.project, items, texts: Texts::Scrubbed, field: "session_id" })
    }

    /// Finds the session that a transcript belongs to, according to the caller who handed it in.
    async fn lineage(
        &self,
        who: &Principal,
        parent: Option<SessionRef>,
    ) -> Result<(Option<SessionId>, Option<ProjectHash>), Error> {
        Ok(match parent {
            None => (None, None),
            Some(SessionRef::Id(id)) => {
                let target = Target::Session(SessionKey { owner: who.owner.clone(), id: id.clone() });
                let project =
                    self.find_session(target, EndedBranches::Nothing).await?.and_then(|session| session.project);
                (Some(id), project)
            }
            Some(SessionRef::Project { path, session: Some(id) }) => (Some(id), Some(ProjectHash::of(&path))),
            Some(current @ SessionRef::Project { .. }) => {
                let target = store_target(&who.owner, &ChangeTarget::Session(current.clone()));
                let found = self.find_session(target, EndedBranches::Nothing).await?;
                (found.map(|session| session.id), project_of(&current))
            }
        })
    }

    async fn beginning(
        &self,
        parent: Parent,
        profile: Profile,
        prompt: Option<String>,
        child: &SessionId,
    ) -> Result<ForkStart, Error> {
        let Parent { id, items, texts, field, .. } = parent;
        let shortened = self.shortened(items, texts, profile).await?;
        if shortened.stats.original_count == 0 {
            let problem = "holds no messages, so there is nothing to fork from".to_owned();
            return Err(Refusal::Invalid { field, problem }.into());
        }

        let has_prompt = prompt.is_some();
        let names = [child.to_string(), id.as_ref().map(ToString::to_string).unwrap_or_default()];
        let [child_name, parent_name] = names.clone();
        let texts = [
            shortened.context.clone(),
            shortened.preamble.clone(),
            prompt.unwrap_or_default(),
            child_name,
            parent_name,
        ];
        let [context, preamble, prompt, child_name, parent_name] = self.scrub(texts).await?;
        check_name(&names[0], &child_name)?;
        check_name(&names[1], &parent_name)?;
        let prompt = has_prompt.then_some(prompt);
        let blob = BlobId::mint(random()?);
        Ok(ForkStart { parent: id, profile, shortened, context, preamble, prompt, blob })
    }

    /// Runs a transcript through the stages in batches. Each batch is scrubbed, unless that was done before, and only
    /// then cut.
    async fn shortened(&self, items: Vec<Item>, texts: Texts, profile: Profile) -> Result<Shortened, Error> {
        let mut fork = Fork::new(profile, self.inner.settings.fork.limits);
        let mut filling = ForkBatch::default();
        for item in items {
            if let Some(full) = filling.push(item) {
                fork = self.push_batch(full, texts, fork).await?;
            }
        }
        fork = self.push_batch(filling, texts, fork).await?;
        working(move || fork.finish()).await
    }

    async fn push_batch(&self, mut batch: ForkBatch, texts: Texts, mut fork: Fork) -> Result<Fork, Error> {
        let items = match texts {
            Texts::Scrubbed => batch.into_items(),
            Texts::AsTheyCame => {
                let scrubbed = self.scrub_list(batch.take_texts()).await?;
                batch.with_texts(scrubbed)
            }
        };
        working(move || {
            items.into_iter().for_each(|item| fork.push(item));
            fork
        })
        .await
    }

    fn proposal(&self, beginning: &ForkStart) -> Proposal {
        let origin = Origin {
            parent: beginning.parent.clone(),
            profile: beginning.profile,
            preamble: beginning.preamble.clone(),
            blob: beginning.blob.clone(),
            chars: beginning.context.len_chars() as u64,
            tokens: self.count(beginning.context.as_str()),
            stats: beginning.shortened.stats,
        };
        let blob = NewBlob {
            id: beginning.blob.clone(),
            tool_name: Scrubbed::fixed(FORK_TOOL),
            content: beginning.context.clone(),
            branch: None,
        };
        let fork = Command::Fork { origin: Box::new(origin), prompt: beginning.prompt.clone() };
        Proposal { blobs: vec![blob], ..Proposal::of(vec![fork]) }
    }

    fn forked_by(&self, decision: &Decision) -> Result<Forked, Failure> {
        let is_fork = |event: &&Event| matches!(event, Event::SessionForked { .. });
        let Some(Event::SessionForked { origin, .. }) = decision.events.iter().find(is_fork) else {
            return Err(Failure::Undecided("the fork"));
        };
        Ok(self.forked_from(&decision.after, origin))
    }

    fn forked_from(&self, session: &Session, origin: &Origin) -> Forked {
        Forked {
            session_id: session.id.clone(),
            parent: origin.parent.clone(),
            forked_at_ms: session.started_at_ms,
            profile: origin.profile,
            preamble: origin.preamble.as_str().to_owned(),
            ref_id: origin.blob.clone(),
            chars: origin.chars,
            tokens: origin.tokens,
            stats: origin.stats,
            state: ContextState::of(session, self.limits()),
        }
    }
}

fn project_of(session: &SessionRef) -> Option<ProjectHash> {
    match session {
        SessionRef::Project { path, .. } => Some(ProjectHash::of(path)),
        SessionRef::Id(_) => None,
    }
}

/// Runs work that takes a while on a thread where it holds up nobody else.
async fn working<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Failure::Undecided("the shortened transcript").into())
}

/// What has to be equal for two forks to be the same call.
#[derive(Serialize)]
struct Print<'a> {
    verb: &'static str,
    session: Option<&'a SessionRef>,
    thread: Option<&'a str>,
    transcript: Option<[u8; 32]>,
    prompt: Option<&'a str>,
    profile: Option<Profile>,
    child: Option<&'a SessionId>,
}

fn print(request: &ForkSession) -> Print<'_> {
    let (session, thread, transcript) = match &request.source {
        ForkSource::Session { session, thread } => (Some(session), thread.as_deref(), None),
        ForkSource::Transcript { items, parent } => {
            // Hashing the transcript pays only if the call may be repeated.
            let digest = request.idempotency_key.as_ref().map(|_| digest(items));
            (parent.as_ref(), None, digest)
        }
    };
    Print {
        verb: "fork",
        session,
        thread,
        transcript,
        prompt: request.prompt.as_deref(),
        profile: request.profile,
        child: request.child.as_ref(),
    }
}

fn digest(items: &[Item]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for item in items {
        // Writing to a hasher cannot fail.
        let _ = writeln!(hasher, "{item:?}");
    }
    hasher.finalize().into()
}
