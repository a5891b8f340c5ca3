//! What is claimed of memories, and which of it does not hold.

use super::super::resample::ResampledMean;
use super::lessons::Lessons;
use super::retrieval::Way;
use super::tables::{FoundFigure, LaterPart, QueryPart};

/// The share of successful sub-tasks that give a new lesson.
const NEW_LESSONS_MIN: f64 = 0.5;

/// A figure by which queries are judged.
pub(super) struct Figure {
    name: &'static str,
    of: FoundFigure,
}

pub(super) const NDCG: Figure = Figure { name: "nDCG@10", of: |found| found.ndcg };
pub(super) const HIT: Figure = Figure { name: "hit@5", of: |found| found.hit };

/// Claims about finding that do not hold: with vectors and without, better than the best other over all by each of these
/// figures, and by the last of them in no repository below the best other by more than its spread; with vectors not
/// clearly worse than without.
pub(super) fn of_retrieval(all: &QueryPart<'_>, repos: &[QueryPart<'_>], figures: &[Figure]) -> Vec<String> {
    let mut missed = Vec::new();
    for way in [Way::Ours, Way::OursWithMeaning] {
        for Figure { name, of } in figures {
            let other = all.best_other(*of);
            let ResampledMean { mean, low, .. } = all.gain(way, other, *of);
            if low <= 0.0 {
                let (part, way, other) = (&all.name, way.name(), other.name());
                missed
                    .push(format!("{part}, {way}: {name} is above {other} by {mean:.3}, but perhaps by {low:.3} only"));
            }
        }
        let Some(Figure { name, of }) = figures.last() else { continue };
        for repo in repos {
            let other = repo.best_other(*of);
            let gain = repo.gain(way, other, *of);
            if gain.high < 0.0 {
                let (part, repo, way, other) = (&all.name, &repo.name, way.name(), other.name());
                missed.push(format!("{part} {repo}, {way}: {name} is below {other} by {:.3}", -gain.mean));
            }
        }
    }
    let vectors = all.gain(Way::OursWithMeaning, Way::Ours, NDCG.of);
    if vectors.high < 0.0 {
        missed.push(format!("{}: vectors lower nDCG@10 by {:.3}", all.name, -vectors.mean));
    }
    missed
}

/// Claims about lessons that do not hold.
pub(super) fn of_lessons(succeeded: &Lessons, later: &LaterPart<'_>) -> Vec<String> {
    let mut missed = Vec::new();
    let share = succeeded.new as f64 / succeeded.subtasks.max(1) as f64;
    if share <= NEW_LESSONS_MIN {
        missed.push(format!(
            "lessons: {share:.2} of the successful sub-tasks give a new one, {NEW_LESSONS_MIN} are claimed"
        ));
    }
    for (what, gain) in [("hits", later.gain(|files| files.hit)), ("files", later.gain(|files| files.share))] {
        if gain.low <= 0.0 {
            missed.push(format!(
                "lessons: {what} are above the newest first by {:.3} at least {:.3}",
                gain.mean, gain.low
            ));
        }
    }
    missed
}

#[cfg(test)]
mod tests;
