//! Recorded sessions, played through both programs turn by turn: as they were, and with their sub-tasks as branches.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;

use super::compare::{Group, Pair};
use super::moves::{self, Move, MovingClient};
use super::program::Program;
use super::requests::RequestStage;
use crate::measure;
use crate::measure::parts::RecordedSession;

/// Sessions that are played.
const SESSIONS: usize = 20;
/// At least so many of them have sub-tasks, if there are so many.
const WITH_SUBTASKS: usize = 8;
/// In effect no limit on branches, and windows that some sessions outgrow.
const SETTINGS: [(&str, &str); 7] = [
    ("windows.models", "[[\"gpt*\", 120000], [\"*\", 60000]]"),
    ("folding.default_timeout_seconds", "86400"),
    ("folding.max_timeout_seconds", "86400"),
    ("folding.max_budget", "100000000"),
    ("folding.max_concurrent_per_session", "100"),
    ("folding.max_concurrent_per_instance", "1000"),
    ("folding.max_branches_per_minute", "100000"),
];

/// How a session is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionWay {
    /// As it was recorded.
    InOneThread,
    /// With its sub-tasks as branches.
    InBranches,
}

/// The sessions that are played, the same in every run; `None` if there are no recordings.
pub fn chosen(data: &Path) -> Result<Option<Vec<Arc<RecordedSession>>>> {
    let Some(recorded) = measure::recorded(data)? else { return Ok(None) };
    let all = recorded.collect::<Result<Vec<_>>>()?;
    let has_subtasks =
        |session: &Arc<RecordedSession>| !moves::in_branches(&session.name, &session.transcript).is_empty();
    let (with, without): (Vec<_>, Vec<_>) = all.into_iter().partition(has_subtasks);
    let mut sessions = spread(with, |session| &session.source, WITH_SUBTASKS);
    sessions.extend(spread(without, |session| &session.source, SESSIONS - sessions.len()));
    Ok(Some(sessions))
}

/// Picks `count` of them, from all sources in turn.
pub fn spread<T>(all: Vec<T>, source: impl Fn(&T) -> &str, count: usize) -> Vec<T> {
    let mut by_source: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for one in all {
        by_source.entry(source(&one).to_owned()).or_default().push(one);
    }
    let mut queues: Vec<_> = by_source.into_values().map(Vec::into_iter).collect();
    let mut chosen = Vec::new();
    while chosen.len() < count && queues.iter().any(|queue| queue.len() > 0) {
        let round: Vec<T> = queues.iter_mut().filter_map(Iterator::next).take(count - chosen.len()).collect();
        chosen.extend(round);
    }
    chosen
}

/// Plays the sessions through both programs.
pub async fn compare(
    programs: &Pair<Program>,
    sessions: &[Arc<RecordedSession>],
    way: SessionWay,
    group: &mut Group,
) -> Result<()> {
    // With branches the budget is so small that some of them run out of it; without, it does not matter.
    let budget = if way == SessionWay::InBranches { "24000" } else { "8192" };
    let settings: Vec<(&str, &str)> = SETTINGS.into_iter().chain([("folding.default_budget", budget)]).collect();
    let (before, after) = tokio::try_join!(
        RequestStage::start(&programs.before, &settings),
        RequestStage::start(&programs.after, &settings)
    )?;
    let stages = Pair { before, after };
    for session in sessions {
        let moves = match way {
            SessionWay::InOneThread => moves::in_one_thread(&session.transcript),
            SessionWay::InBranches => moves::in_branches(&session.name, &session.transcript),
        };
        play(&stages, session, &moves, group).await?;
    }
    Ok(())
}

async fn play(stages: &Pair<RequestStage>, session: &RecordedSession, moves: &[Move], group: &mut Group) -> Result<()> {
    let mut names = stages.as_ref().map(|stage| stage.running.names());
    let (mut before, mut after) = tokio::try_join!(
        MovingClient::start(&stages.before, &session.name, &session.transcript),
        MovingClient::start(&stages.after, &session.name, &session.transcript)
    )?;
    for (number, step) in moves.iter().enumerate() {
        let (before, after) = tokio::try_join!(before.play(step), after.play(step))?;
        if let (Some(before), Some(after)) = (before, after) {
            let name = format!("{}/{number}", session.name);
            group.compare(&name, &mut names, Pair { before: &before, after: &after })?;
        }
    }
    Ok(())
}
