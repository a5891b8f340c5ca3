//! Puts entries into their right order, which is not always that of the file: of two entries that are written at the
//! same time, either may come first.
//!
//! There are two right orders. A transcript has entries as the model saw them ([`AnswerOrder::together`]). A recording
//! that is written again has them as their links lead from one to the next ([`AnswerOrder::linked`]). Which entries are
//! wanted at all is decided in `live`.

use std::collections::HashMap;

use infold_core::transcript::Kind;

use crate::numbers::EntryGroup;
use crate::reader::Entry;

/// For each entry of a session, by its index, what matters for the order.
#[derive(Debug, Default)]
pub(crate) struct AnswerOrder {
    entries: Vec<AnswerPart>,
}

/// What matters of one entry for the order.
#[derive(Debug)]
enum AnswerPart {
    Alone,
    /// A piece of the answer with this id, and the ids of the calls in it.
    Piece {
        answer: String,
        calls: Vec<String>,
    },
    /// Results of calls; `call` is the call of the first one.
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
            EntryGroup::Alone => AnswerPart::Alone,
            EntryGroup::Answer(answer) => {
                AnswerPart::Piece { answer: answer.clone(), calls: kinds().filter_map(call).collect() }
            }
            EntryGroup::Results => AnswerPart::Results { call: kinds().find_map(result) },
        });
    }

    /// The wanted entries in the order in which the model saw them: the pieces of each answer together, at the place of
    /// the first piece, and results after their calls.
    pub(crate) fn together(&self, is_wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        let wanted: Vec<usize> = (0..self.entries.len()).filter(|at| is_wanted(*at)).collect();
        let begins = self.beginnings(&wanted);
        let mut buckets: Vec<Vec<usize>> = Vec::with_capacity(wanted.len());
        let mut answers: HashMap<&str, usize> = HashMap::new();
        let mut early: HashMap<&str, Vec<usize>> = HashMap::new();
        for at in wanted {
            match &self.entries[at] {
                AnswerPart::Piece { answer, .. } => match answers.get(answer.as_str()) {
                    Some(bucket) => buckets[*bucket].push(at),
                    None => {
                        answers.insert(answer, buckets.len());
                        buckets.push(vec![at]);
                        buckets.extend(early.remove(answer.as_str()));
                    }
                },
                AnswerPart::Results { call } => match call.as_deref().and_then(|call| begins.get(call)) {
                    Some((answer, begin)) if *begin > at => early.entry(answer).or_default().push(at),
                    Some(_) | None => buckets.push(vec![at]),
                },
                AnswerPart::Alone => buckets.push(vec![at]),
            }
        }
        buckets.into_iter().flatten().collect()
    }

    /// The wanted entries in the order of their links: those that lead to the last entry, as `leads` says, in the order
    /// of the file. Entries beside this path come after the last piece of their answer: first its other pieces, then
    /// the results of its calls.
    pub(crate) fn linked(&self, leads: &[bool], is_wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        let wanted: Vec<usize> = (0..self.entries.len()).filter(|at| is_wanted(*at)).collect();
        let mut ends: HashMap<&str, usize> = HashMap::new();
        for at in wanted.iter().filter(|at| leads[**at]) {
            ends.extend(self.piece(*at).map(|(answer, _)| (answer, *at)));
        }
        let mut ends_of_calls: HashMap<&str, usize> = HashMap::new();
        for (answer, calls) in wanted.iter().filter_map(|at| self.piece(*at)) {
            ends_of_calls
                .extend(ends.get(answer).into_iter().flat_map(|end| calls.iter().map(|call| (call.as_str(), *end))));
        }
        let mut order = Vec::with_capacity(wanted.len());
        let mut beside: HashMap<usize, [Vec<usize>; 2]> = HashMap::new();
        for at in wanted {
            let (sort, end) = match &self.entries[at] {
                _ if leads[at] => (0, None),
                AnswerPart::Alone => (0, None),
                AnswerPart::Piece { answer, .. } => (0, ends.get(answer.as_str())),
                AnswerPart::Results { call } => (1, call.as_deref().and_then(|call| ends_of_calls.get(call))),
            };
            match end {
                Some(end) => beside.entry(*end).or_default()[sort].push(at),
                None => order.push(at),
            }
        }
        let with_beside = |at: usize| [at].into_iter().chain(beside.remove(&at).into_iter().flatten().flatten());
        self.behind_calls(order.into_iter().flat_map(with_beside).collect())
    }

    /// Moves results that come before their calls to after them.
    fn behind_calls(&self, order: Vec<usize>) -> Vec<usize> {
        let of_piece = |(place, at): (usize, &usize)| Some((place, self.piece(*at)?.1));
        let pieces = order.iter().enumerate().filter_map(of_piece);
        let calls: HashMap<&str, usize> =
            pieces.flat_map(|(place, calls)| calls.iter().map(move |call| (call.as_str(), place))).collect();
        let mut early: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut behind = Vec::with_capacity(order.len());
        for (place, at) in order.into_iter().enumerate() {
            let call = if let AnswerPart::Results { call } = &self.entries[at] { call.as_deref() } else { None };
            match call.and_then(|call| calls.get(call)) {
                Some(of_call) if *of_call > place => early.entry(*of_call).or_default().push(at),
                Some(_) | None => behind.push(at),
            }
            behind.extend(early.remove(&place).unwrap_or_default());
        }
        behind
    }

    /// The answer that an entry is a piece of, and the calls in that piece.
    fn piece(&self, at: usize) -> Option<(&str, &[String])> {
        match &self.entries[at] {
            AnswerPart::Piece { answer, calls } => Some((answer, calls)),
            AnswerPart::Alone | AnswerPart::Results { .. } => None,
        }
    }

    /// For each call, the answer that it is in and the first entry of that answer.
    fn beginnings(&self, wanted: &[usize]) -> HashMap<&str, (&str, usize)> {
        let mut begins: HashMap<&str, usize> = HashMap::new();
        let mut of_calls = HashMap::new();
        for (at, (answer, calls)) in wanted.iter().filter_map(|at| Some((at, self.piece(*at)?))) {
            let begin = *begins.entry(answer).or_insert(*at);
            of_calls.extend(calls.iter().map(|call| (call.as_str(), (answer, begin))));
        }
        of_calls
    }
}
