//! Finds memories: the store gives candidates by their words, the core puts them in order.

use infold_core::Owner;
use infold_core::memory::{
    CANDIDATES_MAX, FileUse, LessonFile, LessonSource, Memory, MemoryNow, MemoryQuery, ProjectKey, QueryTexts,
    RankCandidate, RankSigns, Relevance, SEARCHED_MAX, SearchedMemory, ShownMemory, TextVector, WordFrequencies,
    WorkPlace, is_trunk, rank,
};
use infold_store::{FieldWords, MemoryCandidate, MemorySearch, SearchReach};

use super::made::is_suspicious;
use super::people::ListedMemory;
use crate::{Engine, Error};

/// Places by rank at which relevance is found out; further down nothing is shown to a branch.
const RELEVANCE_PLACES: usize = 40;

/// A memory in its place among those that were found.
#[derive(Debug, Clone)]
pub struct FoundMemory {
    /// The memory.
    pub memory: Memory,
    /// How sure it is now.
    pub confidence: f64,
    /// Whether the code that it is about has changed since.
    pub is_changed: bool,
    /// Whether the work on its git branch was seen to be in the trunk.
    pub is_merged: bool,
    /// How many openings it was given to.
    pub shown: u64,
    /// How many branches relied on it.
    pub used: u64,
    /// How sure it is that it has to do with what was asked, from 0 to 1; 0 if it is far down by rank.
    pub relevance: f64,
    /// What it was ordered by.
    pub score: f64,
    /// What each sign added to that, before what speaks against it.
    pub signs: RankSigns,
    /// What is left of the sum after what speaks against it, from 0 to 1.
    pub factor: f64,
}

impl FoundMemory {
    /// The memory as a reader is shown it.
    pub(crate) fn to_show(&self, now_ms: u64) -> ShownMemory {
        to_show(&self.memory, (self.confidence, self.is_changed), now_ms)
    }
}

impl ListedMemory {
    /// The memory as a reader is shown it.
    pub(crate) fn to_show(&self, now_ms: u64) -> ShownMemory {
        to_show(&self.row.memory, (self.confidence, self.row.is_changed), now_ms)
    }
}

fn to_show(memory: &Memory, (confidence, has_changed): (f64, bool), at_ms: u64) -> ShownMemory {
    let now = MemoryNow { at_ms, confidence, has_changed, is_suspicious: is_suspicious(memory) };
    ShownMemory {
        id: memory.id.clone(),
        header: memory.header(now),
        title: memory.lesson.title.clone(),
        lesson: memory.lesson.lesson.clone(),
    }
}

impl Engine {
    /// The memories of an owner that may be shown in a place, the best for these texts first.
    pub(crate) async fn find_memories(
        &self,
        owner: &Owner,
        place: &WorkPlace,
        texts: QueryTexts<'_>,
        reach: SearchReach,
    ) -> Result<Vec<FoundMemory>, Error> {
        self.find_in(owner, vec![place.project.clone()], texts, reach).await
    }

    /// The same in several projects.
    pub(crate) async fn find_in(
        &self,
        owner: &Owner,
        projects: Vec<ProjectKey>,
        texts: QueryTexts<'_>,
        reach: SearchReach,
    ) -> Result<Vec<FoundMemory>, Error> {
        let vector = self.meaning_of(&format!("{}\n{}", texts.description, texts.prompt)).await;
        self.find_with(owner, projects, texts, reach, vector).await
    }

    /// The same for texts that mean this.
    pub(super) async fn find_with(
        &self,
        owner: &Owner,
        projects: Vec<ProjectKey>,
        texts: QueryTexts<'_>,
        reach: SearchReach,
        vector: Option<TextVector>,
    ) -> Result<Vec<FoundMemory>, Error> {
        let query = MemoryQuery::new(texts);
        let search = MemorySearch {
            owner: owner.clone(),
            projects,
            words: query.looked_up().map(str::to_owned).collect(),
            words_max: SEARCHED_MAX,
            limit: CANDIDATES_MAX,
            reach,
            model: vector.as_ref().map(|vector| vector.model().to_owned()).unwrap_or_default(),
        };
        let found = self.inner.store.find_memories(search).await?;

        let frequencies =
            WordFrequencies { memories: found.memories, with_word: found.frequencies.into_iter().collect() };
        let meaning = |candidate: &MemoryCandidate| {
            let stored = candidate.vector.as_ref()?;
            vector.as_ref()?.cosine(&TextVector::from_stored(stored.model.clone(), &stored.bytes))
        };
        let searched: Vec<SearchedMemory> = found.candidates.iter().map(searched).collect();
        let candidates = found.candidates.iter().zip(&searched).map(|(candidate, searched)| RankCandidate {
            memory: searched,
            made_at_ms: candidate.memory.made_at_ms,
            confidence: self.confidence(&candidate.memory),
            has_changed: candidate.is_changed,
            is_merged: candidate.is_merged
                || candidate.memory.git_branch.as_ref().is_none_or(|branch| is_trunk(branch.as_str())),
            meaning: meaning(candidate),
        });
        let candidates: Vec<RankCandidate<'_>> = candidates.collect();
        let ranked = rank(&query, &frequencies, &candidates);
        let relevance = Relevance::new(&query, &searched);

        let confidences: Vec<f64> = candidates.iter().map(|candidate| candidate.confidence).collect();
        let mut found: Vec<Option<MemoryCandidate>> = found.candidates.into_iter().map(Some).collect();
        let in_order = ranked.into_iter().enumerate().filter_map(|(rank, place)| {
            let MemoryCandidate { memory, is_changed, is_merged, shown, used, .. } = found[place.candidate].take()?;
            let relevance = match memory.origin.source {
                _ if rank >= RELEVANCE_PLACES => 0.0,
                LessonSource::Mechanical => relevance.of(&searched[place.candidate]),
                LessonSource::Hand | LessonSource::Model | LessonSource::Distilled | LessonSource::Imported => {
                    relevance.of_written(&searched[place.candidate])
                }
            };
            Some(FoundMemory {
                memory,
                confidence: confidences[place.candidate],
                is_changed,
                is_merged,
                shown,
                used,
                relevance,
                score: place.score,
                signs: place.signs,
                factor: place.factor,
            })
        });
        Ok(in_order.collect())
    }
}

/// What a candidate was found by, as the core ranks it.
fn searched(candidate: &MemoryCandidate) -> SearchedMemory {
    let FieldWords { title, lesson, edited, read, commands, git } = candidate.words.clone();
    let (edited_files, other_files): (Vec<&LessonFile>, Vec<&LessonFile>) =
        candidate.memory.lesson.files.iter().partition(|file| file.used == FileUse::Edited);
    let paths = |files: Vec<&LessonFile>| files.iter().map(|file| file.path.as_str().to_owned()).collect();
    SearchedMemory {
        title,
        lesson,
        edited,
        read,
        commands,
        git,
        edited_files: paths(edited_files),
        other_files: paths(other_files),
        git_branch: candidate.memory.git_branch.as_ref().map(|branch| branch.as_str().to_owned()),
    }
}
