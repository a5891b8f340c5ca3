//! The life of a server, as a sequence of events.

use proptest::prelude::*;

use super::*;

const RULES: HealthRules = HealthRules { retry_first_ms: 500, retry_max_ms: 60_000, failures_max: 5, open_ms: 30_000 };

fn failed() -> HealthEvent {
    HealthEvent::Failed { why: "connection refused".to_owned() }
}

/// Plays events, each a time and an event, and writes a line for each.
fn play(events: &[(u64, HealthEvent)]) -> String {
    let mut health = ServerHealth::new();
    let lines = events.iter().map(|(now_ms, event)| {
        let moment = HealthMoment { now_ms: *now_ms, jitter: u16::MAX };
        let (next, action) = health.step(event.clone(), moment, &RULES);
        health = next;
        let action = action.map(|action| format!(" -> {action:?}")).unwrap_or_default();
        let event = format!("{event:?}");
        let event = event.split_whitespace().next().unwrap();
        format!("{now_ms} {event}: {:?}, {} failures{action}", health.state, health.failures)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_server_starts_when_it_is_wanted_and_stops_when_nobody_uses_it() {
    insta::assert_snapshot!(play(&[
        (0, HealthEvent::Wanted),
        (1, HealthEvent::Wanted),
        (2, HealthEvent::Started),
        (3, HealthEvent::Wanted),
        (4, HealthEvent::Answered),
        (5, HealthEvent::Unused),
        (6, HealthEvent::Ended { why: "exited".to_owned() }),
        (7, HealthEvent::Wanted),
    ]), @"
    0 Wanted: Starting, 0 failures -> Start
    1 Wanted: Starting, 0 failures
    2 Started: Ready, 0 failures
    3 Wanted: Ready, 0 failures
    4 Answered: Ready, 0 failures
    5 Unused: Idle, 0 failures -> Stop
    6 Ended: Idle, 0 failures
    7 Wanted: Starting, 0 failures -> Start
    ");
}

#[test]
fn waits_grow_and_after_five_failures_there_is_one_trial() {
    insta::assert_snapshot!(play(&[
        (0, HealthEvent::Wanted),
        (0, failed()),
        (499, HealthEvent::Wanted),
        (500, HealthEvent::Wanted),
        (500, failed()),
        (1_500, HealthEvent::Wanted),
        (1_500, HealthEvent::Started),
        (1_600, HealthEvent::Ended { why: "exited".to_owned() }),
        (3_600, HealthEvent::Wanted),
        (3_600, failed()),
        (7_600, HealthEvent::Wanted),
        (7_600, failed()),
        (37_599, HealthEvent::Wanted),
        (37_600, HealthEvent::Wanted),
        (37_600, HealthEvent::Wanted),
        (37_700, failed()),
        (67_700, HealthEvent::Wanted),
        (67_800, HealthEvent::Started),
        (67_900, HealthEvent::Answered),
    ]), @"
    0 Wanted: Starting, 0 failures -> Start
    0 Failed: Failing { retry_at_ms: 500 }, 1 failures -> Stop
    499 Wanted: Failing { retry_at_ms: 500 }, 1 failures
    500 Wanted: Starting, 1 failures -> Start
    500 Failed: Failing { retry_at_ms: 1500 }, 2 failures -> Stop
    1500 Wanted: Starting, 2 failures -> Start
    1500 Started: Ready, 2 failures
    1600 Ended: Failing { retry_at_ms: 3600 }, 3 failures
    3600 Wanted: Starting, 3 failures -> Start
    3600 Failed: Failing { retry_at_ms: 7600 }, 4 failures -> Stop
    7600 Wanted: Starting, 4 failures -> Start
    7600 Failed: Open { until_ms: 37600 }, 5 failures -> Stop
    37599 Wanted: Open { until_ms: 37600 }, 5 failures
    37600 Wanted: Starting, 5 failures -> Start
    37600 Wanted: Starting, 5 failures
    37700 Failed: Open { until_ms: 67700 }, 6 failures -> Stop
    67700 Wanted: Starting, 6 failures -> Start
    67800 Started: Ready, 6 failures
    67900 Answered: Ready, 0 failures
    ");
}

#[test]
fn calls_that_fail_end_a_server_only_after_five_in_a_row() {
    let mut events = vec![(0, HealthEvent::Wanted), (0, HealthEvent::Started)];
    events.extend((0..4).map(|_| (0, failed())));
    events.push((0, HealthEvent::Answered));
    events.extend((0..5).map(|_| (0, failed())));
    insta::assert_snapshot!(play(&events), @"
    0 Wanted: Starting, 0 failures -> Start
    0 Started: Ready, 0 failures
    0 Failed: Ready, 1 failures
    0 Failed: Ready, 2 failures
    0 Failed: Ready, 3 failures
    0 Failed: Ready, 4 failures
    0 Answered: Ready, 0 failures
    0 Failed: Ready, 1 failures
    0 Failed: Ready, 2 failures
    0 Failed: Ready, 3 failures
    0 Failed: Ready, 4 failures
    0 Failed: Open { until_ms: 30000 }, 5 failures -> Stop
    ");
}

#[test]
fn a_login_and_an_approval_are_the_users() {
    insta::assert_snapshot!(play(&[
        (0, HealthEvent::ApprovalMissing),
        (0, HealthEvent::Wanted),
        (0, HealthEvent::Reset),
        (0, HealthEvent::Approved),
        (0, HealthEvent::Wanted),
        (0, HealthEvent::LoginMissing),
        (0, HealthEvent::Wanted),
        (0, HealthEvent::LoggedIn),
        (0, HealthEvent::Unusable { why: "type ws".to_owned() }),
        (0, HealthEvent::Wanted),
        (0, HealthEvent::Reset),
    ]), @r#"
    0 ApprovalMissing: NeedsApproval, 0 failures
    0 Wanted: NeedsApproval, 0 failures
    0 Reset: NeedsApproval, 0 failures
    0 Approved: Configured, 0 failures
    0 Wanted: Starting, 0 failures -> Start
    0 LoginMissing: NeedsLogin, 0 failures -> Stop
    0 Wanted: NeedsLogin, 0 failures
    0 LoggedIn: Configured, 0 failures
    0 Unusable: Refused("type ws"), 0 failures
    0 Wanted: Refused("type ws"), 0 failures
    0 Reset: Configured, 0 failures
    "#);
}

#[test]
fn refusals_say_what_to_do() {
    let refuse = |state: ServerState, failures: u32| {
        let last_failure = Some("connection refused".to_owned());
        ServerHealth { state, failures, last_failure }.refuse("github", 1_000, &RULES).unwrap_or_default()
    };
    let lines = [
        refuse(ServerState::Open { until_ms: 23_500 }, 5),
        refuse(ServerState::Failing { retry_at_ms: 1_001 }, 1),
        refuse(ServerState::Open { until_ms: 1_000 }, 5),
        refuse(ServerState::NeedsLogin, 0),
        refuse(ServerState::NeedsApproval, 0),
        refuse(ServerState::Refused("type ws is not supported".to_owned()), 0),
        refuse(ServerState::Ready, 0),
    ];
    insta::assert_snapshot!(lines.join("\n"), @"
    github is not available: 5 failures in a row, next attempt in 23 s (last: connection refused)
    github is not available: 1 failure, next attempt in 1 s (last: connection refused)

    github needs a login: ask the user to run `infold servers login github`
    github waits for approval: ask the user to run `infold approve github`
    github cannot be used: type ws is not supported
    ");
}

#[test]
fn a_clock_that_was_set_back_makes_no_wait_longer() {
    let health = ServerHealth { state: ServerState::Open { until_ms: 9_000_000 }, failures: 5, last_failure: None };
    let (next, action) = health.step(HealthEvent::Wanted, HealthMoment { now_ms: 10, jitter: 0 }, &RULES);
    assert_eq!((next.state, action), (ServerState::Starting, Some(HealthAction::Start)));
}

fn event() -> impl Strategy<Value = HealthEvent> {
    prop_oneof![
        6 => Just(HealthEvent::Wanted),
        3 => Just(HealthEvent::Started),
        2 => Just(HealthEvent::Answered),
        6 => Just(failed()),
        3 => Just(HealthEvent::Ended { why: "exited".to_owned() }),
        1 => Just(HealthEvent::Unused),
        1 => Just(HealthEvent::LoginMissing),
        1 => Just(HealthEvent::LoggedIn),
        1 => Just(HealthEvent::ApprovalMissing),
        1 => Just(HealthEvent::Approved),
        1 => Just(HealthEvent::Unusable { why: "x".to_owned() }),
        1 => Just(HealthEvent::Reset),
    ]
}

proptest! {
    #[test]
    fn waits_are_bounded_and_a_server_is_started_and_stopped_in_turn(
        steps in prop::collection::vec((event(), 0..40_000_u64, any::<u16>()), 0..120),
    ) {
        let (mut health, mut now_ms, mut runs) = (ServerHealth::new(), 0, false);
        for (event, later_ms, jitter) in steps {
            now_ms += later_ms;
            let before = health.clone();
            let (next, action) = health.step(event.clone(), HealthMoment { now_ms, jitter }, &RULES);
            match action {
                Some(HealthAction::Start) => {
                    prop_assert!(!runs && event == HealthEvent::Wanted && next.state == ServerState::Starting);
                    // Nobody is started who was to be left alone.
                    prop_assert_eq!(before.wait_ms(now_ms, &RULES), None);
                    runs = true;
                }
                Some(HealthAction::Stop) => {
                    prop_assert!(runs);
                    runs = false;
                }
                None if matches!(event, HealthEvent::Ended { .. }) => runs = false,
                None => {}
            }
            prop_assert_eq!(runs, matches!(next.state, ServerState::Starting | ServerState::Ready));
            match next.state {
                ServerState::Failing { retry_at_ms } if next != before => {
                    prop_assert!(retry_at_ms - now_ms <= RULES.retry_max_ms && next.failures < RULES.failures_max);
                }
                ServerState::Open { until_ms } if next != before => {
                    prop_assert!(until_ms - now_ms <= RULES.open_ms && next.failures >= RULES.failures_max);
                }
                _ => {}
            }
            health = next;
        }
    }

    #[test]
    fn open_is_left_by_exactly_one_trial(failures in 5..50_u32, now_ms in 0..u64::MAX / 2, wanted in 2..6_usize) {
        let open = ServerHealth { state: ServerState::Open { until_ms: now_ms + RULES.open_ms }, failures, last_failure: None };
        let moment = |now_ms| HealthMoment { now_ms, jitter: 7 };
        let (still, action) = open.step(HealthEvent::Wanted, moment(now_ms), &RULES);
        prop_assert!(still == open && action.is_none());
        let mut health = open;
        let mut starts = 0;
        for _ in 0..wanted {
            let (next, action) = health.step(HealthEvent::Wanted, moment(now_ms + RULES.open_ms), &RULES);
            starts += usize::from(action == Some(HealthAction::Start));
            health = next;
        }
        prop_assert_eq!(starts, 1);
        let (failed, _) = health.step(failed(), moment(now_ms + RULES.open_ms), &RULES);
        let is_open = matches!(failed.state, ServerState::Open { .. });
        prop_assert!(is_open);
    }
}
