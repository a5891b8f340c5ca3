//! What earlier sub-tasks teach without a model, and whether it would have helped later ones.
//!
//! Every sub-task that had ended is distilled; later ones of other sessions are the queries. A lesson is *related* to a
//! later sub-task if they have a file of the same name: that is less than all that would have been of use.

use std::collections::BTreeSet;

use infold_core::EndReason;
use infold_core::memory::{
    BranchWork, ComparedLesson, ComparedTexts, DistilledDraft, EndedBranch, FileUse, MemoryKind, NEIGHBOURS_MAX,
    NearMemory, NoLesson, Placing, RunCommand, SearchedMemory, SearchedTexts, Shingles, TextVector, Trust, distil,
    place,
};

use super::plain::PlainTexts;
use super::recorded::{Subtask, as_number, strs};
use super::search::Sought;

/// A lesson of a sub-task.
pub(super) struct SubtaskLesson<'a> {
    pub subtask: &'a Subtask,
    pub draft: DistilledDraft,
    pub found_by: SearchedMemory,
    pub vector: Option<TextVector>,
    compared: ComparedLesson,
    /// The names of its files, without folders.
    pub file_names: BTreeSet<String>,
}

impl<'a> SubtaskLesson<'a> {
    fn of(subtask: &'a Subtask, draft: DistilledDraft) -> Self {
        let files = |wanted: FileUse| -> Vec<&str> {
            draft.files.iter().filter(|(_, used)| *used == wanted).map(|(path, _)| path.as_str()).collect()
        };
        let (title, lesson) = (draft.draft.title.as_str(), draft.draft.lesson.as_str());
        let commands = strs(&draft.commands);
        let found_by = SearchedMemory::of(&SearchedTexts {
            title,
            lesson,
            edited: &files(FileUse::Edited),
            read: &files(FileUse::Read),
            named: &files(FileUse::Named),
            commands: &commands,
            git_branch: None,
        });
        let all: Vec<&str> = draft.files.iter().map(|(path, _)| path.as_str()).collect();
        let (kind, trust) = (draft.draft.kind.unwrap_or(MemoryKind::Works), Trust::Own);
        let compared =
            ComparedLesson::new(ComparedTexts { title, lesson, kind, trust, files: &all, commands: &commands });
        let vector = TextVector::built_in(&format!("{title}\n{lesson}"));
        let file_names = draft.files.iter().map(|(path, _)| file_name(path)).collect();
        Self { subtask, found_by, vector, compared, file_names, draft }
    }

    pub fn sought(&self) -> Sought<'_> {
        let ended = as_number(self.subtask.ended_at());
        Sought { found_by: &self.found_by, ended, vector: self.vector.as_ref() }
    }

    /// What becomes of it beside the lessons that are kept.
    fn placed(&self, kept: &[SubtaskLesson<'_>]) -> Placing {
        let same_repo: Vec<&SubtaskLesson<'_>> =
            kept.iter().filter(|other| other.subtask.repo == self.subtask.repo).collect();
        let SearchedMemory { title, lesson, .. } = &self.found_by;
        let texts = same_repo.iter().map(|other| vec![other.found_by.title.as_str(), other.found_by.lesson.as_str()]);
        let words = title.split_ascii_whitespace().chain(lesson.split_ascii_whitespace());
        let scores = PlainTexts::of(texts).scores(words);
        let mut nearest: Vec<usize> = (0..same_repo.len()).collect();
        nearest.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        let near = |at: &usize| {
            let other = same_repo[*at];
            let meaning = self.vector.as_ref().zip(other.vector.as_ref()).and_then(|(one, other)| one.cosine(other));
            NearMemory { lesson: other.compared.clone(), meaning }
        };
        let near: Vec<NearMemory> = nearest.iter().take(NEIGHBOURS_MAX).map(near).collect();
        place(&self.compared, &near, &Shingles::default())
    }
}

/// What all sub-tasks taught, in the order in which they ended.
pub(super) struct Learnt<'a> {
    /// Lessons that are no duplicates.
    pub kept: Vec<SubtaskLesson<'a>>,
    pub succeeded: Lessons,
    pub failed: Lessons,
}

/// What became of some sub-tasks.
#[derive(Debug, Default)]
pub(super) struct Lessons {
    pub subtasks: usize,
    pub new: usize,
    /// Lessons that say otherwise than an older one, and take its place.
    pub replacing: usize,
    pub duplicates: usize,
    pub too_little_said: usize,
    pub nothing_named: usize,
    pub others_without: usize,
    pub chars: Vec<usize>,
}

impl<'a> Learnt<'a> {
    pub fn of(subtasks: &'a [Subtask]) -> Self {
        let mut in_time: Vec<&Subtask> = subtasks.iter().collect();
        in_time.sort_by_key(|subtask| (subtask.ended_at(), subtask.id.as_str()));
        let mut learnt = Self { kept: Vec::new(), succeeded: Lessons::default(), failed: Lessons::default() };
        for subtask in in_time {
            let of_its_kind = if succeeded(subtask) { &mut learnt.succeeded } else { &mut learnt.failed };
            of_its_kind.subtasks += 1;
            let lesson = match distilled(subtask) {
                Ok(lesson) => lesson,
                Err(none) => {
                    match none {
                        NoLesson::TooLittleSaid => of_its_kind.too_little_said += 1,
                        NoLesson::NothingNamed => of_its_kind.nothing_named += 1,
                        NoLesson::SuchAnEnd | NoLesson::TooLittleWork => of_its_kind.others_without += 1,
                    }
                    continue;
                }
            };
            match lesson.placed(&learnt.kept) {
                Placing::New => of_its_kind.new += 1,
                Placing::Replaces(_) => of_its_kind.replacing += 1,
                Placing::Same(_) | Placing::Waits(_) | Placing::AlreadyKnown => {
                    of_its_kind.duplicates += 1;
                    continue;
                }
            }
            of_its_kind.chars.push(lesson.draft.draft.lesson.chars().count());
            learnt.kept.push(lesson);
        }
        learnt
    }
}

/// The last part of a path.
pub(super) fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Whether a sub-task did what it was asked, as far as its session shows.
pub(super) fn succeeded(subtask: &Subtask) -> bool {
    subtask.status == "completed" && !subtask.error
}

/// What a sub-task teaches.
pub(super) fn distilled(subtask: &Subtask) -> Result<SubtaskLesson<'_>, NoLesson> {
    let reason = match (succeeded(subtask), subtask.error) {
        (true, _) => EndReason::Returned,
        (false, true) => EndReason::ReportedFailure,
        // It has no result: its session ended before.
        (false, false) => EndReason::SessionEnded,
    };
    let branch = EndedBranch {
        description: &subtask.description,
        prompt: &subtask.prompt,
        reason,
        said: subtask.result.as_deref().unwrap_or_default(),
        operations: subtask.n_tools,
    };
    let run = |command: &String| RunCommand { command: command.clone(), failure: None };
    let work = BranchWork {
        edited: subtask.edited.clone(),
        read: subtask.read.clone(),
        commands: subtask.commands.iter().map(run).collect(),
    };
    distil(&branch, &work).map(|draft| SubtaskLesson::of(subtask, draft))
}
