//! What must hold for every request that the made-up client sends.

use std::collections::BTreeSet;

use super::super::text::{TestBlock, What};
use super::world::World;
use crate::view::{PlanAction, Reason, RequestKind, Restart, Side, StoredDecisions, ViewPiece, ViewPlan, runs_scripts};
use crate::{BranchId, Thread, ToolEffect};

/// A request that was sent.
#[derive(Debug, Clone)]
pub struct Sent {
    pub thread: Thread,
    pub restart_here: Option<Restart>,
    /// How many blocks the transcript had then.
    pub len: usize,
    /// What the model was sent, piece by piece, as it would be in bytes.
    pub view: Vec<String>,
}

impl Sent {
    pub fn of(world: &World, plan: &ViewPlan) -> Self {
        Self {
            thread: plan.thread.clone(),
            restart_here: plan.restart_here.clone(),
            len: world.said.len(),
            view: view(&world.said, plan),
        }
    }
}

/// A plan's pieces as texts that can be compared: the same text means the same bytes.
fn view(said: &[TestBlock], plan: &ViewPlan) -> Vec<String> {
    plan.pieces
        .iter()
        .map(|piece| match piece {
            ViewPiece::Keep(at) => format!("{:?}", said[*at].what),
            ViewPiece::Content { block, json } => {
                format!("{} is {}", call_of(said, *block), String::from_utf8_lossy(json))
            }
            ViewPiece::Text { block, text } => format!("{} says {text}", call_of(said, *block)),
            ViewPiece::Words { block, text } => format!("{block} says {text}"),
            ViewPiece::Quote { block, json, head } => {
                let json = json.as_ref().map(|json| String::from_utf8_lossy(json).into_owned());
                let text = json.unwrap_or_else(|| format!("{:?}", said[*block].what));
                format!("infold quotes {head} {text}")
            }
            ViewPiece::Say { text, .. } => format!("infold says {text}"),
        })
        .collect()
}

fn call_of(said: &[TestBlock], at: usize) -> &str {
    match &said[at].what {
        What::Result { call, .. } => call,
        other => panic!("{other:?} has no content to change"),
    }
}

pub fn check(world: &World, plan: &ViewPlan, kind: RequestKind) {
    assert!(plan.actions.is_empty(), "what a plan asks for was done: {:?}", plan.actions);
    calls_and_results_are_not_parted(world, plan);
    reasoning_has_its_prefix(world, plan);
    what_no_edit_names_is_kept(world, plan);
    what_was_made_elsewhere_is_not_shown(world, plan);
    what_was_made_here_is_shown(world, plan);
    what_was_just_said_is_shown(world, plan, kind);
    what_anybody_said_is_in_the_main_thread(world, plan, kind);
    planning_again_gives_the_same(world, plan, kind);
    assert_eq!(plan.pieces.last().map(|piece| side(&world.said, piece)), Some(Side::User), "the user's side is last");
    if kind != RequestKind::Compaction {
        an_earlier_request_is_extended(world, plan);
    }
}

fn side(said: &[TestBlock], piece: &ViewPiece) -> Side {
    match piece {
        ViewPiece::Keep(at) => said[*at].block().kind.side(),
        ViewPiece::Content { .. }
        | ViewPiece::Text { .. }
        | ViewPiece::Words { .. }
        | ViewPiece::Quote { .. }
        | ViewPiece::Say { .. } => Side::User,
    }
}

/// Each request extends, or cuts back and extends, one of the session's earlier ones. It is cut back where a
/// rollback has opened its thread again since, and nowhere else. Behind the cut the words that were said meanwhile are
/// repeated, in their order; nothing else that was there comes again.
fn an_earlier_request_is_extended(world: &World, plan: &ViewPlan) {
    let now = view(&world.said, plan);
    let Some(base) = base(world, &plan.thread).or_else(|| first_of_branch(world, plan)) else {
        return;
    };
    let is_opened_again = world.rollbacks.iter().any(|(at, to, _)| plan.thread.branch() == Some(to) && base.len <= *at);
    let shared = now.iter().zip(&base.view).take_while(|(now, then)| now == then).count();
    if is_opened_again && shared < base.view.len() {
        let again = now[shared..].iter().find(|piece| !is_words(piece) && base.view[shared..].contains(piece));
        assert_eq!(again, None, "edited in the middle: {}\n{:#?}\n{:#?}", plan.thread, base.view, now);
        return;
    }
    let is_longer = now.len() > base.view.len() || world.said.len() == base.len || plan.edits_waiting();
    assert_eq!(shared, base.view.len(), "not extended: {}\n{:#?}\n{:#?}", plan.thread, base.view, now);
    assert!(is_longer, "nothing was added to {:#?}", base.view);
}

/// Whether a piece is what a person or a client said, or a receipt.
fn is_words(piece: &str) -> bool {
    ["Person(", "Client(", "System(", "Attachment(", "infold says receipt"].iter().any(|head| piece.starts_with(head))
}

impl ViewPlan {
    /// Whether the view leaves out branches that wait or have folded: then it may be shorter than an earlier one.
    fn edits_waiting(&self) -> bool {
        self.edits.iter().any(|edit| edit.reason == Reason::Waiting || edit.reason == Reason::Folded)
    }
}

/// The last request in a thread that no rollback has cut off.
fn base<'w>(world: &'w World, thread: &Thread) -> Option<&'w Sent> {
    let is_cut = |sent: &Sent| {
        world
            .rollbacks
            .iter()
            .any(|(at, to, opening)| thread.branch() != Some(to) && sent.len <= *at && sent.len > *opening)
    };
    world.sent.iter().rev().find(|sent| sent.thread == *thread && !is_cut(sent))
}

/// What the first request of a branch that inherits has to extend: its parent's last request.
fn first_of_branch<'w>(world: &'w World, plan: &ViewPlan) -> Option<&'w Sent> {
    let id = plan.thread.branch()?;
    if !world.inheriting.contains(id) {
        return None;
    }
    // The parent, as the transcript has it, is the thread that was sent when the model opened the branch.
    let opened = made_in(world, id)?;
    world.sent.iter().rev().find(|sent| sent.thread == opened.0 && sent.len <= opened.1)
}

/// The thread in which a branch was opened, and how long the transcript was then. None if the call has moved.
fn made_in(world: &World, id: &BranchId) -> Option<(Thread, usize)> {
    let result = world.opening_of(id)?;
    let call = call_of(&world.said, result);
    let at = world.said.iter().position(|said| matches!(&said.what, What::Call { id, .. } if id == call))?;
    let has_left = world.said[..=at]
        .iter()
        .rev()
        .take_while(|said| said.block().kind.side() == Side::Model)
        .any(|said| matches!(&said.what, What::Call { tool, .. } if may_leave(tool)));
    let (_, thread) = world.made_in.iter().find(|(made, _)| *made == world.said[at].what)?;
    (!has_left).then(|| (thread.clone(), at))
}

/// Every call is answered at once, before anything else is said, and every result has its call.
fn calls_and_results_are_not_parted(world: &World, plan: &ViewPlan) {
    let mut called: BTreeSet<&str> = BTreeSet::new();
    let mut words_since = false;
    for piece in &plan.pieces {
        let what = match piece {
            ViewPiece::Keep(at)
            | ViewPiece::Content { block: at, .. }
            | ViewPiece::Text { block: at, .. }
            | ViewPiece::Words { block: at, .. } => Some(&world.said[*at].what),
            ViewPiece::Quote { .. } | ViewPiece::Say { .. } => None,
        };
        match what {
            Some(What::Call { id, .. }) => {
                words_since = false;
                assert!(called.insert(id), "{id} is called twice");
            }
            Some(What::Result { call, .. }) => {
                assert!(called.remove(call.as_str()), "{call} is answered without a call");
                assert!(!words_since, "words come before the answer to {call}");
            }
            Some(What::Think(_) | What::Says(_)) => {
                words_since = false;
            }
            Some(What::System(_) | What::Client(_) | What::Person(_) | What::Attachment(_) | What::Other(_)) | None => {
                words_since = true;
                assert!(called.is_empty(), "{called:?} are not answered before words: {:#?}", view(&world.said, plan));
            }
        }
    }
    assert!(called.is_empty(), "{called:?} are not answered: {:#?}", view(&world.said, plan));
}

/// No kept reasoning has anything in front of it but what it was made on.
fn reasoning_has_its_prefix(world: &World, plan: &ViewPlan) {
    let view = view(&world.said, plan);
    for (at, piece) in plan.pieces.iter().enumerate() {
        let ViewPiece::Keep(block) = piece else { continue };
        let What::Think(thought) = &world.said[*block].what else {
            continue;
        };
        let (_, made_on) = world.thoughts.iter().find(|(made, _)| made == thought).expect("somebody thought it");
        assert_eq!(view[..at], made_on[..], "{thought} was made on something else, in {}", plan.thread);
    }
    let dropped = plan.edits.iter().any(|edit| edit.reason == Reason::Reasoning);
    assert!(!dropped || world.has_broken, "reasoning went without need");
}

/// Every block is in the view once or accounted for by an edit.
fn what_no_edit_names_is_kept(world: &World, plan: &ViewPlan) {
    let mut shown = BTreeSet::new();
    let mut changed = 0;
    for piece in &plan.pieces {
        match piece {
            ViewPiece::Keep(at) => assert!(shown.insert(*at), "{at} is there twice"),
            ViewPiece::Content { block, .. }
            | ViewPiece::Text { block, .. }
            | ViewPiece::Words { block, .. }
            | ViewPiece::Quote { block, .. } => {
                assert!(shown.insert(*block), "{block} is there twice");
                changed += 1;
            }
            ViewPiece::Say { .. } => changed += 1,
        }
    }
    let named: usize = plan.edits.iter().map(|edit| edit.blocks).sum();
    assert_eq!(named, changed + world.said.len() - shown.len(), "edits name what was edited: {:?}", plan.edits);
    if plan.edits.is_empty() {
        let all: Vec<ViewPiece> = (0..world.said.len()).map(ViewPiece::Keep).collect();
        assert_eq!(plan.pieces, all, "with no edit everything is as the client has it");
    }
}

/// Whether a call is to one of our tools, or runs a script that calls them.
fn is_ours(tool: &str) -> bool {
    ToolEffect::of(tool).is_some() || runs_scripts(tool)
}

/// Whether a call may lead out of its thread.
fn may_leave(tool: &str) -> bool {
    matches!(ToolEffect::of(tool), Some(ToolEffect::Return | ToolEffect::RollBack)) || runs_scripts(tool)
}

/// What the model said in one thread is not shown in another.
fn what_was_made_elsewhere_is_not_shown(world: &World, plan: &ViewPlan) {
    if world.engine.known.branches.is_empty() || world.has_broken {
        return;
    }
    let mut above = vec![plan.thread.clone()];
    while let Some(id) = above.last().and_then(|thread| thread.branch()).filter(|id| world.inheriting.contains(id)) {
        let Some((parent, _)) = made_in(world, id) else {
            return;
        };
        above.push(parent);
    }
    for piece in &plan.pieces {
        let ViewPiece::Keep(at) = piece else { continue };
        let what = &world.said[*at].what;
        let moves = match what {
            What::Call { tool, .. } => tool == "ToolSearch" || is_ours(tool),
            _ => false,
        };
        if let Some((_, thread)) = world.made_in.iter().find(|(made, _)| made == what).filter(|_| !moves) {
            assert!(above.contains(thread), "{what:?} was made in {thread} and is shown in {}", plan.thread);
        }
    }
}

/// What the model said in a thread stays there, but for what a rollback cuts off.
fn what_was_made_here_is_shown(world: &World, plan: &ViewPlan) {
    if !world.rollbacks.is_empty() || world.has_broken {
        return;
    }
    for (at, said) in world.said.iter().enumerate() {
        let is_ours = matches!(&said.what, What::Call { tool, .. } if is_ours(tool));
        let made_in = world.made_in.iter().find(|(made, _)| *made == said.what).filter(|_| !is_ours);
        if made_in.is_some_and(|(_, thread)| *thread == plan.thread) {
            assert!(plan.pieces.contains(&ViewPiece::Keep(at)), "{:?} is not shown in {}", said.what, plan.thread);
        }
    }
}

/// Words of the last turn that have an entry of their own are shown to whoever answers the turn.
fn what_was_just_said_is_shown(world: &World, plan: &ViewPlan, kind: RequestKind) {
    let last_turn = world.said.iter().rposition(|said| said.block().kind.side() == Side::Model).map_or(0, |at| at + 1);
    let has_results =
        |entry: usize| world.said.iter().any(|said| said.entry == entry && matches!(said.what, What::Result { .. }));
    for (at, said) in world.said.iter().enumerate().skip(last_turn) {
        if last_turn > 0 && kind == RequestKind::Turn && !has_results(said.entry) {
            assert!(plan.pieces.contains(&ViewPiece::Keep(at)), "{:?} is not shown in {}", said.what, plan.thread);
        }
    }
}

/// All that people and clients ever said, wherever they said it, is in the main thread when that goes on.
fn what_anybody_said_is_in_the_main_thread(world: &World, plan: &ViewPlan, kind: RequestKind) {
    if kind != RequestKind::Turn || plan.thread != Thread::Main {
        return;
    }
    let view = view(&world.said, plan);
    let is_there = |words: &str| view.iter().any(|piece| piece.contains(words));
    for (at, said) in world.said.iter().enumerate() {
        match &said.what {
            // People say the same again and again, and each time counts.
            What::Person(words) => assert!(plan.pieces.contains(&ViewPiece::Keep(at)), "{words:?} is gone: {view:#?}"),
            What::Client(words) | What::System(words) | What::Attachment(words) => {
                assert!(is_there(words), "{words:?} is gone: {view:#?}");
            }
            What::Result { remarks, .. } => {
                remarks.iter().for_each(|(_, words)| assert!(is_there(words), "{words:?} is gone: {view:#?}"));
            }
            What::Think(_) | What::Says(_) | What::Call { .. } | What::Other(_) => {}
        }
    }
}

/// The same transcript gives the same bytes, and so it does without the store where calls show every fold.
fn planning_again_gives_the_same(world: &World, plan: &ViewPlan, kind: RequestKind) {
    let again = world.plan(kind, &world.engine.known);
    assert_eq!(again.pieces, plan.pieces);
    if !world.engine.is_needed && kind == RequestKind::Turn {
        let bare = world.plan(kind, &StoredDecisions::default());
        assert_eq!(bare.pieces, plan.pieces, "the store was not needed");
        assert!(bare.actions.iter().all(|action| matches!(action, PlanAction::Adopt { .. } | PlanAction::Remember(_))));
    }
}
