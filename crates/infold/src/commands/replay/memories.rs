//! `infold replay --memories`: which lessons would have been there when they were needed.
//!
//! Recorded work is done once more, without models: each piece opens a branch, makes its recorded calls and returns, in
//! the order of the recorded times. It runs on an engine of its own, in a folder that is removed afterwards, so what is
//! learnt, found and given is what infold does, and nothing of the user's is opened or changed.

mod reading;
mod table;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use infold_core::memory::BranchWork;
use infold_core::{Counter, Event, Field, Principal, ReturnOutcome, SessionId, Start, strip_controls};
use infold_engine::{
    BranchRef, CallKind, Clock, Engine, Error, FoldBranch, MemoryWish, Observation, OpenBranch, SessionRef, Teaching,
    WhyShown,
};
use infold_replay::{RecordedWork, WorkCall, WorkEnd};
use infold_store::{KEY_BYTES, KEY_FILE};
use infold_wire::RecordedAt;
use serde::Serialize;

use crate::failure::Refused;
use crate::parts;
use crate::settings::{Settings, Synchronous};

pub use reading::WorkReader;
pub use table::draw;

/// A branch's budget and time. Recorded work is longer than a branch's, and is not to be cut short here.
const BUDGET_TOKENS: u64 = 1_000_000_000;
const TIMEOUT_S: u64 = 365 * 86_400;
/// What is done again of a result: its beginning and its end say whether it failed.
const RESULT_CHARS_MAX: usize = 20_000;
/// Calls of one piece of work that are done again.
const CALLS_MAX: usize = 500;
/// Where work belongs whose recording names no folder.
const UNKNOWN_FOLDER: &str = "/";
/// What replaces the code and the names in a quotation when its tokens are counted.
const USUAL_CODE: &str = "5f0c91e2";
const USUAL_ID: &str = "mem_k3v9q0a7xd";
/// What replaces a report that says nothing.
const NOTHING_SAID: &str = "-";
/// The time between two pieces whose recordings have no times.
const STEP_MS: u64 = 60_000;
const DESCRIPTION: Field = Field { name: "description", chars_max: 500 };

/// Work of a recorded session that is to be done again.
struct PlannedWork {
    session: String,
    folder: Option<String>,
    work: RecordedWork,
    begins_ms: u64,
    ends_ms: u64,
}

/// What was planned so far, and where sessions without times are put.
#[derive(Default)]
struct WorkPlan {
    works: Vec<PlannedWork>,
    untimed_ms: u64,
}

impl WorkPlan {
    /// Adds the work of a session.
    pub fn add(&mut self, session: &str, works: Vec<RecordedWork>, recorded: &RecordedAt) {
        for work in works {
            let times = recorded.time_ms(work.begins.entry).zip(recorded.time_ms(work.ends.entry));
            let (begins_ms, ends_ms) = times.unwrap_or_else(|| {
                self.untimed_ms += STEP_MS;
                (self.untimed_ms, self.untimed_ms + 1)
            });
            let (session, folder) = (session.to_owned(), recorded.folder.clone());
            self.works.push(PlannedWork { session, folder, work, begins_ms, ends_ms: ends_ms.max(begins_ms + 1) });
        }
    }

    /// Adds what a subagent recorded of its own work to the piece that it was given; says whether there is one.
    pub fn add_calls(&mut self, prompt: &str, calls: &[WorkCall]) -> bool {
        let is_its = |planned: &&mut PlannedWork| planned.work.calls.is_empty() && planned.work.prompt == prompt;
        match self.works.iter_mut().find(is_its) {
            Some(planned) => {
                planned.work.calls = calls.to_vec();
                true
            }
            None => false,
        }
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.works.is_empty()
    }
}

/// What a piece of work would have been given.
#[derive(Debug, Serialize)]
pub struct PlayedWork {
    /// The session that it is of.
    pub session: String,
    /// What it is for.
    pub description: String,
    /// How many files it worked with.
    pub files: usize,
    /// The tokens of what it would have been given.
    pub tokens: u64,
    /// The lessons that it would have been given, the best first.
    pub given: Vec<GivenLesson>,
    /// The titles of what was learnt from it.
    pub learnt: Vec<String>,
}

/// A lesson that work would have been given.
#[derive(Debug, Clone, Serialize)]
pub struct GivenLesson {
    /// The lesson in a line.
    pub title: String,
    /// What it tells its reader.
    pub kind: &'static str,
    /// The names of its files that the work went on to use.
    pub shared_files: Vec<String>,
    /// Whether it is about files at all.
    pub has_files: bool,
}

/// What all work would have been given.
#[derive(Debug, Serialize)]
pub struct MemoryReplay {
    /// The pieces of work, in the order in which they began.
    pub works: Vec<PlayedWork>,
    /// Figures of all of them.
    pub totals: ReplayTotals,
    /// Files and sessions that were left out, and why.
    pub skipped: Vec<String>,
}

/// Figures of all work.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ReplayTotals {
    pub sessions: usize,
    /// Sessions whose recordings name no folder: they are taken for one project.
    pub without_folder: usize,
    pub works: usize,
    /// Lessons that were learnt, without those that say what another says.
    pub lessons: usize,
    /// Work that would have been given something.
    pub helped: usize,
    /// Lessons that would have been given, counted for each piece of work.
    pub given: usize,
    /// Those of them that have a file in common with the work.
    pub related: usize,
    /// Those that are about other files than the work used.
    pub apart: usize,
    /// Those of which nothing can be said: they are about no file, or the work used none.
    pub unjudged: usize,
    /// The tokens of all that would have been given.
    pub tokens: u64,
}

impl ReplayTotals {
    fn of(works: &[PlayedWork], lessons: usize) -> Self {
        let sessions: BTreeSet<&str> = works.iter().map(|work| work.session.as_str()).collect();
        let mut totals = Self { sessions: sessions.len(), works: works.len(), lessons, ..Self::default() };
        for work in works {
            totals.helped += usize::from(!work.given.is_empty());
            totals.given += work.given.len();
            totals.tokens += work.tokens;
            for given in &work.given {
                match (given.shared_files.is_empty(), work.files == 0 || !given.has_files) {
                    (false, _) => totals.related += 1,
                    (true, true) => totals.unjudged += 1,
                    (true, false) => totals.apart += 1,
                }
            }
        }
        totals
    }
}

/// Does the planned work once more.
fn play(plan: WorkPlan, settings: &Settings, mut tick: impl FnMut()) -> anyhow::Result<MemoryReplay> {
    let folder = tempfile::tempdir().map_err(|error| Refused::new(format!("no temporary folder: {error}")))?;
    let clock = Arc::new(AtomicU64::new(0));
    // The same recordings give the same placeholders.
    std::fs::write(folder.path().join(KEY_FILE), [0; KEY_BYTES])?;
    let engine = parts::engine_at(&folder.path().join("infold.db"), &roomy(settings), Clock::Set(clock.clone()))?;
    let stage = Stage { engine, clock, counter: parts::counter(settings), who: Principal::local() };
    let runtime = parts::asking_runtime()?;
    runtime.block_on(stage.play(plan, &mut tick)).map_err(parts::command_error)
}

/// The user's settings with room for long work. What memories are given and how is as the user has it.
fn roomy(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    let folding = &mut settings.folding;
    (folding.default_budget, folding.max_budget) = (BUDGET_TOKENS, BUDGET_TOKENS);
    (folding.default_timeout_seconds, folding.max_timeout_seconds) = (TIMEOUT_S, TIMEOUT_S);
    (folding.max_concurrent_per_instance, folding.max_branches_per_minute) = (u32::MAX, u32::MAX);
    folding.session_budget = 0;
    settings.context.context_hard_limit = false;
    // The folder is removed at the end, so nothing has to survive a power loss.
    settings.store.synchronous = Synchronous::Normal;
    settings
}

/// The engine on which work is done again.
struct Stage {
    engine: Engine,
    clock: Arc<AtomicU64>,
    counter: Counter,
    who: Principal,
}

/// What is known of a piece between its beginning and its end.
struct OpenedWork {
    branch: String,
    session: SessionId,
    played: PlayedWork,
}

impl Stage {
    async fn play(&self, plan: WorkPlan, tick: &mut impl FnMut()) -> Result<MemoryReplay, Error> {
        let planned = plan.works;
        let mut moments: Vec<(u64, bool, usize)> = Vec::with_capacity(planned.len() * 2);
        for (at, work) in planned.iter().enumerate() {
            moments.extend([(work.begins_ms, true, at), (work.ends_ms, false, at)]);
        }
        // What ends at a moment is over before something begins then.
        moments.sort_unstable();
        let mut opened: Vec<Option<OpenedWork>> = planned.iter().map(|_| None).collect();
        let mut played: Vec<Option<PlayedWork>> = planned.iter().map(|_| None).collect();
        for (at_ms, is_beginning, at) in moments {
            self.clock.store(at_ms, Ordering::Relaxed);
            match (is_beginning, opened[at].take()) {
                (true, _) => opened[at] = self.begin(at, &planned[at]).await?,
                (false, Some(open)) => played[at] = Some(self.end(&planned[at], open).await?),
                (false, None) => {}
            }
            tick();
        }
        let mut in_order: Vec<(u64, usize)> =
            planned.iter().enumerate().map(|(at, work)| (work.begins_ms, at)).collect();
        in_order.sort_unstable();
        let works: Vec<PlayedWork> = in_order.into_iter().filter_map(|(_, at)| played[at].take()).collect();
        let unplaced = planned.iter().filter(|work| work.folder.is_none()).map(|work| work.session.as_str());
        let without_folder = unplaced.collect::<BTreeSet<&str>>().len();
        let counts = self.engine.memory_counts(&self.who).await?;
        let lessons = usize::try_from(counts.live + counts.waiting).unwrap_or(usize::MAX);
        let totals = ReplayTotals { without_folder, ..ReplayTotals::of(&works, lessons) };
        Ok(MemoryReplay { totals, works, skipped: Vec::new() })
    }

    /// Opens a branch for a piece of work; `None` if nothing says what it is for.
    async fn begin(&self, at: usize, planned: &PlannedWork) -> Result<Option<OpenedWork>, Error> {
        let session = SessionId::hashed(format!("work {at}").as_bytes());
        let prompt = cut(&planned.work.prompt, Field::PROMPT.chars_max);
        let request = OpenBranch {
            session: SessionRef::Id(session.clone()),
            parent: None,
            description: cut(&planned.work.description, DESCRIPTION.chars_max),
            description_field: DESCRIPTION,
            prompt: (!prompt.trim().is_empty()).then_some(prompt),
            budget_tokens: None,
            timeout_s: None,
            isolation: None,
            memories: MemoryWish::Fitting,
            folder: Some(PathBuf::from(planned.folder.as_deref().unwrap_or(UNKNOWN_FOLDER))),
            start: Start::AtOnce,
            idempotency_key: None,
        };
        let opened = match self.engine.open_branch(&self.who, request).await {
            Ok(opened) => opened,
            Err(Error::Refused(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let branch = opened.branch_id.to_string();
        let why = self.engine.why_shown(&self.who, &branch).await?;
        let given = why.iter().flat_map(|why| &why.memories).flatten().map(|memory| {
            let lesson = &memory.row.memory.lesson;
            GivenLesson {
                title: lesson.title.as_str().to_owned(),
                kind: lesson.kind.as_str(),
                shared_files: lesson.files.iter().map(|file| file_name(file.path.as_str())).collect(),
                has_files: !lesson.files.is_empty(),
            }
        });
        let said = [strip_controls(&planned.session), strip_controls(&planned.work.description)];
        let [session_name, description] = self.engine.scrub(said).await?;
        let played = PlayedWork {
            session: session_name.into_string(),
            description: description.into_string(),
            files: 0,
            tokens: self.tokens_of(opened.injected_context.as_deref().unwrap_or_default(), why.as_ref()),
            given: given.collect(),
            learnt: Vec::new(),
        };
        Ok(Some(OpenedWork { branch, session, played }))
    }

    /// The tokens of what a branch was given. Names and codes in it differ from run to run, and so would their tokens.
    fn tokens_of(&self, text: &str, why: Option<&WhyShown>) -> u64 {
        let code = text.lines().find_map(|line| line.strip_prefix("<notes ")?.strip_suffix('>'));
        let mut text = code.map_or_else(|| text.to_owned(), |code| text.replace(code, USUAL_CODE));
        for given in why.iter().flat_map(|why| &why.row.memories) {
            text = text.replace(given.id.as_str(), USUAL_ID);
        }
        self.counter.count(&text)
    }

    /// Makes the calls of a piece of work, returns from its branch, and learns from that.
    async fn end(&self, planned: &PlannedWork, open: OpenedWork) -> Result<PlayedWork, Error> {
        let OpenedWork { branch, session, mut played } = open;
        for call in planned.work.calls.iter().take(CALLS_MAX) {
            let observation = Observation {
                session: SessionRef::Id(session.clone()),
                thread: Some(branch.clone()),
                kind: CallKind::Content,
                tool: call.tool.clone(),
                call_id: None,
                arguments: call.input.clone(),
                result: both_ends(&call.result),
            };
            self.engine.observe(&self.who, observation).await?;
        }
        let message = cut(&planned.work.report, Field::MESSAGE.chars_max);
        let outcome = match planned.work.end {
            WorkEnd::Returned => ReturnOutcome::Completed,
            WorkEnd::Failed => ReturnOutcome::Failed,
            WorkEnd::Unfinished => return Ok(played),
        };
        let lessons = planned.work.lessons.clone();
        let fold = FoldBranch {
            branch: BranchRef::Id { branch: branch.clone(), session: None },
            message: if message.trim().is_empty() { NOTHING_SAID.to_owned() } else { message },
            outcome,
            teaching: Teaching { lessons, ..Teaching::NOTHING },
            idempotency_key: None,
        };
        if let Err(Error::Refused(_)) = self.engine.fold_branch(&self.who, fold.clone()).await {
            // Lessons that a return is refused for are learnt by nobody.
            self.engine.fold_branch(&self.who, FoldBranch { teaching: Teaching::NOTHING, ..fold }).await?;
        }
        self.engine.finish_learning().await;

        let used = self.files_of(&branch).await?;
        played.files = used.len();
        for given in &mut played.given {
            given.shared_files.retain(|name| used.contains(name));
            given.shared_files.dedup();
        }
        played.learnt = self.learnt_from(&session).await?;
        Ok(played)
    }

    /// The names of the files that a branch worked with.
    async fn files_of(&self, branch: &str) -> Result<BTreeSet<String>, Error> {
        let steps = self.engine.trajectory(&self.who, branch, None).await?.steps;
        let calls = steps.iter().filter_map(|step| match &step.event {
            Event::OperationSeen { operation, .. } => Some(operation.as_ref()),
            _ => None,
        });
        let work = BranchWork::of(calls);
        Ok(work.edited.iter().chain(&work.read).map(|path| file_name(path)).collect())
    }

    /// The titles of the memories that were made from a piece of work.
    async fn learnt_from(&self, session: &SessionId) -> Result<Vec<String>, Error> {
        let learnt = self.engine.session_memories(&self.who, session).await?.learnt;
        Ok(learnt.iter().map(|memory| memory.row.memory.lesson.title.as_str().to_owned()).collect())
    }
}

/// The last part of a path.
fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

fn cut(text: &str, chars_max: usize) -> String {
    text.chars().take(chars_max).collect()
}

/// The beginning and the end of a long result, which say whether it failed.
fn both_ends(result: &str) -> String {
    if result.len() <= RESULT_CHARS_MAX {
        return result.to_owned();
    }
    let half = RESULT_CHARS_MAX / 2;
    let head = &result[..result.floor_char_boundary(half)];
    let tail = &result[result.ceil_char_boundary(result.len() - half)..];
    format!("{head}\n{tail}")
}
