//! The order of entries where it is not that of the file: of two that are written at the same time either may come
//! first. A transcript has them as the model saw them; a recording that is written anew, as they are linked.

use std::collections::HashMap;

use infold_core::transcript::Kind;

use crate::numbers::Group;
use crate::reader::Entry;

/// What entries form answers, and which of them hold results.
#[derive(Debug, Default)]
pub(crate) struct AnswerOrder {
    entries: Vec<AnswerPart>,
}

/// What an entry is for the order.
#[derive(Debug)]
enum AnswerPart {
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
            Group::Alone => AnswerPart::Alone,
            Group::Answer(answer) => {
                AnswerPart::Piece { answer: answer.clone(), calls: kinds().filter_map(call).collect() }
            }
            Group::Results => AnswerPart::Results { call: kinds().find_map(result) },
        });
    }

    /// The places of the entries that are wanted, in order: the pieces of each answer together, where its first piece
    /// stands, with results behind their calls.
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

    /// The places of the entries that are wanted, in order along those that lead to the last one. What hangs beside them
    /// stands behind the last piece of its answer: first the other pieces, then the results of its calls.
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

    /// Puts results that stand before their calls behind them.
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

    /// The answer that an entry is a piece of, and the calls in it.
    fn piece(&self, at: usize) -> Option<(&str, &[String])> {
        match &self.entries[at] {
            AnswerPart::Piece { answer, calls } => Some((answer, calls)),
            AnswerPart::Alone | AnswerPart::Results { .. } => None,
        }
    }

    /// For each call the answer that it is in, and where that begins.
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
