//! Machines whose clocks differ and jump. Deadlines are points in time, so a wrong clock ends branches early or late; what
//! must hold all the same: a branch ends once, with one status on all machines, nothing that was acknowledged is lost or
//! comes back, and work goes on.

use std::cell::Cell;
use std::time::Instant;

use infold_testkit::{MovedClock, Rng, Seed};
use serde_json::{Value, json};

use super::machines::Machines;
use crate::support::{Database, PATIENCE, POLL, Program};

/// Far beyond every deadline, and less than a session's live state lasts.
const JUMP_HOURS: f64 = 10.0;
/// The longest that a branch may have.
const TIMEOUT_SECONDS: u64 = 600;
/// Beyond that.
const AFTER_DEADLINE_HOURS: f64 = 0.5;
/// Branches that are opened while clocks jump at random.
const ROUNDS: u64 = 24;

/// Machines that each have a clock of their own.
struct Clocked {
    programs: Vec<Program>,
    clocks: Vec<MovedClock>,
    /// Held, because the daemons need the servers and the folders.
    _machines: Machines,
}

impl Clocked {
    async fn start(count: usize) -> Option<Self> {
        let mut clocks = Vec::new();
        for _ in 0..count {
            clocks.push(MovedClock::new().unwrap()?);
        }
        let next = Cell::new(0);
        let give = |setup| clocks[next.replace(next.get() + 1)].given_to(setup);
        let mut machines = Machines::start(count, give).await?;
        Some(Self { programs: machines.programs().await, clocks, _machines: machines })
    }

    /// The machine on duty, and one that is not, once there is exactly one.
    async fn on_and_off_duty(&self) -> (usize, usize) {
        let begun = Instant::now();
        loop {
            let mut held = Vec::new();
            for (number, program) in self.programs.iter().enumerate() {
                held.extend(is_on_duty(program).await.then_some(number));
            }
            if let [on] = held[..] {
                return (on, (on + 1) % self.programs.len());
            }
            assert!(begun.elapsed() < PATIENCE, "on duty are {held:?}");
            tokio::time::sleep(POLL).await;
        }
    }

    /// Waits until every machine's index has this many ends of a branch, and asserts that all show it with one status, which
    /// is returned.
    async fn agreed(&self, branch: &str, ends: i64) -> Value {
        let begun = Instant::now();
        while self.programs.iter().any(|program| ended(program, branch) != ends) {
            let found: Vec<i64> = self.programs.iter().map(|program| ended(program, branch)).collect();
            assert!(begun.elapsed() < PATIENCE, "{branch} has ended {found:?} times");
            tokio::time::sleep(POLL).await;
        }
        let mut shown = Vec::new();
        for program in &self.programs {
            let status = program.look_at(branch).await.unwrap();
            shown.push(json!([status["status"], status["reason"], status["result"]]));
        }
        assert!(shown.windows(2).all(|pair| pair[0] == pair[1]), "{branch}: {shown:?}");
        shown.swap_remove(0)
    }
}

async fn is_on_duty(program: &Program) -> bool {
    let metrics = program.api.get("/metrics").await.unwrap().text;
    metrics.lines().any(|line| line.starts_with("infold_cluster_duty") && line.ends_with(" 1"))
}

/// How often a branch has ended, as far as a machine knows.
fn ended(program: &Program, branch: &str) -> i64 {
    let index = Database::look(&program.daemon.data().join("cluster")).unwrap();
    // A message that comes late is added to the end, and is no end.
    let count = format!("SELECT count(*) FROM events WHERE branch = '{branch}' AND payload LIKE '%\"branch_ended\"%'");
    index.number(&count).unwrap()
}

async fn open(program: &Program, session: &str) -> String {
    let opening = json!({"session_id": session, "description": "look around", "timeout_seconds": TIMEOUT_SECONDS});
    program.done("branch_create", opening).await.unwrap()["branch_id"].as_str().unwrap().to_owned()
}

/// Asserts that a machine opens, folds and lists.
async fn assert_works(program: &Program, session: &str) {
    let branch = open(program, session).await;
    program.fold(&branch, "done").await.unwrap();
    assert_eq!(program.look_at(&branch).await.unwrap()["result"], "done");
    let listed = program.api.get(&format!("/api/v1/sessions/{session}/branches")).await.unwrap();
    assert!(listed.status == 200 && listed.text.contains(&branch), "{listed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_ahead_ends_what_is_overdue_by_it_once_and_work_goes_on() {
    let Some(mut all) = Clocked::start(2).await else { return };
    let (on, off) = all.on_and_off_duty().await;
    let (ours, theirs) = (open(&all.programs[on], "ours").await, open(&all.programs[off], "theirs").await);
    let folded = open(&all.programs[off], "folded").await;
    all.programs[on].fold(&folded, "in time").await.unwrap();

    // The machine on duty ends what is over by its clock, by itself, also what the other one opened.
    all.clocks[on].set_hours(JUMP_HOURS).unwrap();
    for branch in [&ours, &theirs] {
        assert_eq!(all.agreed(branch, 1).await[0], "timeout");
    }
    assert_eq!(all.agreed(&folded, 1).await, json!(["completed", "returned", "in time"]));
    assert_works(&all.programs[on], "while-ahead").await;
    let ahead = open(&all.programs[on], "ahead").await;

    all.clocks[on].set_hours(0.0).unwrap();
    for (number, program) in all.programs.iter().enumerate() {
        assert_works(program, &format!("after-on-{number}")).await;
        assert_works(program, "ours").await;
    }
    // It can be folded, though by its own clock it was opened in the future.
    all.programs[off].fold(&ahead, "done").await.unwrap();
    for branch in [&ours, &theirs] {
        assert_eq!(all.agreed(branch, 1).await[0], "timeout");
    }
    assert_eq!(all.agreed(&ahead, 1).await[0], "completed");

    let (on, off) = all.on_and_off_duty().await;
    all.programs[on].daemon.kill9().await.unwrap();
    let begun = Instant::now();
    while !is_on_duty(&all.programs[off]).await {
        assert!(begun.elapsed() < PATIENCE, "nobody is on duty");
        tokio::time::sleep(POLL).await;
    }
    assert_works(&all.programs[off], "alone").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_back_revives_nothing_and_stops_no_deadline_for_ever() {
    let Some(mut all) = Clocked::start(2).await else { return };
    let (on, off) = all.on_and_off_duty().await;
    let over = open(&all.programs[off], "over").await;
    all.clocks[on].set_hours(AFTER_DEADLINE_HOURS).unwrap();
    assert_eq!(all.agreed(&over, 1).await[0], "timeout");

    all.clocks[on].set_hours(-JUMP_HOURS).unwrap();
    assert_eq!(all.agreed(&over, 1).await[0], "timeout");
    for (number, program) in all.programs.iter().enumerate() {
        assert_works(program, &format!("after-on-{number}")).await;
        assert_works(program, "over").await;
    }

    // The machine on duty sees no deadline pass for hours. Whoever asks on the other one does, and its answer is everybody's.
    let (asked, left) = (open(&all.programs[off], "asked").await, open(&all.programs[off], "left").await);
    all.clocks[off].set_hours(AFTER_DEADLINE_HOURS).unwrap();
    assert_eq!(all.programs[off].look_at(&asked).await.unwrap()["status"], "timeout");
    assert_eq!(all.agreed(&asked, 1).await[0], "timeout");
    all.programs[on].daemon.terminate().await.unwrap();
    all.programs.remove(on);
    assert_eq!(all.agreed(&left, 1).await[0], "timeout");
}

/// Opens a branch on one machine and folds it on another, while clocks jump. Returns it with the message that was taken, if
/// it was: what was over for the second machine may be refused.
async fn work(all: &Clocked, rng: &mut Rng, round: u64) -> (String, Option<String>) {
    let hours = [-JUMP_HOURS, 0.0, JUMP_HOURS];
    let jump = |rng: &mut Rng| {
        let clock = &all.clocks[rng.below(all.clocks.len())];
        clock.set_hours(hours[rng.below(hours.len())]).unwrap();
    };
    jump(rng);
    let branch = open(&all.programs[rng.below(all.programs.len())], &format!("s-{round}")).await;
    jump(rng);
    let message = format!("Found in round {round}");
    let folding = json!({"branch_id": branch, "message": message});
    let answer = all.programs[rng.below(all.programs.len())].call("branch_return", folding).await.unwrap();
    assert!(answer.is_ok() || answer.summary().contains("timeout"), "{}", answer.summary());
    (branch, answer.is_ok().then_some(message))
}

#[tokio::test(flavor = "multi_thread")]
async fn while_clocks_jump_at_random_every_branch_has_one_end_that_all_agree_on() {
    let Some(all) = Clocked::start(3).await else { return };
    let seed = Seed::announce("cargo test -p infold --test program cluster::clocks").unwrap();
    let mut rng = seed.rng(0);
    let mut answered = Vec::new();
    for round in 0..ROUNDS {
        answered.push(work(&all, &mut rng, round).await);
    }

    all.clocks.iter().for_each(|clock| clock.set_hours(0.0).unwrap());
    for (branch, message) in &answered {
        let agreed = all.agreed(branch, 1).await;
        match message {
            Some(message) => assert_eq!(agreed[2], json!(message), "{branch}: {agreed}"),
            None => assert_eq!(agreed[0], "timeout", "{branch}: {agreed}"),
        }
    }
    for (number, program) in all.programs.iter().enumerate() {
        assert_works(program, &format!("after-on-{number}")).await;
    }
}
