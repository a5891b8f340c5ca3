//! Whether what earlier sub-tasks taught would have helped later ones of other sessions.

use std::collections::BTreeSet;

use infold_core::memory::Relevance;

use super::lessons::{SubtaskLesson, file_name};
use super::plain::PlainTexts;
use super::recorded::{RecordedQuery, RecordedWork};
use super::search::{Meaning, Sought, search};

/// The first lessons by which files are found.
const FIRST: usize = 5;
/// What the settings begin with: how relevant a memory must be to be shown, and how many are shown at most.
const RELEVANCE_MIN: f64 = 0.4;
const SHOWN_MAX: usize = 10;

/// How well the first five lessons find the files of a later sub-task.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct FilesFound {
    /// Whether one of the lessons shares a file with it.
    pub hit: f64,
    /// The share of its files that the lessons name.
    pub share: f64,
}

/// What lessons a branch would have been shown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ShownLessons {
    pub shown: usize,
    /// Those that share a file with the branch.
    pub related: usize,
    /// Those with an edited file that another session edited between the lesson and the branch.
    pub changed: usize,
}

/// A later sub-task.
#[derive(Debug)]
pub(super) struct LaterTask {
    pub id: String,
    pub newest: FilesFound,
    pub plain: FilesFound,
    pub ours: FilesFound,
    /// Without the gate, the first ten.
    pub ungated: ShownLessons,
    pub gated: ShownLessons,
}

/// Looks at every sub-task that has lessons of earlier ones.
pub(super) fn run(recorded: &RecordedWork, lessons: &[SubtaskLesson<'_>]) -> Vec<LaterTask> {
    recorded.of_subtasks.iter().filter_map(|query| one(recorded, lessons, query)).collect()
}

fn one(recorded: &RecordedWork, lessons: &[SubtaskLesson<'_>], query: &RecordedQuery) -> Option<LaterTask> {
    let is_earlier = |lesson: &&SubtaskLesson<'_>| {
        let subtask = lesson.subtask;
        subtask.repo == query.repo && subtask.ended_at() < query.at.as_str() && subtask.session != query.session
    };
    let pool: Vec<&SubtaskLesson<'_>> = lessons.iter().filter(is_earlier).collect();
    if pool.is_empty() {
        return None;
    }
    let wanted: BTreeSet<String> = query.files.iter().map(|path| file_name(path)).collect();
    let is_related = |at: &usize| !pool[*at].file_names.is_disjoint(&wanted);

    let sought: Vec<Sought<'_>> = pool.iter().map(|lesson| lesson.sought()).collect();
    let found = search(query, Meaning::Counts, &sought);
    let mut newest: Vec<usize> = (0..pool.len()).collect();
    newest.sort_by_key(|at| std::cmp::Reverse(sought[*at].ended));
    let plain = by_plain_words(&sought, &newest, query);

    let relevance = Relevance::new(&found.query, found.order.iter().map(|at| sought[*at].found_by));
    let first = &found.order[..found.order.len().min(SHOWN_MAX)];
    let passes = |at: &&usize| relevance.of(sought[**at].found_by) >= RELEVANCE_MIN;
    let shown = |shown: Vec<&usize>| ShownLessons {
        shown: shown.len(),
        related: shown.iter().filter(|at| is_related(at)).count(),
        changed: shown.iter().filter(|at| has_changed(recorded, pool[***at], query)).count(),
    };
    let files = |order: &[usize]| {
        let first = &order[..order.len().min(FIRST)];
        let named: BTreeSet<&String> = first.iter().flat_map(|at| &pool[*at].file_names).collect();
        let hit = if first.iter().any(is_related) { 1.0 } else { 0.0 };
        let share = wanted.iter().filter(|name| named.contains(name)).count() as f64 / wanted.len().max(1) as f64;
        FilesFound { hit, share }
    };
    Some(LaterTask {
        id: query.id().to_owned(),
        newest: files(&newest),
        plain: files(&plain),
        ours: files(&found.order),
        ungated: shown(first.iter().collect()),
        gated: shown(first.iter().filter(passes).collect()),
    })
}

/// By plain BM25 over titles and lessons, of equal ones the newest first.
fn by_plain_words(sought: &[Sought<'_>], newest: &[usize], query: &RecordedQuery) -> Vec<usize> {
    let texts =
        PlainTexts::of(sought.iter().map(|one| vec![one.found_by.title.as_str(), one.found_by.lesson.as_str()]));
    let scores = texts.scores(super::retrieval::stems(&query.query).split_ascii_whitespace());
    let mut order = newest.to_vec();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    order
}

/// Whether another session has edited a file that the lesson's sub-task edited, after it and before the query.
fn has_changed(recorded: &RecordedWork, lesson: &SubtaskLesson<'_>, query: &RecordedQuery) -> bool {
    let subtask = lesson.subtask;
    let names: BTreeSet<String> = subtask.edited.iter().map(|path| file_name(path)).collect();
    let is_between = |ended_at: &str| subtask.ended_at() < ended_at && ended_at < query.at.as_str();
    let others = recorded.findable.iter().filter(|other| other.repo == query.repo && other.session != subtask.session);
    let mut later = others.filter(|other| is_between(&other.ended_at));
    later.any(|other| other.found_by.edited_files.iter().any(|path| names.contains(&file_name(path))))
}
