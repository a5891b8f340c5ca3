//! Measures what folding saves, by the sub-tasks that were recorded: what the session cost because subagents did them
//! in threads of their own, and what it would have cost had the main agent done them itself.

use infold_core::Counter;
use infold_core::transcript::{Item, Kind, Subtask, Transcript};
use serde::{Deserialize, Serialize};

use crate::play::play;
use crate::seen_texts::{Look, SeenTexts};
use crate::thread::{Asked, Thread, ThreadLayout, answers};
use crate::{Compactions, Measures, Policy};

/// A session with sub-tasks, measured in three ways. The folded measures include the sub-tasks' own threads, except for
/// the peak, which is the main thread's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Folding {
    /// How many sub-tasks were recorded with their work.
    pub subtasks: u64,
    /// The tokens of everything in the sub-tasks' threads.
    pub work_tokens: u64,
    /// The tokens of the results that the sub-tasks gave to the main thread.
    pub returned_tokens: u64,
    /// The session if the work had been done in the main thread.
    pub inline: Measures,
    /// The session as it was, with each sub-task in a thread of its own.
    pub folded: Measures,
    /// The session as it was, but with infold's shaping in every thread.
    pub folded_and_shaped: Measures,
}

impl Folding {
    /// Adds the figures of another session.
    pub fn add(&mut self, other: &Self) {
        self.subtasks += other.subtasks;
        self.work_tokens += other.work_tokens;
        self.returned_tokens += other.returned_tokens;
        self.inline.add(&other.inline);
        self.folded.add(&other.folded);
        self.folded_and_shaped.add(&other.folded_and_shaped);
    }
}

/// Measures a session in the three ways; `None` if no sub-task was recorded with its work. `folded` and `shaped` are
/// the measures of the main thread.
pub(crate) fn folding(
    transcript: &Transcript,
    main: &Thread<'_>,
    compactions: Compactions,
    folded: &Measures,
    shaped: &Measures,
) -> Option<Folding> {
    let subtasks: Vec<&Subtask> = transcript.subtasks.iter().filter(|subtask| !work(subtask).is_empty()).collect();
    if subtasks.is_empty() {
        return None;
    }
    let mut out = Folding {
        subtasks: subtasks.len() as u64,
        folded: folded.clone(),
        folded_and_shaped: shaped.clone(),
        ..Folding::default()
    };
    let counter = Counter::new(main.family);
    for subtask in &subtasks {
        let items: Vec<&Item> = subtask.items.iter().collect();
        out.work_tokens += items.iter().map(|item| counter.count_item(item)).sum::<u64>();
        let asked = answers(&items, counter);
        let (thread, mut texts) = beside(main, &items, asked, compactions);
        add_apart(&mut out.folded, play(&thread, &mut texts, Policy::AsItWas).measures);
        add_apart(&mut out.folded_and_shaped, play(&thread, &mut texts, Policy::SHAPED).measures);
    }
    for item in &transcript.items {
        if let Kind::Result { id, text, .. } = &item.kind
            && subtasks.iter().any(|subtask| subtask.call == *id)
        {
            out.returned_tokens += counter.count(text);
        }
    }

    let (items, asked) = inlined(transcript, &subtasks, counter);
    let (thread, mut texts) = beside(main, &items, asked, compactions);
    out.inline = play(&thread, &mut texts, Policy::AsItWas).measures;
    Some(out)
}

/// Makes a thread with the same model and base as the main one.
fn beside<'a>(
    main: &Thread<'_>,
    items: &[&'a Item],
    asked: Vec<Asked<'a>>,
    compactions: Compactions,
) -> (Thread<'a>, SeenTexts) {
    let (mut thread, texts) = Thread::of(ThreadLayout::of(items, compactions), asked, main.family, Look::ForSizes);
    thread.base_tokens = main.base_tokens;
    (thread, texts)
}

/// Adds the measures of a sub-task's thread, without its peak: the peak is that of the main thread.
fn add_apart(measures: &mut Measures, mut apart: Measures) {
    apart.peak_tokens = 0;
    measures.add(&apart);
}

/// The items of a sub-task after its instructions, which are already in the call that started it.
fn work(subtask: &Subtask) -> &[Item] {
    let first = subtask.items.iter().position(|item| !matches!(item.kind, Kind::User { .. } | Kind::System { .. }));
    first.map_or(&[], |first| &subtask.items[first..])
}

/// The items and requests of the session, with the work of its sub-tasks in place of their results.
fn inlined<'a>(
    transcript: &'a Transcript,
    subtasks: &[&'a Subtask],
    counter: Counter,
) -> (Vec<&'a Item>, Vec<Asked<'a>>) {
    let mut items: Vec<&Item> = Vec::new();
    let mut asked = Vec::new();
    let mut calls = transcript.calls.iter().filter(|call| call.usage.prompt_tokens() > 0).peekable();
    for (at, item) in transcript.items.iter().enumerate() {
        while let Some(call) = calls.next_if(|call| call.first_item <= at) {
            let (model, output_tokens) = (call.model.as_str(), call.usage.output_tokens);
            asked.push(Asked { first_item: items.len(), model, output_tokens });
        }
        let subtask = match &item.kind {
            Kind::Result { id, .. } => subtasks.iter().find(|subtask| subtask.call == *id),
            _ => None,
        };
        let Some(subtask) = subtask else {
            items.push(item);
            continue;
        };
        let work: Vec<&Item> = work(subtask).iter().collect();
        for answer in answers(&work, counter) {
            asked.push(Asked { first_item: items.len() + answer.first_item, ..answer });
        }
        items.extend(work);
    }
    (items, asked)
}
