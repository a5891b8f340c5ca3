//! Troubles that a session can run into: the client clears results, goes back or compacts, a request does not fit, the
//! store is gone.

use super::super::text::{What, blocks};
use super::checks::Sent;
use super::world::World;
use crate::transcript::CLEARED;
use crate::view::{Anchor, Note, Reason, RequestKind, Restart, StoredDecisions, ViewPiece, place};

impl World {
    /// The client clears an answer of one of our tools. What opened or folded a branch still does so.
    pub(super) fn clear(&mut self, which: usize) {
        let seen = self.sent.last().map_or(0, |sent| sent.len);
        let is_act = |text: &str| text.contains("budget_allocated") || text.contains("\"success\":true");
        let answers: Vec<usize> = (0..seen.min(self.said.len()))
            .filter(|&at| matches!(&self.said[at].what, What::Result { text, .. } if is_act(text)))
            .filter(|&at| !self.is_shown(at))
            .collect();
        // Where a branch was dissolved its answer is shown as the client has it.
        if answers.is_empty() || self.has_broken {
            return;
        }
        if let What::Result { text, .. } = &mut self.said[answers[which % answers.len()]].what {
            *text = CLEARED.to_owned();
        }
        self.engine.is_needed = true;
        self.has_cleared = true;
    }

    /// Whether a model was shown a block as the client has it.
    fn is_shown(&self, at: usize) -> bool {
        let what = format!("{:?}", self.said[at].what);
        self.sent.iter().any(|sent| sent.view.contains(&what))
    }

    /// The client goes back to an earlier request and says something else.
    pub(super) fn rewind(&mut self, back: usize) {
        let Some(at) = self.sent.len().checked_sub(back + 1) else {
            return;
        };
        let len = self.sent[at].len;
        self.said.truncate(len);
        self.sent.retain(|sent| sent.len <= len);
        self.rollbacks.retain(|(at, ..)| *at < len);
        self.engine.is_needed = true;
    }

    pub(super) fn compact(&mut self, works: bool) {
        let len = self.said.len();
        self.say(What::Client("summarise all of this".into()));
        self.send(RequestKind::Compaction);
        self.said.truncate(len);
        if works {
            self.said.clear();
            self.sent.clear();
            self.rollbacks.clear();
            let words = format!("summary {}", self.next());
            self.begin(&words);
        }
    }

    /// The request does not fit: results are offloaded, and the thread restarts.
    pub(super) fn rescue(&mut self) {
        let plan = self.plan_until_done(RequestKind::Turn);
        let result = |at: usize| match &self.said[at].what {
            What::Result { call, text, loads, .. } if loads.is_empty() && text.starts_with("content") => {
                Some(call.clone())
            }
            _ => None,
        };
        let shown: Vec<(usize, String)> = plan
            .pieces
            .iter()
            .filter_map(|piece| match piece {
                ViewPiece::Keep(at) | ViewPiece::Content { block: at, .. } => Some((*at, result(*at)?)),
                ViewPiece::Text { .. } | ViewPiece::Words { .. } | ViewPiece::Quote { .. } | ViewPiece::Say { .. } => {
                    None
                }
            })
            .collect();
        let Some((_, last)) = shown.last().cloned() else {
            return;
        };
        for (at, call) in &shown {
            self.rewrite(call, *at, Reason::Rescued);
        }
        let from = shown.iter().min().map(|(_, call)| call.clone());
        let restart = plan.restart_here.clone().expect("there are results");
        let root = restart.root.clone();
        self.engine.known.restarts.push(Restart { from, ..restart });
        self.engine.known.notes.push(Note { after: last, text: format!("receipt {}", self.count) });
        self.has_broken = true;
        // Another thread may quote one of the results, if a rollback has opened again the thread that has it.
        let is_quoted =
            |piece: &String| piece.starts_with("infold quotes") && shown.iter().any(|(_, call)| piece.contains(call));
        let has_other_root = |sent: &Sent| sent.restart_here.as_ref().is_none_or(|then| then.root != root);
        self.sent.retain(|sent| has_other_root(sent) && !sent.view.iter().any(is_quoted));
    }

    /// Everything that was stored is gone. Nothing shows then where a branch was folded by force, and the provider
    /// would refuse the request: such sessions are left alone here.
    pub(super) fn lose_store(&mut self) {
        let plan = self.plan_until_done(RequestKind::Turn);
        let known = &self.engine.known;
        let is_spoken = |place: &Anchor| match place {
            Anchor::Before { block } => {
                let blocks = blocks(&self.said);
                let is_there = |at: usize| place::key(&blocks, at) == *block;
                (0..blocks.len()).any(|at| matches!(self.said[at].what, What::Person(_)) && is_there(at))
            }
            Anchor::After { .. } => false,
        };
        let are_endings_shown = known.endings.iter().all(|ending| is_spoken(&ending.place));
        let is_all_shown = are_endings_shown && known.continued.is_empty() && !self.has_cleared;
        if !is_all_shown {
            return;
        }
        let lost = plan.restart_here.map(|restart| Restart { root: None, ..restart });
        self.engine.known = StoredDecisions { restarts: lost.into_iter().collect(), ..StoredDecisions::default() };
        self.engine.is_needed = true;
        self.has_broken = true;
        self.sent.clear();
    }
}
