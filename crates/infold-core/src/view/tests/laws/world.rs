//! A client and a model that are made up, with an engine between them.

use serde_json::Value;

use super::super::text::{TestBlock, What, blocks, key, request, scrubber};
use super::checks::{Sent, check};
use super::engine::Engine;
use crate::transcript::Voice;
use crate::view::ScrubbedJson;
use crate::view::{
    BlockKind, LastAnswer, Reason, Replacement, RequestKind, ScriptedCall, StoredDecisions, ViewPlan, ViewRequest, plan,
};
use crate::{BranchId, Thread};

/// How often a request may be planned before it is sent.
const ROUNDS_MAX: usize = 8;

#[derive(Debug, Clone)]
pub enum Call {
    Read,
    Load,
    Open {
        inherits: bool,
    },
    Return {
        up: usize,
    },
    RefusedReturn,
    RollBack {
        which: usize,
    },
    /// A script that makes calls. The transcript does not show their answers.
    Script(Vec<Call>),
}

/// What the client puts beside a round's results, in the same entry, or inside of the last one.
#[derive(Debug, Clone)]
pub enum Beside {
    Nothing,
    Client,
    Person,
    File,
    Inside(Voice),
}

/// What comes behind a round's results, in an entry of its own.
#[derive(Debug, Clone)]
pub enum Behind {
    Nothing,
    Client,
    System,
    Person(usize),
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub thinks: bool,
    pub speaks: bool,
    pub calls: Vec<Call>,
    pub beside: Beside,
    pub behind: Behind,
}

#[derive(Debug, Clone)]
pub enum Step {
    Answer(Answer),
    TurnEnds { words: usize },
    BreaksOff { words: usize },
    Aside,
    Rewind { back: usize },
    Force { which: usize },
    Compact { works: bool },
    Rescue,
    LoseStore,
    Clear { which: usize },
}

pub struct World {
    pub said: Vec<TestBlock>,
    pub engine: Engine,
    /// Requests that the next one may extend.
    pub sent: Vec<Sent>,
    /// Reasoning, and all that was in front of it when it was made.
    pub thoughts: Vec<(String, Vec<String>)>,
    /// For each thing that the model said, the thread it was said in.
    pub made_in: Vec<(What, Thread)>,
    /// Rollbacks: how long the transcript was, to which branch, and where its opening is.
    pub rollbacks: Vec<(usize, BranchId, usize)>,
    pub inheriting: Vec<BranchId>,
    /// The calls that opened branches.
    pub openings: Vec<(BranchId, String)>,
    /// Whether reasoning may have to be left out.
    pub has_broken: bool,
    /// Whether only the store knows of some branches.
    pub(super) has_cleared: bool,
    last_answer: LastAnswer,
    is_flat: bool,
    shapes: u64,
    pub(super) count: usize,
}

impl World {
    pub fn new(is_flat: bool, shapes: u64) -> Self {
        let mut world = Self {
            said: Vec::new(),
            engine: Engine::default(),
            sent: Vec::new(),
            thoughts: Vec::new(),
            made_in: Vec::new(),
            rollbacks: Vec::new(),
            inheriting: Vec::new(),
            openings: Vec::new(),
            has_broken: false,
            has_cleared: false,
            last_answer: LastAnswer::Ended,
            is_flat,
            shapes,
            count: 0,
        };
        world.begin("fix the bug");
        world
    }

    pub(super) fn begin(&mut self, words: &str) {
        self.say(What::Client("project rules".into()));
        self.beside(What::Person(words.into()));
        self.say(What::System("rules".into()));
    }

    pub(super) fn next(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    /// What a person says: one of three things, so that the same is said again and again.
    fn person(words: usize) -> What {
        What::Person(["stop", "go on", "and now?"][words % 3].to_owned())
    }

    /// Says something in an entry of its own.
    pub(super) fn say(&mut self, what: What) {
        let entry = self.said.last().map_or(0, |said| said.entry + 1);
        self.said.push(TestBlock { entry, what });
    }

    /// Says something in the entry in front, unless entries hold one block each.
    fn beside(&mut self, what: What) {
        if self.is_flat {
            return self.say(what);
        }
        let entry = self.said.last().map_or(0, |said| said.entry);
        self.said.push(TestBlock { entry, what });
    }

    pub fn plan(&self, kind: RequestKind, known: &StoredDecisions) -> ViewPlan {
        let blocks = blocks(&self.said);
        let tools = ["mcp__infold__branch_return".to_owned()];
        let request = ViewRequest { last_answer: self.last_answer, ..request(&blocks, kind, &tools) };
        plan(&request, known, &key(), &scrubber())
    }

    pub fn step(&mut self, step: &Step) {
        match step {
            Step::Answer(answer) => self.answer(answer),
            Step::TurnEnds { words } => {
                self.request();
                let done = format!("done {}", self.next());
                self.model_says(What::Says(done));
                self.say(Self::person(*words));
            }
            Step::BreaksOff { words } => {
                self.request();
                let part = format!("part {}", self.next());
                self.model_says(What::Says(part));
                self.say(Self::person(*words));
                self.last_answer = LastAnswer::BrokeOff;
                self.request();
                self.last_answer = LastAnswer::Ended;
            }
            Step::Aside => {
                let len = self.said.len();
                self.say(What::Person("what is this about?".into()));
                self.send(RequestKind::Side);
                self.said.truncate(len);
            }
            Step::Rewind { back } => self.rewind(*back),
            Step::Force { which } => {
                let open: Vec<BranchId> =
                    self.engine.opened.iter().filter(|id| self.engine.is_open(id)).cloned().collect();
                if !open.is_empty() {
                    self.engine.force(&open[which % open.len()]);
                }
            }
            Step::Compact { works } => self.compact(*works),
            Step::Rescue => self.rescue(),
            Step::LoseStore => self.lose_store(),
            Step::Clear { which } => self.clear(*which),
        }
    }

    /// Sends a turn of the agent's loop. Gives the thread it was sent in.
    pub fn request(&mut self) -> Thread {
        self.send(RequestKind::Turn)
    }

    pub(super) fn send(&mut self, kind: RequestKind) -> Thread {
        let plan = self.plan_until_done(kind);
        check(self, &plan, kind);
        let sent = Sent::of(self, &plan);
        let thread = plan.thread.clone();
        if kind == RequestKind::Turn {
            self.sent.push(sent);
        }
        thread
    }

    /// Plans and does what the plan asks for, until it asks for nothing more.
    pub(super) fn plan_until_done(&mut self, kind: RequestKind) -> ViewPlan {
        for _ in 0..ROUNDS_MAX {
            let plan = self.plan(kind, &self.engine.known);
            if plan.actions.is_empty() {
                self.take_in(&plan);
                return self.plan(kind, &self.engine.known);
            }
            assert_ne!(kind, RequestKind::Side, "a side call changes nothing");
            plan.actions.iter().for_each(|action| self.engine.act(action));
        }
        panic!("a plan asks for more and more");
    }

    /// Replaces some of the results that are seen for the first time.
    fn take_in(&mut self, plan: &ViewPlan) {
        for &at in &plan.unseen {
            let said = self.said[at].clone();
            let block = said.block();
            let BlockKind::Result(result) = &block.kind else { panic!("only results are new") };
            let is_shaped = self.shapes > 0 && u64::from(result.content.0[0]) % 4 < self.shapes;
            if is_shaped && result.text.as_deref().is_some_and(|text| text.starts_with("content")) {
                self.rewrite(&result.call, at, Reason::Offloaded);
            }
        }
    }

    pub(super) fn rewrite(&mut self, call: &str, at: usize, reason: Reason) {
        let block = self.said[at].block();
        let BlockKind::Result(result) = &block.kind else { panic!("only results are shaped") };
        let remarks: Vec<String> = result.remarks.iter().map(|remark| format!(" ~{}", remark.text)).collect();
        let how = if reason == Reason::Rescued { "less" } else { "some" };
        let sent = ScrubbedJson::stored(format!("\"{how} of {call}{}\"", remarks.concat()));
        let rewrite = Replacement { content: result.content, sent, reason };
        self.engine.is_needed = true;
        self.engine.known.rewrites.insert(call.to_owned(), rewrite);
    }

    fn model_says(&mut self, what: What) {
        let thread = self.sent.last().map_or(Thread::Main, |sent| sent.thread.clone());
        self.made_in.push((what.clone(), thread));
        let is_first = !self.said.last().is_some_and(|said| said.block().kind.side() == crate::view::Side::Model);
        if is_first { self.say(what) } else { self.beside(what) }
    }

    fn answer(&mut self, answer: &Answer) {
        let mut thread = self.request();
        let before = self.sent.last().expect("it was sent").view.clone();
        let answer_from = self.said.len();
        if answer.thinks {
            let thought = format!("thought {}", self.next());
            self.model_says(What::Think(thought.clone()));
            self.thoughts.push((thought, before.clone()));
        }
        if answer.speaks {
            let words = format!("words {}", self.next());
            self.model_says(What::Says(words));
            let thought = format!("thought {}", self.next());
            let said = self.said[answer_from..].iter().map(|said| format!("{:?}", said.what));
            self.thoughts.push((thought.clone(), before.iter().cloned().chain(said).collect()));
            self.model_says(What::Think(thought));
        }
        let mut results = Vec::new();
        for call in &answer.calls {
            let id = format!("call_{}", self.next());
            let opened = self.engine.opened.len();
            let (tool, arguments, text, loads) = match call {
                Call::Script(calls) => self.run_script(&id, calls, &mut thread),
                call => self.carry_out(call, &mut thread, self.said.len()),
            };
            self.openings.extend(self.engine.opened[opened..].iter().map(|branch| (branch.clone(), id.clone())));
            self.model_says(What::Call { id: id.clone(), tool: tool.to_owned(), arguments });
            results.push(What::Result { call: id, text, loads, remarks: Vec::new() });
        }
        for (at, result) in results.into_iter().enumerate() {
            if at == 0 { self.say(result) } else { self.beside(result) }
        }
        match answer.beside {
            Beside::Nothing => {}
            Beside::Client => {
                let words = What::Client(format!("reminder {}", self.next()));
                self.beside(words);
            }
            Beside::Person => {
                let words = What::Person(format!("queued {}", self.next()));
                self.beside(words);
            }
            Beside::File => {
                let words = What::Attachment(format!("file {}", self.next()));
                self.beside(words);
            }
            Beside::Inside(voice) => {
                let words = format!("inside {}", self.next());
                if let Some(What::Result { remarks, .. }) = self.said.last_mut().map(|said| &mut said.what) {
                    remarks.push((voice, words));
                }
            }
        }
        match answer.behind {
            Behind::Nothing => {}
            Behind::Client => self.say(What::Client("news".to_owned())),
            Behind::System => {
                let words = What::System(format!("rule {}", self.next()));
                self.say(words);
            }
            Behind::Person(words) => self.say(Self::person(words)),
        }
    }

    /// Runs a script, which prints something else than what our tools answered.
    fn run_script(
        &mut self,
        id: &str,
        calls: &[Call],
        thread: &mut Thread,
    ) -> (&'static str, String, String, Vec<String>) {
        for call in calls {
            let (tool, arguments, answer, _) = self.carry_out(call, thread, self.said.len());
            if tool.starts_with("mcp__infold__") {
                let call = ScriptedCall { tool: tool.to_owned(), arguments, answer };
                self.engine.known.scripted.entry(id.to_owned()).or_default().push(call);
                // Only the store knows of it.
                self.engine.is_needed = true;
                self.has_cleared = true;
            }
        }
        let printed = format!("Script completed\nWall time 0.1 seconds\nOutput:\nprinted {}", self.count);
        ("exec", "await tools.mcp__infold__branch_create({});".to_owned(), printed, Vec::new())
    }

    /// Carries a call out. The thread changes as the engine has it.
    fn carry_out(
        &mut self,
        call: &Call,
        thread: &mut Thread,
        at: usize,
    ) -> (&'static str, String, String, Vec<String>) {
        let plain = |tool, text: String| (tool, "{}".to_owned(), text, Vec::new());
        let ours = |tool, body: Value| (tool, "{\"description\":\"look\"}".to_owned(), body.to_string(), Vec::new());
        match call {
            Call::Read | Call::Script(_) => plain("read_file", format!("content {}", self.count)),
            Call::Load => {
                ("ToolSearch", "{}".to_owned(), format!("tools {}", self.count), vec![format!("tool_{}", self.count)])
            }
            Call::Open { inherits } if self.engine.opened.len() < 200 => {
                let body = self.engine.open(thread.clone(), *inherits);
                if *inherits {
                    self.inheriting.extend(self.engine.opened.last().cloned());
                }
                ours("mcp__infold__branch_create", body)
            }
            Call::Open { .. } => plain("read_file", "enough".to_owned()),
            Call::Return { up } => {
                let mut chain: Vec<BranchId> = Vec::new();
                let mut above = thread.clone();
                while let Thread::Branch(id) = above {
                    above = self.engine.parents.get(&id).cloned().unwrap_or(Thread::Main);
                    chain.push(id);
                }
                let Some(id) = (!chain.is_empty()).then(|| chain[up.saturating_sub(1) % chain.len()].clone()) else {
                    return plain("read_file", format!("content {}", self.count));
                };
                *thread = self.engine.parents.get(&id).cloned().unwrap_or(Thread::Main);
                let body = self.engine.fold(&id, &format!("message {}", self.count));
                ours("mcp__infold__branch_return", body)
            }
            Call::RefusedReturn => {
                let body = serde_json::json!({"code": "bad", "status": 400, "message": "no message"});
                ours("mcp__infold__branch_return", body)
            }
            Call::RollBack { which } => {
                let opened = &self.engine.opened;
                let Some(id) = (!opened.is_empty()).then(|| opened[which % opened.len()].clone()) else {
                    return plain("read_file", format!("content {}", self.count));
                };
                let body = self.engine.roll_back(&id);
                if let (true, Some(opening)) = (body.get("restored").is_some(), self.opening_of(&id)) {
                    *thread = Thread::Branch(id.clone());
                    self.rollbacks.push((at, id, opening));
                }
                ours("mcp__infold__context_rollback", body)
            }
        }
    }

    /// The block of the answer to a branch's opening.
    pub fn opening_of(&self, id: &BranchId) -> Option<usize> {
        let (_, opening) = self.openings.iter().find(|(branch, _)| branch == id)?;
        self.said.iter().position(|said| matches!(&said.what, What::Result { call, .. } if call == opening))
    }
}
