//! The results API: takes in results that callers hand in, and reads offloaded ones back.

use infold_core::{BlobId, ContextState, Decision, Field, Mentions, Principal, Refusal, Scrubbed, Session, Thread};
use infold_store::{EndedBranches, Loaded, SessionKey, Target};

use crate::change::{Absent, ChangeTarget, Proposal, SessionChange};
use crate::intake::{NewResult, ResultSource, ScrubbedResult};
use crate::observe::{exhausted_by, tokens_of};
use crate::open::{check_name, ended_branches_for, name_of};
use crate::{Engine, Error, Failure, Portion, ReadResult, RecordResult, ResultPart, ResultRecorded, shown};

/// How many bytes one read returns at most.
const READ_BYTES_MAX: usize = 65_536;
/// How much memory a compiled regular expression may take, in bytes.
const PATTERN_BYTES_MAX: usize = 1 << 20;
const PATTERN_CHARS_MAX: usize = 1_000;
const CONTEXT_LINES_MAX: usize = 50;
impl Engine {
    /// Takes in the result of a tool that infold did not run: scrubs it, offloads it if it is long or does not fit its
    /// branch's budget, counts what is shown of it, and says what to show.
    #[tracing::instrument(skip_all)]
    pub async fn record_result(&self, who: &Principal, request: RecordResult) -> Result<ResultRecorded, Error> {
        let thread = request.thread.as_deref().map(|thread| self.thread(thread)).transpose()?;
        let incoming = self.incoming(&request).await?;
        let print =
            ("result", &request.session, &request.thread, &request.tool_name, &request.arguments, &request.content);
        let change = SessionChange {
            owner: who.owner.clone(),
            target: ChangeTarget::Session(request.session.clone()),
            ended: ended_branches_for(thread.as_ref()),
            absent: Absent::Start,
            // A call is counted once, however often its result is handed in.
            key: match (&request.idempotency_key, &request.call_id) {
                (Some(key), _) => self.key(Some(key), &print)?,
                (None, Some(call_id)) => self.key(Some(&format!("{} {call_id}", Field::CALL_ID.name)), &print)?,
                (None, None) => None,
            },
        };
        let propose = |loaded: &Loaded| Ok(self.admit(&loaded.session, thread.as_ref(), &incoming));
        let recorded = self.change(&change, propose, |_, decision| Ok(self.recorded(&incoming, decision))).await?;
        // What a branch sees is looked at again when it ends.
        if matches!(thread, None | Some(Thread::Main)) {
            self.see_files(who, &request.session, [&incoming]);
        }
        Ok(recorded)
    }

    async fn incoming(&self, request: &RecordResult) -> Result<ScrubbedResult, Error> {
        let tool = Field::TOOL_NAME.clean(&request.tool_name)?;
        let call_id = request.call_id.as_deref().map(|id| Field::CALL_ID.clean(id)).transpose()?;
        let name = name_of(&request.session);
        let [scrubbed_name] = self.scrub([name.clone()]).await?;
        check_name(&name, &scrubbed_name)?;
        let new = NewResult {
            call_id: call_id.unwrap_or_default(),
            tool,
            arguments: request.arguments.clone(),
            texts: vec![request.content.clone()],
            remarks: None,
            is_all_text: true,
        };
        // Only results come by this door, so nothing is known about what else the thread has said.
        let scrubbed = self.scrub_results(vec![new], Mentions::default(), ResultSource::HandedIn).await?;
        scrubbed.into_iter().next().ok_or_else(|| Failure::Undecided("a result").into())
    }

    fn admit(&self, session: &Session, thread: Option<&Thread>, incoming: &ScrubbedResult) -> Proposal {
        let thread = thread.unwrap_or(&session.active).clone();
        let left_tokens =
            thread.branch().and_then(|id| session.branches.get(id)).map(|branch| branch.budget_left_tokens());
        let tokens = |shown: &Scrubbed| tokens_of(self, &incoming.arguments, shown);
        let placement = incoming.place(|shown| left_tokens.is_none_or(|left_tokens| tokens(shown) <= left_tokens));
        let (command, blob) = incoming.recorded(&placement, &thread, tokens(placement.text));
        Proposal { blobs: blob.into_iter().collect(), ..Proposal::of(vec![command]) }
    }

    fn recorded(&self, incoming: &ScrubbedResult, decision: &Decision) -> ResultRecorded {
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

    /// Reads part of an offloaded result. A branch may read its own results and those of branches below it; the main
    /// thread may read all of its session.
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

    /// Finds a blob's session, with the branches from the blob's up to the main thread.
    async fn session_of(
        &self,
        key: &SessionKey,
        branch: Option<infold_core::BranchId>,
    ) -> Result<Option<Session>, Error> {
        let ended = branch.map_or(EndedBranches::Nothing, EndedBranches::Branch);
        self.find_session(Target::Session(key.clone()), ended).await
    }
}

/// Whether a thread may read what was seen in a branch. It may if the branch is its own or lies below it. If the thread
/// began with its parent's view, it may read what its parent may.
pub(crate) fn may_read(session: &Session, reader: &Thread, seen_in: Option<&infold_core::BranchId>) -> bool {
    let Thread::Branch(id) = reader else { return true };
    let lies_in = |seen_in: &infold_core::BranchId| session.path(&Thread::Branch(seen_in.clone())).contains(reader);
    if seen_in.is_some_and(lies_in) {
        return true;
    }
    let began_as = session.branches.get(id).filter(|branch| !branch.isolation.is_isolated());
    began_as.is_some_and(|branch| may_read(session, &branch.parent, seen_in))
}

/// The handle of a result that its branch had no room for.
fn unseen(decision: &Decision) -> Option<BlobId> {
    decision.events.iter().find_map(|event| match event {
        infold_core::Event::BudgetExhausted { blob, .. } => blob.clone(),
        _ => None,
    })
}

pub(crate) fn limit_bytes(wished: usize) -> Result<usize, Refusal> {
    if wished == 0 {
        return Err(Refusal::Invalid { field: "limit", problem: "must be at least 1".to_owned() });
    }
    Ok(wished.min(READ_BYTES_MAX))
}

fn compile(portion: &Portion) -> Result<Option<regex::Regex>, Refusal> {
    let Portion::Matches { pattern, context, .. } = portion else { return Ok(None) };
    if *context > CONTEXT_LINES_MAX {
        let problem = format!("must be at most {CONTEXT_LINES_MAX} lines");
        return Err(Refusal::Invalid { field: "context", problem });
    }
    compile_pattern(pattern).map(Some)
}

/// The regular expression of a caller, if it is one and not too large.
pub(crate) fn compile_pattern(pattern: &str) -> Result<regex::Regex, Refusal> {
    let refuse = |field: &'static str, problem: String| Refusal::Invalid { field, problem };
    if pattern.is_empty() || pattern.chars().count() > PATTERN_CHARS_MAX {
        return Err(refuse("pattern", format!("must have 1 to {PATTERN_CHARS_MAX} characters")));
    }
    let compiled = regex::RegexBuilder::new(pattern).size_limit(PATTERN_BYTES_MAX).build();
    compiled.map_err(|error| {
        let problem = error.to_string();
        let reason = problem.lines().last().unwrap_or_default().trim_start_matches("error: ");
        refuse("pattern", format!("is not a regular expression that can be used: {reason}"))
    })
}
