//! Several forks at once, and the daemon killed under them: a child is there whole or not at all.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use infold_testkit::Seed;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::scene::{FORKS, forked, opencode};
use crate::support::{Api, Database, Program, lines_about, roomy};

/// How often the daemon is killed.
const KILLS: usize = 12;
/// Forks that are under way when it is killed.
const FORKS_UNDER_WAY: usize = 4;

fn transcript() -> Value {
    opencode(20, &lines_about("a file", 4_000))
}

#[tokio::test]
async fn two_at_once_get_a_child_each_and_one_name_goes_to_one() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let body = json!({"transcript": transcript()});
    let (one, two) = tokio::join!(forked(&program.api, &body), forked(&program.api, &body));
    let (one, two) = (one?, two?);
    assert_ne!(one["session_id"], two["session_id"]);
    assert_eq!(one["context"], two["context"]);

    let named = json!({"transcript": transcript(), "session_id": "child"});
    let (one, two) = tokio::join!(program.api.post(FORKS, &named), program.api.post(FORKS, &named));
    let mut statuses = [one?.status, two?.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409]);

    let keyed = json!({"transcript": transcript(), "idempotency_key": "once"});
    let (one, two) = tokio::join!(forked(&program.api, &keyed), forked(&program.api, &keyed));
    assert_eq!(one?, two?);
    assert_eq!(program.database()?.number("SELECT count(*) FROM sessions")?, 4);
    Ok(())
}

/// Checks that whatever the database holds is whole: a child has both of its events and its context.
fn check_whole(database: &Database) -> Result<i64> {
    let children = database.number("SELECT count(*) FROM sessions")?;
    let whole = "SELECT count(*) FROM sessions WHERE version = 2
         AND (SELECT count(*) FROM events WHERE session_id = sessions.id) = 2
         AND (SELECT count(*) FROM replies WHERE session_id = sessions.id) = 1
         AND EXISTS (SELECT 1 FROM tool_result_blobs JOIN blob_contents ON hash = tool_result_blobs.content
                     WHERE session_id = sessions.id AND id = sessions.state ->> '$.origin.blob')";
    ensure!(database.number(whole)? == children, "some of {children} children are not whole");
    ensure!(database.number("SELECT count(*) FROM tool_result_blobs")? == children, "a context without its child");
    Ok(children)
}

async fn fork_with(api: Api, key: String) -> Option<Value> {
    let body = json!({"transcript": transcript(), "idempotency_key": key});
    api.post(FORKS, &body).await.ok()?.with_status(201).ok()
}

#[tokio::test]
async fn a_kill_in_between_leaves_no_half_child_and_a_repetition_gives_the_whole_one() -> Result<()> {
    let seed = Seed::announce("cargo test -p infold --test program forks::crashes")?;
    let outcome = kill_again_and_again(&seed).await;
    seed.explain(outcome)
}

/// Starts forks, each with a key of its own, and does not wait for them.
fn start_forks(program: &Program, life: &str) -> JoinSet<(String, Option<Value>)> {
    let mut under_way = JoinSet::new();
    for number in 0..FORKS_UNDER_WAY {
        let (api, key) = (program.api.clone(), format!("{life} {number}"));
        under_way.spawn(async move { (key.clone(), fork_with(api, key).await) });
    }
    under_way
}

async fn kill_again_and_again(seed: &Seed) -> Result<()> {
    let mut rng = seed.rng(0);
    let mut program = Program::start(roomy()).await?;
    // How long forks take decides when the daemon is killed: before them, in between, or after some.
    let began = Instant::now();
    start_forks(&program, "undisturbed").join_all().await;
    let mut took_micros = usize::try_from(began.elapsed().as_micros())?;
    let mut answered = 0;
    for life in 0..KILLS {
        let under_way = start_forks(&program, &life.to_string());
        let delay_micros = took_micros / 4 + rng.below(took_micros);
        tokio::time::sleep(Duration::from_micros(delay_micros as u64)).await;
        program.daemon.kill9().await?;
        let known = under_way.join_all().await;
        // The measured forks may have been slow. If all were done when the kill came, the next one comes sooner.
        if known.iter().all(|(_, before)| before.is_some()) {
            took_micros -= took_micros / 4;
        }
        check_whole(&program.database()?)?;

        program.restart().await?;
        check_whole(&program.database()?)?;
        for (key, before) in known {
            let again = fork_with(program.api.clone(), key).await.context("a repetition is answered")?;
            answered += usize::from(before.is_some());
            ensure!(before.is_none_or(|before| before == again), "what was acknowledged has changed");
        }
        let expected = i64::try_from((life + 2) * FORKS_UNDER_WAY)?;
        ensure!(check_whole(&program.database()?)? == expected, "each key has one child");
    }
    let all = KILLS * FORKS_UNDER_WAY;
    eprintln!("{KILLS} kills, {answered} of {all} forks were acknowledged before");
    if answered == all {
        bail!("no kill met a fork under way, so nothing was tested");
    }
    Ok(())
}
