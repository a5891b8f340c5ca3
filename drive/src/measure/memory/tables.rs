//! The tables of memories.

use super::super::parts::half_of;
use super::super::resample::ResampledMean;
use super::later::{FilesFound, LaterTask, ShownLessons};
use super::lessons::{Learnt, Lessons};
use super::retrieval::{QueryFound, Way, WayFound};

/// One figure of how well a way did.
pub(super) type FoundFigure = fn(WayFound) -> f64;
/// What one way would have shown to a task.
type ShownTo = fn(&LaterTask) -> ShownLessons;

/// A part of some queries, with the name of its row.
pub(super) struct QueryPart<'a> {
    pub name: String,
    pub found: Vec<&'a QueryFound>,
}

impl QueryPart<'_> {
    pub fn mean(&self, way: Way, figure: FoundFigure) -> f64 {
        self.found.iter().map(|one| figure(one.by(way))).sum::<f64>() / self.found.len().max(1) as f64
    }

    /// The best of those that infold is compared with, by one figure.
    pub fn best_other(&self, figure: FoundFigure) -> Way {
        let mut best = Way::OTHERS[0];
        for way in Way::OTHERS {
            if self.mean(way, figure) > self.mean(best, figure) {
                best = way;
            }
        }
        best
    }

    /// By how much one way is better than another.
    pub fn gain(&self, way: Way, other: Way, figure: FoundFigure) -> ResampledMean {
        let gain = |one: &&QueryFound| figure(one.by(way)) - figure(one.by(other));
        ResampledMean::of(&self.found.iter().map(gain).collect::<Vec<_>>())
    }
}

/// All queries, their halves, and those of each repository.
pub(super) fn parts<'a>(name: &str, found: &'a [QueryFound]) -> (Vec<QueryPart<'a>>, Vec<QueryPart<'a>>) {
    let part = |name: String, is_in: &dyn Fn(&QueryFound) -> bool| QueryPart {
        name,
        found: found.iter().filter(|one| is_in(one)).collect(),
    };
    let half = |half: u64| part(format!("– half {half}"), &|one| half_of(&one.id) == half);
    let whole = vec![part(format!("**{name}**"), &|_| true), half(0), half(1)];
    let mut repos: Vec<&str> = found.iter().map(|one| one.repo.as_str()).collect();
    repos.sort_unstable();
    repos.dedup();
    let of_repos = repos.iter().map(|repo| part(format!("– {repo}"), &|one| one.repo == *repo)).collect();
    (whole, of_repos)
}

pub(super) fn retrieval<'a>(parts: impl Iterator<Item = &'a QueryPart<'a>>) -> String {
    let ways: Vec<&str> = Way::ALL.iter().map(|way| way.name()).collect();
    let mut text = format!(
        "| nDCG@10, hit@5 | queries | {} | infold more than the best other by (95 % of resamples) |\n|---|---|{}---|\n",
        ways.join(" | "),
        "---|".repeat(ways.len())
    );
    let (ndcg, hit): (FoundFigure, FoundFigure) = (|found| found.ndcg, |found| found.hit);
    for part in parts {
        let cell = |way: &Way| format!("{:.3}, {:.3}", part.mean(*way, ndcg), part.mean(*way, hit));
        let cells: Vec<String> = Way::ALL.iter().map(cell).collect();
        let more = |figure| signed(part.gain(Way::OursWithMeaning, part.best_other(figure), figure));
        let gains = [ndcg, hit].map(more);
        text.push_str(&format!(
            "| {} | {} | {} | {} |\n",
            part.name,
            part.found.len(),
            cells.join(" | "),
            gains.join(", ")
        ));
    }
    text.push('\n');
    text
}

pub(super) fn learnt(learnt: &Learnt<'_>) -> String {
    let mut text =
        "| sub-tasks | all | give a new lesson | one that replaces an older | a duplicate | none: too little said, \
                    nothing named, little done | characters (median) |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    for (name, lessons) in [("succeeded", &learnt.succeeded), ("did not", &learnt.failed)] {
        let Lessons { subtasks, new, replacing, duplicates, too_little_said, nothing_named, others_without, chars } =
            lessons;
        let mut chars = chars.clone();
        chars.sort_unstable();
        let median = chars.get(chars.len() / 2).copied().unwrap_or(0);
        let percent = 100.0 * *new as f64 / (*subtasks).max(1) as f64;
        text.push_str(&format!(
            "| {name} | {subtasks} | {new} ({percent:.0} %) | {replacing} | {duplicates} | {too_little_said}, \
             {nothing_named}, {others_without} | {median} |\n"
        ));
    }
    text.push('\n');
    text
}

/// A part of the later sub-tasks, with the name of its row.
pub(super) struct LaterPart<'a> {
    pub name: &'static str,
    pub tasks: Vec<&'a LaterTask>,
}

pub(super) fn later_parts(tasks: &[LaterTask]) -> [LaterPart<'_>; 3] {
    let half = |half: u64| tasks.iter().filter(|task| half_of(&task.id) == half).collect();
    [
        LaterPart { name: "**later sub-tasks**", tasks: tasks.iter().collect() },
        LaterPart { name: "– half 0", tasks: half(0) },
        LaterPart { name: "– half 1", tasks: half(1) },
    ]
}

impl LaterPart<'_> {
    fn mean(&self, figure: impl Fn(&LaterTask) -> f64) -> f64 {
        self.tasks.iter().map(|task| figure(task)).sum::<f64>() / self.tasks.len().max(1) as f64
    }

    /// By how much lessons find more than the newest ones.
    pub fn gain(&self, figure: fn(FilesFound) -> f64) -> ResampledMean {
        let gains = self.tasks.iter().map(|task| figure(task.ours) - figure(task.newest));
        ResampledMean::of(&gains.collect::<Vec<_>>())
    }
}

pub(super) fn later(parts: &[LaterPart<'_>]) -> String {
    let mut text = "| a lesson with a file of the task among the first 5, share of its files named by them | tasks | newest \
                    first | BM25 | infold | infold more than the newest by (95 % of resamples) |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for part in parts {
        let cell = |of: fn(&LaterTask) -> FilesFound| {
            format!("{:.3}, {:.3}", part.mean(|task| of(task).hit), part.mean(|task| of(task).share))
        };
        let gains = [part.gain(|files| files.hit), part.gain(|files| files.share)].map(signed);
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            part.name,
            part.tasks.len(),
            cell(|task| task.newest),
            cell(|task| task.plain),
            cell(|task| task.ours),
            gains.join(", ")
        ));
    }
    text.push('\n');
    text
}

pub(super) fn shown(parts: &[LaterPart<'_>]) -> String {
    let mut text =
        "| shown to a later sub-task | lessons a task | unrelated, % | files changed since, % | tasks shown any, % \
                    | shown a related one, % |\n|---|---|---|---|---|---|\n"
            .to_owned();
    let ways: [(&str, ShownTo); 3] = [
        ("the first ten", |task| task.ungated),
        ("as shipped", |task| task.gated),
        ("without mechanical lessons", |_| ShownLessons::default()),
    ];
    for part in parts {
        for (way, of) in ways {
            let count = part.mean(|task| of(task).shown as f64);
            let share =
                |of_them: f64| if count > 0.0 { format!("{:.0}", 100.0 * of_them / count) } else { "–".to_owned() };
            let any =
                |figure: fn(ShownLessons) -> usize| 100.0 * part.mean(|task| f64::from(u8::from(figure(of(task)) > 0)));
            text.push_str(&format!(
                "| {}, {way} | {count:.2} | {} | {} | {:.0} | {:.0} |\n",
                part.name,
                share(part.mean(|task| (of(task).shown - of(task).related) as f64)),
                share(part.mean(|task| of(task).changed as f64)),
                any(|shown| shown.shown),
                any(|shown| shown.related),
            ));
        }
    }
    text.push('\n');
    text
}

fn signed(ResampledMean { mean, low, high }: ResampledMean) -> String {
    format!("{mean:+.3} ({low:+.2} to {high:+.2})")
}
