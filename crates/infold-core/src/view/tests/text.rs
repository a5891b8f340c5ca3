//! A small text form of transcripts, and of what a plan makes of them.
//!
//!     system: rules                      an instruction
//!     client: words                      what the client says on its own account
//!     user: words                        what a person says
//!     think: words                       reasoning, in front of what the model says next
//!     says: words                        what the model says
//!     call tool {key: value} -> answer   a call and its result, in two entries
//!     + call tool {…} -> answer          one more call in the same message
//!     + user: words                      words in the entry in front of this
//!     file: words                        what the client shows of a file
//!     ... -> answer ~user: words         words inside of the result, behind what the tool printed
//!
//! Calls have the ids c1, c2 and so on; `br_1` is written for the first branch's real id, in and out. `-> br_1`
//! answers an opening, `-> ok` a return or a rollback, `-> refused` is a refusal.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Value, json};

use crate::transcript::Voice;
use crate::view::{
    Anchor, Block, BlockKey, BlockKind, BranchState, CallBlock, ForcedFold, LastAnswer, PlanAction, Remark,
    RequestKind, ResultBlock, Side, StoredBranch, StoredDecisions, ThreadSource, TranscriptStart, ViewPiece, ViewPlan,
    ViewRequest, place, plan,
};
use crate::{BranchId, EndReason, IdKey, Scrubber, ToolEffect};

/// One block of a made-up transcript, which owns its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestBlock {
    pub entry: usize,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    System(String),
    Client(String),
    Person(String),
    Think(String),
    Says(String),
    Call { id: String, tool: String, arguments: String },
    Result { call: String, text: String, loads: Vec<String>, remarks: Vec<(Voice, String)> },
    Attachment(String),
    Other(String),
}

pub fn key() -> IdKey {
    IdKey::derive(&[7; 32])
}

pub fn scrubber() -> Scrubber {
    Scrubber::new([9; 32])
}

/// The id of the n-th branch.
pub fn branch(number: u8) -> BranchId {
    BranchId::mint([number; 8], &key())
}

pub fn block_key(text: &str) -> BlockKey {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    BlockKey(bytes)
}

impl TestBlock {
    pub fn block(&self) -> Block<'_> {
        let kind = match &self.what {
            What::System(_) => BlockKind::Instruction,
            What::Client(_) => BlockKind::User { voice: Voice::Client },
            What::Person(_) => BlockKind::User { voice: Voice::Person },
            What::Think(_) => BlockKind::Reasoning,
            What::Says(_) => BlockKind::Assistant,
            What::Call { id, tool, arguments } => BlockKind::Call(CallBlock {
                id: Cow::Borrowed(id),
                tool: Cow::Borrowed(tool),
                arguments: Some(Cow::Borrowed(arguments)),
            }),
            What::Result { call, text, loads, remarks } => BlockKind::Result(ResultBlock {
                call: Cow::Borrowed(call),
                content: block_key(text),
                content_bytes: text.len(),
                text: Some(Cow::Borrowed(text)),
                loads: loads.iter().map(|tool| Cow::Borrowed(tool.as_str())).collect(),
                remarks: remarks.iter().map(|(voice, text)| remark(*voice, text)).collect(),
            }),
            What::Attachment(_) => BlockKind::Attachment,
            What::Other(_) => BlockKind::Other { side: Side::User },
        };
        Block { entry: self.entry, key: block_key(&format!("{:?}", self.what)), kind }
    }
}

fn remark(voice: Voice, text: &str) -> Remark<'_> {
    Remark { key: block_key(text), voice, text: Cow::Borrowed(text) }
}

pub fn blocks(said: &[TestBlock]) -> Vec<Block<'_>> {
    said.iter().map(TestBlock::block).collect()
}

/// Reads a transcript in the text form.
pub fn transcript(text: &str) -> Vec<TestBlock> {
    let mut reader = Reader::default();
    text.lines().map(str::trim).filter(|line| !line.is_empty()).for_each(|line| reader.line(line));
    reader.said
}

#[derive(Default)]
struct Reader {
    said: Vec<TestBlock>,
    calls: usize,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let (joins, line) = line.strip_prefix("+ ").map_or((false, line), |rest| (true, rest));
        if let Some(call) = line.strip_prefix("call ") {
            return self.call(call, joins);
        }
        let (who, words) = line.split_once(':').expect("a line says who speaks");
        let words = words.trim().to_owned();
        let what = match who {
            "system" => What::System(words),
            "client" => What::Client(words),
            "user" => What::Person(words),
            "think" => What::Think(words),
            "says" => What::Says(words),
            "other" => What::Other(words),
            "file" => What::Attachment(words),
            _ => panic!("nobody is called {who}"),
        };
        let is_model = matches!(what, What::Think(_) | What::Says(_));
        let entry = if joins || (is_model && self.model_speaks()) { self.last() } else { self.next() };
        self.said.push(TestBlock { entry, what });
    }

    fn model_speaks(&self) -> bool {
        self.said.last().is_some_and(|said| said.block().kind.side() == Side::Model)
    }

    fn last(&self) -> usize {
        self.said.last().expect("something comes before it").entry
    }

    fn next(&self) -> usize {
        self.said.last().map_or(0, |said| said.entry + 1)
    }

    fn call(&mut self, line: &str, joins: bool) {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        let (call, answer) = line.split_once(" -> ").expect("a call has an answer");
        let (tool, arguments) = call.split_once(' ').unwrap_or((call, "{}"));
        let arguments = arguments_of(arguments);
        let mut parts = answer.split(" ~");
        let (text, loads) = answer_of(tool, &arguments, parts.next().unwrap_or_default());
        let remarks = parts.map(|part| match part.split_once(": ") {
            Some(("user", words)) => (Voice::Person, words.to_owned()),
            Some(("client", words)) => (Voice::Client, words.to_owned()),
            _ => panic!("nobody says {part}"),
        });
        let remarks: Vec<(Voice, String)> = remarks.collect();
        let call = What::Call { id: id.clone(), tool: tool.to_owned(), arguments: arguments.to_string() };
        let result = What::Result { call: id, text, loads, remarks };
        if joins {
            let results =
                self.said.iter().rposition(|said| matches!(said.what, What::Result { .. })).expect("a result");
            let first = (0..results).rfind(|&at| matches!(self.said[at].what, What::Call { .. })).expect("a call");
            let (model, user) = (self.said[first].entry, self.said[results].entry);
            self.said.insert(results + 1, TestBlock { entry: user, what: result });
            self.said.insert(first + 1, TestBlock { entry: model, what: call });
        } else {
            let entry = if self.model_speaks() { self.last() } else { self.next() };
            self.said.push(TestBlock { entry, what: call });
            self.said.push(TestBlock { entry: entry + 1, what: result });
        }
    }
}

fn arguments_of(text: &str) -> Value {
    let inside = text.trim().trim_start_matches('{').trim_end_matches('}');
    let pairs = inside.split(", ").filter_map(|pair| pair.split_once(':'));
    let fields = pairs.map(|(name, value)| {
        let name = if name.trim() == "branch" { "branch_id" } else { name.trim() };
        (name.to_owned(), Value::String(with_ids(value.trim())))
    });
    Value::Object(fields.collect())
}

/// What a tool answered, and the tools that it made known.
fn answer_of(tool: &str, arguments: &Value, answer: &str) -> (String, Vec<String>) {
    let id = |name: &str| branch(name.trim_start_matches("br_").parse().expect("a number"));
    if let Some(tools) = answer.strip_prefix("loads ") {
        return (answer.to_owned(), tools.split(", ").map(str::to_owned).collect());
    }
    let words: Vec<&str> = answer.split(' ').collect();
    let body = match words.as_slice() {
        [opened, rest @ ..] if opened.starts_with("br_") && opened.len() < 6 => {
            let mut body = json!({"branch_id": id(opened), "budget_allocated": 8192, "depth": 1});
            if rest.contains(&"inherit") {
                body["isolation"] = json!("inherit");
            }
            body
        }
        ["ok", ..] if tool.ends_with("branch_return") => {
            json!({"success": true, "tokens_used": 5, "message": arguments["message"], "branch_id": arguments["branch_id"], "status": "completed"})
        }
        ["ok", ..] if tool.ends_with("context_return") => {
            json!({"folded_at": "now", "branch_id": arguments["branch_id"], "status": "folded", "message": arguments["message"]})
        }
        ["failed"] => {
            json!({"success": true, "message": arguments["message"], "branch_id": arguments["branch_id"], "status": "failed"})
        }
        ["ok", discarded @ ..] if tool.ends_with("context_rollback") => {
            let discarded: Vec<BranchId> =
                discarded.iter().filter(|name| name.starts_with("br_")).map(|name| id(name)).collect();
            json!({"rolled_back_to": arguments["branch_id"], "branches_discarded": discarded, "restored": true, "generation": 2})
        }
        ["refused"] => {
            json!({"code": "refused", "status": 409, "message": "no", "data": {"branch_id": arguments["branch_id"]}})
        }
        _ => return (with_ids(answer), Vec::new()),
    };
    (body.to_string(), Vec::new())
}

/// Replaces `br_1` and so on by the branches' real ids.
fn with_ids(text: &str) -> String {
    (1..=9).fold(text.to_owned(), |text, number| text.replace(&format!("br_{number}"), branch(number).as_str()))
}

fn without_ids(text: &str) -> String {
    (1..=9).fold(text.to_owned(), |text, number| text.replace(branch(number).as_str(), &format!("br_{number}")))
}

/// Stored decisions, to be added one by one.
pub fn known() -> Stored {
    Stored(StoredDecisions::default())
}

#[derive(Debug, Default, Clone)]
pub struct Stored(pub StoredDecisions);

impl Stored {
    pub fn open(self, number: u8, partial: &str) -> Self {
        self.with(number, 1, BranchState::Open { partial: partial.to_owned() })
    }

    pub fn ended(self, number: u8, reason: EndReason, result: &str) -> Self {
        self.with(number, 1, BranchState::Ended { reason, result: result.to_owned() })
    }

    pub fn with(mut self, number: u8, generation: u32, state: BranchState) -> Self {
        self.0.branches.insert(branch(number), StoredBranch { generation, state });
        self
    }

    pub fn ending(mut self, number: u8, generation: u32, place: Anchor, result: &str) -> Self {
        self.0.endings.push(ForcedFold { branch: branch(number), generation, place, result: result.to_owned() });
        self
    }
}

pub fn after(call: &str) -> Anchor {
    Anchor::After { call: call.to_owned() }
}

/// The place in front of the n-th time that a person says something, counted from 1.
pub fn before_person(text: &str, words: &str, nth: usize) -> Anchor {
    let said = transcript(text);
    let is_wanted = |said: &TestBlock| matches!(&said.what, What::Person(person) if person == words);
    let times: Vec<usize> = said.iter().enumerate().filter(|(_, said)| is_wanted(said)).map(|(at, _)| at).collect();
    place::before(&blocks(&said), times[nth - 1])
}

/// The view of a transcript's last request, without a store.
pub fn check(text: &str) -> String {
    let said = transcript(text);
    let planned = plan_of(&said, RequestKind::Turn, &StoredDecisions::default());
    view(&said, &planned)
}

/// The view, with the plan's actions behind it, each in a line with an exclamation mark.
pub fn check_with(text: &str, kind: RequestKind, known: &Stored) -> String {
    let said = transcript(text);
    let planned = plan_of(&said, kind, &known.0);
    let mut lines = view(&said, &planned);
    // Nearly every plan of a transcript that is seen for the first time asks for this.
    let is_notable = |action: &&PlanAction| !matches!(action, PlanAction::Remember(_));
    for action in planned.actions.iter().filter(is_notable) {
        lines.push_str(&format!("\n! {}", action_text(&said, action)));
    }
    lines
}

/// The same transcript with each block as an entry of its own, as Responses has it.
pub fn check_flat(text: &str) -> String {
    let mut said = transcript(text);
    said.iter_mut().enumerate().for_each(|(at, said)| said.entry = at);
    let planned = plan_of(&said, RequestKind::Turn, &StoredDecisions::default());
    view(&said, &planned)
}

/// A request behind an answer that ended, in a conversation that was not compacted.
pub fn request<'a>(blocks: &'a [Block<'a>], kind: RequestKind, tools: &'a [String]) -> ViewRequest<'a> {
    ViewRequest {
        blocks,
        kind,
        tools,
        last_answer: LastAnswer::Ended,
        beginning: TranscriptStart::Words,
        thread: ThreadSource::Transcript,
    }
}

pub fn plan_of(said: &[TestBlock], kind: RequestKind, known: &StoredDecisions) -> ViewPlan {
    let blocks = blocks(said);
    plan(&request(&blocks, kind, &[]), known, &key(), &scrubber())
}

fn action_text(said: &[TestBlock], action: &PlanAction) -> String {
    let place = |place: &Anchor| match place {
        Anchor::After { call } => format!("after {call}"),
        Anchor::Before { block } => {
            let blocks = blocks(said);
            let at = (0..said.len()).find(|&at| place::key(&blocks, at) == *block).expect("the block is there");
            format!("before {}", piece_text(said, &HashMap::new(), &ViewPiece::Keep(at)))
        }
    };
    let text = match action {
        PlanAction::Interrupt { branch, place: at } => format!("interrupt {branch} {}", place(at)),
        PlanAction::End { branch, place: at } => format!("end {branch} {}", place(at)),
        PlanAction::Reopen(branch) => format!("reopen {branch}"),
        PlanAction::Adopt { branch, parent, .. } => format!("adopt {branch} below {parent}"),
        PlanAction::Lose(branch) => format!("lose {branch}"),
        PlanAction::Restart(_) => "start anew".to_owned(),
        PlanAction::Continue(at) => {
            format!("hear {}", place(&Anchor::Before { block: *at }).trim_start_matches("before "))
        }
        PlanAction::Remember(answers) => format!("remember {}", answers.len()),
    };
    without_ids(&text)
}

/// What the model gets to see, a line for each piece.
pub fn view(said: &[TestBlock], plan: &ViewPlan) -> String {
    let tools: HashMap<&str, &str> = said
        .iter()
        .filter_map(|said| match &said.what {
            What::Call { id, tool, .. } => Some((id.as_str(), tool.as_str())),
            _ => None,
        })
        .collect();
    let lines: Vec<String> = plan.pieces.iter().map(|piece| piece_text(said, &tools, piece)).collect();
    without_ids(&lines.join("\n"))
}

fn piece_text(said: &[TestBlock], tools: &HashMap<&str, &str>, piece: &ViewPiece) -> String {
    match piece {
        ViewPiece::Keep(at) => match &said[*at].what {
            What::System(words) => format!("system: {words}"),
            What::Client(words) => format!("client: {words}"),
            What::Person(words) => format!("user: {words}"),
            What::Think(words) => format!("think: {words}"),
            What::Says(words) => format!("says: {words}"),
            What::Other(words) => format!("other: {words}"),
            What::Attachment(words) => format!("file: {words}"),
            What::Call { id, tool, .. } => format!("call {tool} ({id})"),
            What::Result { call, text, .. } if ToolEffect::of(tools[call.as_str()]).is_some() => {
                format!("  {call} -> its own answer, {} bytes", text.len())
            }
            What::Result { call, text, remarks, .. } => {
                let remarks = remarks.iter().map(|(_, words)| format!(" ~{words}"));
                format!("  {call} -> {text}{}", remarks.collect::<String>())
            }
        },
        ViewPiece::Content { block, json } => {
            format!("  {} => {}", call_of(said, *block), String::from_utf8_lossy(json))
        }
        ViewPiece::Text { block, text } => format!("  {} -> {}", call_of(said, *block), short(text)),
        ViewPiece::Words { block, text } => format!("block {block} says {text}"),
        ViewPiece::Quote { block, json: None, head } => format!("infold: {head} {}", text_of(said, *block)),
        ViewPiece::Quote { json: Some(json), head, .. } => format!("infold: {head} {}", String::from_utf8_lossy(json)),
        ViewPiece::Say { entry: Some(entry), text } => format!("infold in entry {entry}: {}", short(text)),
        ViewPiece::Say { entry: None, text } => format!("infold: {}", short(text)),
    }
}

fn call_of(said: &[TestBlock], at: usize) -> &str {
    match &said[at].what {
        What::Result { call, .. } => call,
        other => panic!("{other:?} has no content to change"),
    }
}

fn text_of(said: &[TestBlock], at: usize) -> &str {
    match &said[at].what {
        What::Result { text, .. } => text,
        other => panic!("{other:?} is no result"),
    }
}

/// A text in one line. A brief is shortened to its branch and task.
fn short(text: &str) -> String {
    if text.contains("You are working on one sub-task") {
        let task = text.lines().find_map(|line| line.strip_prefix("Task: ")).unwrap_or("no task");
        return format!("(brief of {}: {task})", &text["[branch ".len()..text.find(']').unwrap_or(0)]);
    }
    text.replace('\n', " / ")
}
