//! Logs as text in, transcripts as text out: what each thread sees of a session.

use super::items;
use crate::decide::tests::{World, fold, id, limits, observe, open, scrubbed};
use crate::fork::{Fork, ForkLimits, Profile};
use crate::transcript::{Kind, Voice};
use crate::{BlobId, BranchId, Command, Event, Operation, Origin, ReturnOutcome, SessionId, Thread};

/// A session that is played from lines of text.
struct Scene {
    world: World,
    opened: u64,
}

impl Scene {
    /// Lines are `open`, `open main`, `call TOOL`, `return WORDS`, `fail WORDS`, `back N`, `end`; branches are
    /// numbered in the order of their opening.
    fn play(lines: &str) -> Self {
        let mut scene = Self { world: World::new(limits()), opened: 0 };
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
            let command = scene.command(verb, rest);
            scene.world.run(&command).unwrap();
        }
        scene
    }

    fn command(&mut self, verb: &str, rest: &str) -> Command {
        match verb {
            "open" => {
                self.opened += 1;
                let Command::Open(mut opening) = open(self.opened, (rest == "main").then_some(Thread::Main), None)
                else {
                    unreachable!()
                };
                opening.description = scrubbed(&format!("task {}", self.opened));
                opening.prompt = (self.opened == 1).then(|| scrubbed("look closely"));
                Command::Open(opening)
            }
            "call" => {
                let Command::Observe { thread, mut operation } = observe(None, 5) else { unreachable!() };
                operation.tool = scrubbed(rest);
                operation.result = scrubbed(&format!("what {rest} gave"));
                Command::Observe { thread, operation }
            }
            "return" => fold(None, rest),
            "fail" => Command::Fold { branch: None, message: scrubbed(rest), outcome: ReturnOutcome::Failed },
            "back" => Command::RollBack { to: id(rest.parse().unwrap()) },
            "end" => Command::EndSession,
            other => panic!("{other} is no verb"),
        }
    }

    fn events(&self) -> Vec<Event> {
        self.world.log.iter().map(|(_, event)| event.clone()).collect()
    }

    fn seen_by(&self, thread: &Thread) -> String {
        shown(&self.events(), thread, None)
    }

    fn main(&self) -> String {
        self.seen_by(&Thread::Main)
    }
}

/// A transcript as text, with branches by their numbers.
fn shown(events: &[Event], thread: &Thread, inherited: Option<&str>) -> String {
    let lines = items(events, thread, inherited).into_iter().map(|item| {
        let said = match item.kind {
            Kind::User { text, voice: Voice::Person } => format!("user: {text}"),
            Kind::User { text, voice: Voice::Client } => format!("client: {text}"),
            Kind::Call { tool, input, .. } => format!("call {tool} {input}"),
            Kind::Result { text, outcome, .. } => format!("  -> {text} ({outcome:?})"),
            other => panic!("{other:?}"),
        };
        format!("{} {said}", item.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn branch(number: u64) -> Thread {
    Thread::Branch(id(number))
}

#[test]
fn a_folded_branch_is_the_call_with_what_it_returned() {
    let scene = Scene::play("call read\n open\n call grep\n call test\n return found it\n call write");
    insta::assert_snapshot!(scene.main(), @r#"
    0 call read {"path":"src/a.rs"}
    0   -> what read gave (Unsaid)
    1 call branch_create {"description":"task 1","prompt":"look closely"}
    1   -> found it (Succeeded)
    2 call write {"path":"src/a.rs"}
    2   -> what write gave (Unsaid)
    "#);
    insta::assert_snapshot!(scene.seen_by(&branch(1)), @r#"
    0 user: task 1

    look closely
    1 call grep {"path":"src/a.rs"}
    1   -> what grep gave (Unsaid)
    2 call test {"path":"src/a.rs"}
    2   -> what test gave (Unsaid)
    "#);
}

#[test]
fn a_branch_that_is_open_has_given_nothing_back_yet() {
    let scene = Scene::play("open\n call grep\n open\n call test");
    insta::assert_snapshot!(scene.main(), @r#"
    0 call branch_create {"description":"task 1","prompt":"look closely"}
    0   -> [This branch is still open and has not returned yet.] (Unsaid)
    "#);
    insta::assert_snapshot!(scene.seen_by(&branch(1)), @r#"
    0 user: task 1

    look closely
    1 call grep {"path":"src/a.rs"}
    1   -> what grep gave (Unsaid)
    2 call branch_create {"description":"task 2"}
    2   -> [This branch is still open and has not returned yet.] (Unsaid)
    "#);
}

#[test]
fn a_branch_that_failed_says_so() {
    let scene = Scene::play("open\n fail no such file");
    insta::assert_snapshot!(scene.main(), @r#"
    0 call branch_create {"description":"task 1","prompt":"look closely"}
    0   -> no such file (Failed)
    "#);
}

#[test]
fn no_thread_sees_what_a_rollback_discarded() {
    let scene = Scene::play("open\n call grep\n return first\n open\n call rm\n return second\n back 1\n call test");
    insta::assert_snapshot!(scene.main(), @r#"
    0 call branch_create {"description":"task 1","prompt":"look closely"}
    0   -> [This branch is still open and has not returned yet.] (Unsaid)
    "#);
    let scene = Scene::play("open\n return first\n open\n return second\n back 1\n call test\n return better");
    insta::assert_snapshot!(scene.main(), @r#"
    0 call branch_create {"description":"task 1","prompt":"look closely"}
    0   -> better (Succeeded)
    "#);
}

#[test]
fn siblings_are_in_the_order_of_their_opening() {
    let scene = Scene::play("open\n open main\n return of two\n return of one\n end");
    insta::assert_snapshot!(scene.main(), @r#"
    0 call branch_create {"description":"task 1","prompt":"look closely"}
    0   -> of one (Succeeded)
    1 call branch_create {"description":"task 2"}
    1   -> of two (Succeeded)
    "#);
}

#[test]
fn every_result_names_its_call_and_places_grow() {
    let scene = Scene::play("call read\n open\n call grep\n return found it\n call read");
    let items = items(&scene.events(), &Thread::Main, None);
    let pairs: Vec<_> = items.chunks(2).collect();
    assert_eq!(pairs.len(), 3);
    for pair in pairs {
        let [Kind::Call { id: call, .. }, Kind::Result { id: result, .. }] = [&pair[0].kind, &pair[1].kind] else {
            panic!("{pair:?}")
        };
        assert_eq!(call, result);
        assert_eq!(pair[0].message, pair[1].message);
    }
    assert!(items.is_sorted_by(|one, next| one.place < next.place), "{items:?}");
}

#[test]
fn the_clients_own_id_of_a_call_is_kept() {
    let mut scene = Scene::play("");
    let Command::Observe { thread, operation } = observe(None, 5) else { unreachable!() };
    let operation = Box::new(Operation { call_id: Some(scrubbed("toolu_1")), ..*operation });
    scene.world.run(&Command::Observe { thread, operation }).unwrap();
    let Kind::Call { id, .. } = &items(&scene.events(), &Thread::Main, None)[0].kind else { panic!("a call") };
    assert_eq!(id, "toolu_1");
}

fn origin(parent: Option<&str>) -> Box<Origin> {
    let stats = Fork::new(Profile::Seed, ForkLimits::default()).finish().stats;
    Box::new(Origin {
        parent: parent.map(|parent| SessionId::parse(parent).unwrap()),
        profile: Profile::Seed,
        preamble: scrubbed("This is a fork."),
        blob: BlobId::mint([3; 16]),
        chars: 8,
        tokens: 2,
        stats,
    })
}

#[test]
fn a_fork_begins_with_what_it_was_given_and_asked() {
    let mut scene = Scene::play("");
    let prompt = Some(scrubbed("write the tests"));
    let decision = scene.world.run(&Command::Fork { origin: origin(Some("parent")), prompt }).unwrap();
    let names: Vec<_> = decision.events.iter().map(Event::name).collect();
    assert_eq!(names, ["session.started", "session.forked"]);
    assert_eq!(scene.world.session.origin.as_ref().unwrap().parent.as_ref().unwrap().as_str(), "parent");
    assert_eq!(scene.world.session.main_tokens, 0);
    scene.world.run(&observe(None, 5)).unwrap();
    insta::assert_snapshot!(shown(&scene.events(), &Thread::Main, Some("user: hello")), @r#"
    0 client: This is a fork.

    user: hello
    1 user: write the tests
    2 call read_file {"path":"src/a.rs"}
    2   -> fn main() {} (Unsaid)
    "#);

    let refused = scene.world.run(&Command::Fork { origin: origin(None), prompt: None }).unwrap_err();
    assert_eq!(refused.to_string(), "Session s exists already: name another, or name none and get a new one");
    assert_eq!((refused.code(), refused.http_status()), ("session_exists", 409));
}

#[test]
fn a_branch_nobody_opened_sees_nothing() {
    let scene = Scene::play("call read");
    let unknown: BranchId = id(99);
    assert_eq!(scene.seen_by(&Thread::Branch(unknown)), "");
}
