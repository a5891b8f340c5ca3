//! The order in which a model saw entries, where it is not that of the file: of two that are written at the same time
//! either may come first.

use std::collections::HashMap;

use infold_core::transcript::Kind;

use crate::numbers::Group;
use crate::reader::Entry;

/// What entries form answers, and which of them hold results.
#[derive(Debug, Default)]
pub(crate) struct AnswerOrder {
    entries: Vec<Member>,
}

/// What an entry is for the order.
#[derive(Debug)]
enum Member {
    Alone,
    /// A piece of an answer, with the calls in it.
    Piece {
        answer: String,
        calls: Vec<String>,
    },
    /// Results, the first of them of this call.
    Results {
        call: Option<String>,
    },
}

impl AnswerOrder {
    pub(crate) fn of<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Self {
        let mut order = Self::default();
        entries.into_iter().for_each(|entry| order.push(entry));
        order
    }

    pub(crate) fn push(&mut self, entry: &Entry) {
        let kinds = || entry.items.iter().map(|item| &item.kind);
        let call = |kind: &Kind| if let Kind::Call { id, .. } = kind { Some(id.clone()) } else { None };
        let result = |kind: &Kind| if let Kind::Result { id, .. } = kind { Some(id.clone()) } else { None };
        self.entries.push(match &entry.group {
            Group::Alone => Member::Alone,
            Group::Answer(answer) => {
                Member::Piece { answer: answer.clone(), calls: kinds().filter_map(call).collect() }
            }
            Group::Results => Member::Results { call: kinds().find_map(result) },
        });
    }

    /// The places of the entries that are wanted, in order: the pieces of each answer together, where its first piece
    /// stands, with results behind their calls.
    pub(crate) fn places(&self, is_wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        let wanted: Vec<usize> = (0..self.entries.len()).filter(|at| is_wanted(*at)).collect();
        let begins = self.beginnings(&wanted);
        let mut buckets: Vec<Vec<usize>> = Vec::with_capacity(wanted.len());
        let mut answers: HashMap<&str, usize> = HashMap::new();
        let mut early: HashMap<&str, Vec<usize>> = HashMap::new();
        for at in wanted {
            match &self.entries[at] {
                Member::Piece { answer, .. } => match answers.get(answer.as_str()) {
                    Some(bucket) => buckets[*bucket].push(at),
                    None => {
                        answers.insert(answer, buckets.len());
                        buckets.push(vec![at]);
                        buckets.extend(early.remove(answer.as_str()));
                    }
                },
                Member::Results { call } => match call.as_deref().and_then(|call| begins.get(call)) {
                    Some((answer, begin)) if *begin > at => early.entry(answer).or_default().push(at),
                    Some(_) | None => buckets.push(vec![at]),
                },
                Member::Alone => buckets.push(vec![at]),
            }
        }
        buckets.into_iter().flatten().collect()
    }

    /// For each call the answer that it is in, and where that begins.
    fn beginnings(&self, wanted: &[usize]) -> HashMap<&str, (&str, usize)> {
        let mut begins: HashMap<&str, usize> = HashMap::new();
        let mut of_calls = HashMap::new();
        for at in wanted {
            let Member::Piece { answer, calls } = &self.entries[*at] else { continue };
            let begin = *begins.entry(answer).or_insert(*at);
            of_calls.extend(calls.iter().map(|call| (call.as_str(), (answer.as_str(), begin))));
        }
        of_calls
    }
}
