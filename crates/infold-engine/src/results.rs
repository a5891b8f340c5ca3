//! Results that are handed in, and those that are read back.

use infold_core::{
    BlobId, Command, ContextState, Decision, Field, Mentions, Operation, Principal, Refusal, Scrubbed, ScrubbedSight,
    Session, ShapeRules, Thread,
};
use infold_store::{Also, Loaded, NewBlob, SessionKey, Target};

use crate::change::{Absent, Change, ChangeTarget, Proposal};
use crate::observe::{exhausted_by, tokens_of};
use crate::open::{check_name, name_of, named};
use crate::{Engine, Error, Portion, ReadResult, RecordResult, ResultPart, ResultRecorded, random, shown};

/// Most bytes that one read gives back.
const READ_BYTES_MAX: usize = 65_536;
/// Most bytes that a compiled expression may take.
const PATTERN_BYTES_MAX: usize = 1 << 20;
const PATTERN_CHARS_MAX: usize = 1_000;
const CONTEXT_LINES_MAX: usize = 50;
/// Results up to this length are shaped where they are; longer ones would hold up other calls.
pub(crate) const INLINE_BYTES_MAX: usize = 65_536;

/// A result, scrubbed, with all ways of showing it.
struct Incoming {
    tool: Scrubbed,
    arguments: Scrubbed,
    content: Scrubbed,
    /// What stands for it where there is room, and where there is less.
    shaped: Scrubbed,
    reference: Scrubbed,
    blob: BlobId,
    call_id: Option<Scrubbed>,
}

impl Incoming {
    fn sight(&self) -> ScrubbedSight<'_> {
        ScrubbedSight { tool: &self.tool, arguments: &self.arguments, content: &self.content }
    }
}

impl Engine {
    /// Takes in the result of a tool that infold did not run: scrubs it, keeps it elsewhere if it is
    /// long or does not fit its branch's budget, counts what is shown of it, and says what to show.
    #[tracing::instrument(skip_all)]
    pub async fn record_result(&self, who: &Principal, request: RecordResult) -> Result<ResultRecorded, Error> {
        let thread = request.thread.as_deref().map(|thread| self.thread(thread)).transpose()?;
        let incoming = self.incoming(&request).await?;
        let print =
            ("result", &request.session, &request.thread, &request.tool_name, &request.arguments, &request.content);
        let change = Change {
            owner: who.owner.clone(),
            target: ChangeTarget::Session(request.session.clone()),
            also: named(thread.as_ref()),
            absent: Absent::Start,
            // A call is counted once, however often its result is handed in.
            key: match (&request.idempotency_key, &request.call_id) {
                (Some(key), _) => self.key(Some(key), &print)?,
                (None, Some(call_id)) => self.key(Some(&format!("{} {call_id}", Field::CALL_ID.name)), &print)?,
                (None, None) => None,
            },
        };
        let propose = |loaded: &Loaded| self.admit(&loaded.session, thread.as_ref(), &incoming);
        self.change(&change, propose, |_, decision| Ok(self.recorded(&incoming, decision))).await
    }

    async fn incoming(&self, request: &RecordResult) -> Result<Incoming, Error> {
        let tool = Field::TOOL_NAME.clean(&request.tool_name)?;
        let call_id = request.call_id.as_deref().map(|id| Field::CALL_ID.clean(id)).transpose()?;
        let has_call_id = call_id.is_some();
        let name = name_of(&request.session);
        let texts =
            [tool, request.arguments.clone(), request.content.clone(), call_id.unwrap_or_default(), name.clone()];
        let [tool, arguments, content, call_id, scrubbed_name] = self.scrub(texts).await?;
        check_name(&name, &scrubbed_name)?;
        let blob = BlobId::mint(random()?);
        let reference = infold_core::reference(&tool, &content, &blob);
        let shaped = self.shaped(&tool, &arguments, &content, &blob).await.unwrap_or_else(|| reference.clone());
        Ok(Incoming { tool, arguments, content, shaped, reference, blob, call_id: has_call_id.then_some(call_id) })
    }

    /// The reference with what is worth showing of a result. Shaping fails open: without it, the plain
    /// reference is shown.
    async fn shaped(
        &self,
        tool: &Scrubbed,
        arguments: &Scrubbed,
        content: &Scrubbed,
        blob: &BlobId,
    ) -> Option<Scrubbed> {
        let rules = self.shape_rules();
        if content.as_str().len() <= INLINE_BYTES_MAX {
            let sight = ScrubbedSight { tool, arguments, content };
            return Some(infold_core::shaped_reference(&sight, blob, &Mentions::default(), &rules));
        }
        let (tool, arguments, content, blob) = (tool.clone(), arguments.clone(), content.clone(), blob.clone());
        // This door is told of results alone, so nothing is known of what else was said.
        let mentions = Mentions::default();
        let work = move || {
            let sight = ScrubbedSight { tool: &tool, arguments: &arguments, content: &content };
            infold_core::shaped_reference(&sight, &blob, &mentions, &rules)
        };
        tokio::task::spawn_blocking(work).await.ok()
    }

    fn shape_rules(&self) -> ShapeRules {
        self.inner.settings.shape
    }

    fn admit(&self, session: &Session, thread: Option<&Thread>, incoming: &Incoming) -> Result<Proposal, Error> {
        let thread = thread.unwrap_or(&session.active).clone();
        let left_tokens =
            thread.branch().and_then(|id| session.branches.get(id)).map(|branch| branch.budget_left_tokens());
        let fits = |shown: &Scrubbed| {
            left_tokens.is_none_or(|left_tokens| tokens_of(self, &incoming.arguments, shown) <= left_tokens)
        };
        let is_shorter = |shown: &Scrubbed| shown.as_str().len() < incoming.content.as_str().len();
        let is_long = self.shape_rules().is_over(&incoming.sight().sight());
        // What does not fit is kept in any case: if even its reference is too much, the branch folds, and
        // its partial result says where to read on.
        let offload = is_long || !fits(&incoming.content);

        let shown = if !offload {
            &incoming.content
        } else if is_shorter(&incoming.shaped) && fits(&incoming.shaped) {
            &incoming.shaped
        } else if is_long || is_shorter(&incoming.reference) {
            &incoming.reference
        } else {
            &incoming.content
        };
        let operation = Operation {
            tool: incoming.tool.clone(),
            call_id: incoming.call_id.clone(),
            arguments: incoming.arguments.clone(),
            result: shown.clone(),
            blob: offload.then(|| incoming.blob.clone()),
            tokens: tokens_of(self, &incoming.arguments, shown),
        };
        let blob = offload.then(|| NewBlob {
            id: incoming.blob.clone(),
            tool_name: incoming.tool.clone(),
            content: incoming.content.clone(),
            branch: thread.branch().cloned(),
        });
        let commands = vec![Command::Observe { thread: Some(thread), operation: Box::new(operation) }];
        Ok(Proposal { blobs: blob.into_iter().collect(), ..Proposal::of(commands) })
    }

    fn recorded(&self, incoming: &Incoming, decision: &Decision) -> ResultRecorded {
        let operation = decision.events.iter().find_map(|event| match event {
            infold_core::Event::OperationSeen { operation, .. } => Some(operation),
            _ => None,
        });
        ResultRecorded {
            shown: operation.map(|operation| operation.result.as_str().to_owned()),
            ref_id: operation.map_or_else(|| unseen(decision), |operation| operation.blob.clone()),
            tokens: operation.map_or(0, |operation| operation.tokens),
            secrets_scrubbed: incoming.content.secrets(),
            folded: exhausted_by(decision),
            state: ContextState::of(&decision.after, self.limits()),
        }
    }

    /// Reads part of a kept result. A branch reads its own and those of branches below it; the main
    /// thread reads all of its session.
    #[tracing::instrument(skip_all)]
    pub async fn read_result(&self, who: &Principal, request: &ReadResult) -> Result<ResultPart, Error> {
        let absent = || Refusal::ResultNotFound { ref_id: shown(&request.ref_id) };
        let id = BlobId::parse(&request.ref_id).ok_or_else(absent)?;
        let pattern = compile(&request.portion)?;
        let limit = limit_bytes(request.limit_bytes)?;
        let thread = request.thread.as_deref().map(|thread| self.thread(thread)).transpose()?;
        let blob = self.inner.store.blob(who.owner.clone(), id.clone()).await?.ok_or_else(absent)?;
        let session = self.session_of(&blob.session, blob.branch.clone()).await?.ok_or_else(absent)?;
        let reader = thread.unwrap_or_else(|| session.active.clone());
        if !may_read(&session, &reader, blob.branch.as_ref()) {
            return Err(absent().into());
        }

        let page = match (&request.portion, &pattern) {
            (Portion::Bytes { offset }, _) => infold_core::page(&blob.content, *offset, limit),
            (Portion::Lines { first, last }, _) => infold_core::lines(&blob.content, *first, *last, limit),
            (Portion::Matches { context, first, .. }, Some(pattern)) => {
                infold_core::matches(&blob.content, pattern, *first, *context, limit)
            }
            (Portion::Matches { .. }, None) => infold_core::page("", 0, 0),
        };
        let no_match = match (&request.portion, &pattern) {
            (Portion::Matches { first, .. }, Some(pattern)) if page.content.is_empty() => {
                Some(infold_core::no_match(&blob.content, pattern, *first))
            }
            (_, _) => None,
        };
        Ok(ResultPart {
            session_id: session.id.clone(),
            ref_id: id,
            tool_name: blob.tool_name,
            total_bytes: blob.content.len(),
            total_lines: blob.content.lines().count(),
            content: page.content,
            offset: page.offset,
            next_offset: page.next_offset,
            no_match,
        })
    }

    /// A blob's session, with the branches from the blob's up to the main thread.
    async fn session_of(
        &self,
        key: &SessionKey,
        branch: Option<infold_core::BranchId>,
    ) -> Result<Option<Session>, Error> {
        let also = branch.map_or(Also::Nothing, Also::Branch);
        self.look(Target::Session(key.clone()), also).await
    }
}

/// Whether a thread may read what was seen in a branch: its own, and that of branches below it; and, where
/// it began as its parent's, what its parent may read.
pub(crate) fn may_read(session: &Session, reader: &Thread, seen_in: Option<&infold_core::BranchId>) -> bool {
    let Thread::Branch(id) = reader else { return true };
    let lies_in = |seen_in: &infold_core::BranchId| session.path(&Thread::Branch(seen_in.clone())).contains(reader);
    if seen_in.is_some_and(lies_in) {
        return true;
    }
    let began_as = session.branches.get(id).filter(|branch| !branch.isolation.is_isolated());
    began_as.is_some_and(|branch| may_read(session, &branch.parent, seen_in))
}

/// Where the result is kept that its branch has no room for any more.
fn unseen(decision: &Decision) -> Option<BlobId> {
    decision.events.iter().find_map(|event| match event {
        infold_core::Event::BudgetExhausted { blob, .. } => blob.clone(),
        _ => None,
    })
}

fn limit_bytes(wished: usize) -> Result<usize, Refusal> {
    if wished == 0 {
        return Err(Refusal::Invalid { field: "limit", problem: "must be at least 1".to_owned() });
    }
    Ok(wished.min(READ_BYTES_MAX))
}

fn compile(portion: &Portion) -> Result<Option<regex::Regex>, Refusal> {
    let Portion::Matches { pattern, context, .. } = portion else { return Ok(None) };
    let refuse = |field: &'static str, problem: String| Refusal::Invalid { field, problem };
    if pattern.is_empty() || pattern.chars().count() > PATTERN_CHARS_MAX {
        return Err(refuse("pattern", format!("must have 1 to {PATTERN_CHARS_MAX} characters")));
    }
    if *context > CONTEXT_LINES_MAX {
        return Err(refuse("context", format!("must be at most {CONTEXT_LINES_MAX} lines")));
    }
    let compiled = regex::RegexBuilder::new(pattern).size_limit(PATTERN_BYTES_MAX).build();
    compiled.map(Some).map_err(|error| {
        let problem = error.to_string();
        let reason = problem.lines().last().unwrap_or_default().trim_start_matches("error: ");
        refuse("pattern", format!("is not a regular expression that can be used: {reason}"))
    })
}
