//! A client that remembers every answer it got, and notices when something is missing or there twice.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail, ensure};
use infold_testkit::{CallAnswer, CallError, Era, McpHttp, Rng};
use serde_json::{Value, json};

/// A budget that no branch uses up, however often the test looks at it.
pub const BUDGET_TOKENS: u64 = 100_000_000;

/// A time that no branch sees the end of.
pub const TIMEOUT_SECONDS: u64 = 86_400;

/// One call in so many brings a lesson, if it is a fold.
const LESSON_EVERY: usize = 8;

/// Open branches that an actor keeps at most.
const OPEN_MAX: usize = 6;

/// A call, with all it takes to repeat it.
#[derive(Debug, Clone)]
struct Call {
    key: String,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Open { description: String },
    Fold { branch: String, message: String, lesson: Option<String> },
    RollBack { branch: String },
}

/// What an actor knows of a branch.
#[derive(Debug, Clone)]
struct Known {
    id: String,
    description: String,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Active,
    Folded,
    Discarded,
}

impl State {
    /// The name that `context_list_branches` has for this state.
    fn listed(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Folded => "folded",
            Self::Discarded => "discarded",
        }
    }
}

/// Everything that was acknowledged in one session, in the order of the branches' opening.
#[derive(Debug, Clone, Default)]
pub struct Finished {
    session: String,
    branches: Vec<Known>,
    /// Calls that were acknowledged, with their answers.
    answered: Vec<(Call, Value)>,
}

/// A client with a session of its own.
pub struct Actor {
    pub number: usize,
    /// Calls that were acknowledged.
    pub answered: usize,
    /// Calls that got no answer, and were made again.
    pub repeated: usize,
    rng: Rng,
    sessions: usize,
    calls: usize,
    known: Finished,
    unanswered: Option<Call>,
}

impl Actor {
    /// An actor that has done nothing yet.
    pub fn new(number: usize, rng: Rng) -> Self {
        let known = Finished::default();
        let mut actor = Self { number, answered: 0, repeated: 0, rng, sessions: 0, calls: 0, known, unanswered: None };
        actor.start_new_session();
        actor
    }

    /// The era that the actor speaks: half of them speak the older one.
    pub fn era(&self) -> Era {
        if self.number.is_multiple_of(2) { Era::Legacy } else { Era::Modern }
    }

    /// Leaves the session for a new one, and returns what is known of the old one.
    pub fn start_new_session(&mut self) -> Finished {
        self.sessions += 1;
        let session = format!("kill-{}-{}", self.number, self.sessions);
        std::mem::replace(&mut self.known, Finished { session, ..Finished::default() })
    }

    /// Makes one call after another until the connection is lost. A refusal is an error.
    pub async fn work(&mut self, client: &McpHttp, calls: &AtomicUsize) -> Result<()> {
        loop {
            let call = self.next_call();
            self.unanswered = Some(call.clone());
            calls.fetch_add(1, Ordering::Relaxed);
            match self.known.make(client, &call).await {
                Ok(answer) => self.acknowledged(call, &answer)?,
                Err(CallError::Lost { .. } | CallError::Malformed { .. }) => return Ok(()),
                Err(error @ CallError::Http { .. }) => return Err(error.into()),
            }
        }
    }

    /// Makes the call that got no answer once more, with the same key.
    pub async fn repeat_unanswered(&mut self, client: &McpHttp) -> Result<()> {
        if let Some(call) = self.unanswered.clone() {
            let answer = self.known.make(client, &call).await?;
            self.repeated += 1;
            self.acknowledged(call, &answer)?;
        }
        Ok(())
    }

    /// Makes one acknowledged call again, whose answer must be the same, and looks at the session.
    pub async fn check(&mut self, client: &McpHttp) -> Result<()> {
        if let Some((call, before)) = self.rng.pick(&self.known.answered) {
            let now = accepted(call, &self.known.make(client, call).await?)?;
            ensure!(now == *before, "{call:?} was answered {before}, and with the same key {now}");
        }
        self.known.check(client).await
    }

    fn next_call(&mut self) -> Call {
        self.calls += 1;
        let key = format!("{}-{}", self.known.session, self.calls);
        let open = self.known.in_state(State::Active);
        let folded = self.known.in_state(State::Folded);
        let choice = self.rng.below(10);
        let picked_open = self.rng.pick(&open).cloned();
        let picked_folded = self.rng.pick(&folded).cloned();
        let what = match (choice, picked_open, picked_folded) {
            (0, _, Some(branch)) => What::RollBack { branch },
            (5.., Some(branch), _) => self.fold(branch, &key),
            (_, Some(branch), _) if open.len() >= OPEN_MAX => self.fold(branch, &key),
            _ => What::Open { description: format!("opened by {key}") },
        };
        Call { key, what }
    }

    /// A fold, some of which bring a lesson that no other is like.
    fn fold(&self, branch: String, key: &str) -> What {
        let lesson = self.calls.is_multiple_of(LESSON_EVERY).then(|| {
            let letter = |c: char| c.to_digit(10).map_or('x', |digit| char::from(b'a' + digit as u8));
            key.chars().filter(|c| !c.is_alphabetic()).map(letter).collect()
        });
        What::Fold { branch, message: format!("done by {key}"), lesson }
    }

    fn acknowledged(&mut self, call: Call, answer: &CallAnswer) -> Result<()> {
        let body = accepted(&call, answer)?;
        self.known.learn(&call, &body)?;
        self.known.answered.push((call, body));
        self.unanswered = None;
        self.answered += 1;
        Ok(())
    }
}

impl Finished {
    fn project(&self) -> String {
        format!("/projects/{}", self.session)
    }

    fn in_state(&self, state: State) -> Vec<String> {
        self.branches.iter().filter(|branch| branch.state == state).map(|branch| branch.id.clone()).collect()
    }

    async fn make(&self, client: &McpHttp, call: &Call) -> Result<CallAnswer, CallError> {
        let (tool, mut arguments) = match &call.what {
            What::Open { description } => {
                let arguments = json!({
                    "session_id": self.session, "description": description, "parent_branch_id": "main",
                    "budget": BUDGET_TOKENS, "timeout_seconds": TIMEOUT_SECONDS,
                });
                ("branch_create", arguments)
            }
            What::Fold { branch, message, lesson } => {
                let lesson = lesson.iter().map(|word| {
                    json!({"title": title(word), "lesson": format!("{word}three {word}four {word}five {word}six")})
                });
                let lessons: Vec<Value> = lesson.collect();
                ("branch_return", json!({"branch_id": branch, "message": message, "lessons": lessons}))
            }
            What::RollBack { branch } => {
                let project = self.project();
                let arguments = json!({"project_path": project, "session_id": self.session, "branch_id": branch});
                ("context_rollback", arguments)
            }
        };
        arguments["idempotency_key"] = json!(call.key);
        client.call(tool, arguments).await
    }

    /// Notes what an answer says has happened.
    fn learn(&mut self, call: &Call, body: &Value) -> Result<()> {
        match &call.what {
            What::Open { description } => {
                let id = text(body, "branch_id")?;
                self.branches.push(Known { id, description: description.clone(), state: State::Active });
            }
            What::Fold { branch, message, .. } => {
                ensure!(text(body, "message")? == *message, "{call:?} returned another message: {body}");
                self.known(branch)?.state = State::Folded;
            }
            What::RollBack { branch } => {
                for discarded in body["branches_discarded"].as_array().into_iter().flatten() {
                    self.known(discarded.as_str().unwrap_or_default())?.state = State::Discarded;
                }
                self.known(branch)?.state = State::Active;
            }
        }
        Ok(())
    }

    fn known(&mut self, id: &str) -> Result<&mut Known> {
        let branch = self.branches.iter_mut().find(|branch| branch.id == id);
        branch.with_context(|| format!("{id} was named and never opened"))
    }

    /// The titles of all lessons that were acknowledged.
    pub fn lessons(&self) -> impl Iterator<Item = String> {
        self.answered.iter().filter_map(|(call, _)| match &call.what {
            What::Fold { lesson: Some(word), .. } => Some(title(word)),
            What::Fold { lesson: None, .. } | What::Open { .. } | What::RollBack { .. } => None,
        })
    }

    /// Compares the session with what is known of it: nothing may be missing, nothing may be there
    /// twice, and nothing may be in another state.
    pub async fn check(&self, client: &McpHttp) -> Result<()> {
        if self.branches.is_empty() {
            return Ok(());
        }
        let arguments = json!({"project_path": self.project(), "session_id": self.session, "limit": 1_000});
        let answer = client.call("context_list_branches", arguments).await?;
        ensure!(answer.is_ok(), "the branches of {} cannot be listed: {}", self.session, answer.summary());
        let listed = answer.field("branches");
        let listed: Vec<String> = listed.as_array().into_iter().flatten().map(listed_line).collect();
        let known: Vec<String> = self.branches.iter().map(Known::line).collect();
        if listed != known {
            bail!("{}: {}", self.session, difference(&known, &listed));
        }
        Ok(())
    }
}

fn title(word: &str) -> String {
    format!("{word}one {word}two")
}

impl Known {
    fn line(&self) -> String {
        format!("{} {} ({})", self.id, self.state.listed(), self.description)
    }
}

fn listed_line(branch: &Value) -> String {
    let field = |name: &str| branch[name].as_str().unwrap_or("?").to_owned();
    format!("{} {} ({})", field("id"), field("status"), field("description"))
}

/// What one list has and the other has not.
fn difference(known: &[String], listed: &[String]) -> String {
    let missing: Vec<&String> = known.iter().filter(|line| !listed.contains(line)).collect();
    let extra: Vec<&String> = listed.iter().filter(|line| !known.contains(line)).collect();
    format!("acknowledged and not there: {missing:#?}\nthere and not acknowledged: {extra:#?}")
}

/// The body of an answer that did what it was asked to.
fn accepted(call: &Call, answer: &CallAnswer) -> Result<Value> {
    ensure!(answer.is_ok(), "{call:?} was refused: {}", answer.summary());
    answer.structured.clone().with_context(|| format!("{call:?} was answered without structure"))
}

fn text(body: &Value, field: &str) -> Result<String> {
    let text = body[field].as_str().with_context(|| format!("{field} is missing in {body}"))?;
    Ok(text.to_owned())
}
