//! Return, timeout, budget and session end, at once, on a real store: exactly one end each time.

use infold_core::Event;
use tokio_util::sync::CancellationToken;

use super::*;

const ROUNDS: usize = 300;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_operations_end_a_branch_exactly_once() {
    let mut settings = settings();
    settings.limits.openings_per_minute_max = 1_000_000;
    let bench = Bench::new(settings.clone());
    let other = bench.another(settings);
    for round in 0..ROUNDS {
        let session = format!("s{round}");
        let request = OpenBranch { budget_tokens: Some(200), timeout_s: Some(1), ..open(&session) };
        let opened = bench.engine.open_branch(&bench.who, request).await.unwrap();
        let id = opened.branch_id.to_string();
        let cancel = CancellationToken::new();
        let end = EndSession { session: SessionRef::by_id(&session).unwrap(), idempotency_key: None };
        let long = "fn parse() { todo }\n".repeat(200);
        let observation = Observation {
            session: SessionRef::by_id(&session).unwrap(),
            thread: None,
            kind: CallKind::Content,
            tool: "read_file".to_owned(),
            call_id: None,
            arguments: "{}".to_owned(),
            result: long,
        };
        let late = async {
            bench.pass(if round % 2 == 0 { 1_000 } else { 0 });
            other.fold_overdue().await
        };
        let (returned, again, _, _, _) = tokio::join!(
            bench.engine.fold_branch(&bench.who, fold(&id, "found")),
            other.fold_branch(&bench.who, fold(&id, "found too")),
            late,
            other.observe(&bench.who, observation),
            bench.engine.end_session(&bench.who, end, &cancel, |_| {}),
        );
        assert!(returned.is_err() || again.is_err(), "round {round}: returned twice");

        let ended = bench.engine.trajectory(&bench.who, &id, None).await.unwrap();
        let ends = ended.steps.iter().filter(|step| matches!(step.event, Event::BranchEnded { .. })).count();
        assert_eq!(ends, 1, "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_callers_on_one_session_all_get_through() {
    let mut settings = settings();
    settings.limits.openings_per_minute_max = 1_000_000;
    settings.limits.open_per_session_max = 1_000;
    let bench = Bench::new(settings);
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let (engine, who) = (bench.engine.clone(), bench.who.clone());
            tokio::spawn(async move {
                engine.open_branch(&who, OpenBranch { parent: Some("main".to_owned()), ..open("s") }).await
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(bench.session("s").await.branches().len(), 100);
}
