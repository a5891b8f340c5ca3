//! Finds out why the provider's cache missed: by the first place where a request differs from the one before it in its
//! thread, and by what else is known to make caches miss.

use infold_core::record::{Cause, Divergence, Miss, Part, PartAuthor, PartKind, Usage, Whereabouts, diverge};
use infold_core::view::RequestKind;
use infold_core::{Counter, Owner};

use super::{Last, RequestSeen, locked};
use crate::Engine;

/// Tokens that may be missing without a report: caches work in blocks.
const SLACK_TOKENS: u64 = 1_024;
/// The same as a percentage of what could have been read from the cache.
const SLACK_PERCENT: u64 = 10;
/// How long providers keep what was cached, unless the client asks for longer.
const CACHE_LASTS_MS: u64 = 5 * 60 * 1_000;
/// How many marks of a prompt are remembered. What lies behind them is not compared.
const MARKS_MAX: usize = 8_192;

/// Why the cache missed, before names are scrubbed and places found.
enum Why {
    FirstOfThread,
    NotSeen,
    OtherModel(String),
    Lapsed { idle_ms: u64 },
    CutBack { shared: usize },
    Changed { shared: usize },
    NotCached,
}

impl Engine {
    /// Finds what the cache could have given and did not, and remembers the request for the next one.
    pub(super) fn miss(&self, owner: &Owner, seen: &RequestSeen, at_ms: u64, counter: &Counter) -> Option<Miss> {
        // Requests for titles and the like share no prefix with anything.
        let usage = seen.usage.filter(|_| seen.kind != RequestKind::Side)?;

        let (could_tokens, why) = self.compared(owner, seen, at_ms, counter, &usage);
        let client_changed = self.client_changed(owner, seen);
        if seen.kind == RequestKind::Turn {
            self.remember(owner, seen, at_ms, &usage);
        }

        let missed_tokens = could_tokens.min(usage.prompt_tokens()).saturating_sub(usage.cache_read_tokens);
        let is_worth_telling = missed_tokens > SLACK_TOKENS.max(could_tokens * SLACK_PERCENT / 100);
        is_worth_telling.then(|| Miss { missed_tokens, cause: self.cause(why, seen, client_changed) })
    }

    /// The first part that the client changed in the middle of its conversation, if it did.
    fn client_changed(&self, owner: &Owner, seen: &RequestSeen) -> Option<usize> {
        let mut sessions = locked(&self.inner.recorder.wanted);
        let last = sessions.get(&(owner.clone(), seen.session.clone()))?;
        match diverge(&last.marks, seen.parts.wanted()) {
            Divergence::Changed { shared } => Some(shared),
            Divergence::Extends | Divergence::CutBack { .. } => None,
        }
    }

    /// How many tokens the cache could have given, and why it might not have given them.
    fn compared(&self, owner: &Owner, seen: &RequestSeen, at_ms: u64, counter: &Counter, usage: &Usage) -> (u64, Why) {
        let recorder = &self.inner.recorder;
        let sent = seen.parts.sent();
        let key = |thread| (owner.clone(), seen.session.clone(), thread);
        let newest = locked(&recorder.newest).get(&(owner.clone(), seen.session.clone())).cloned();
        let mut threads = locked(&recorder.threads);
        if let Some(last) = threads.get(&key(seen.thread.clone())) {
            return after(last, seen, at_ms, counter);
        }
        if let Some(other) = newest.and_then(|thread| threads.get(&key(thread))) {
            let shared = diverge(&other.sent, sent).shared(other.sent.len());
            return (tokens_of(&sent[..shared], counter), Why::FirstOfThread);
        }
        // A conversation in which the model has spoken was sent before, but this process has not seen that.
        let has_spoken = sent.iter().any(|part| matches!(part.kind, PartKind::Assistant | PartKind::Call));
        (if has_spoken { usage.prompt_tokens() } else { 0 }, Why::NotSeen)
    }

    fn remember(&self, owner: &Owner, seen: &RequestSeen, at_ms: u64, usage: &Usage) {
        let recorder = &self.inner.recorder;
        let last = Last {
            sent: seen.parts.sent().iter().take(MARKS_MAX).map(Part::mark).collect(),
            model: seen.model.clone(),
            at_ms,
            prompt_tokens: usage.prompt_tokens(),
        };
        locked(&recorder.threads).insert((owner.clone(), seen.session.clone(), seen.thread.clone()), last);
        locked(&recorder.newest).insert((owner.clone(), seen.session.clone()), seen.thread.clone());
    }

    fn cause(&self, why: Why, seen: &RequestSeen, client_changed: Option<usize>) -> Cause {
        let name = |name: &str| self.inner.recorder.names.scrubbed(name);
        let place = |parts: &[Part], shared: usize| Whereabouts {
            part: (shared + 1).min(parts.len().max(1)),
            parts: parts.len(),
            what: parts.get(shared).map_or(PartKind::Other, |part| part.kind),
            name: parts.get(shared).and_then(|part| part.name.as_deref()).map(name),
        };
        let (wanted, sent) = (seen.parts.wanted(), seen.parts.sent());
        match why {
            Why::FirstOfThread => Cause::FirstOfThread,
            Why::NotSeen => Cause::NotSeen,
            Why::OtherModel(model) => Cause::ModelChanged { from: name(&model) },
            Why::Lapsed { idle_ms } => Cause::Lapsed { idle_ms },
            Why::CutBack { shared } => Cause::CutBack { place: place(sent, shared) },
            // What follows from the client's change, such as reasoning that had to go, is the client's too.
            Why::Changed { shared } => match client_changed {
                Some(at) => Cause::Changed { place: place(wanted, at), by: PartAuthor::Client },
                None => Cause::Changed { place: place(sent, shared), by: PartAuthor::Infold },
            },
            Why::NotCached => Cause::NotCached,
        }
    }
}

/// How many tokens a request could have read of the one before it in its thread, and why it might not have.
fn after(last: &Last, seen: &RequestSeen, at_ms: u64, counter: &Counter) -> (u64, Why) {
    let sent = seen.parts.sent();
    let divergence = diverge(&last.sent, sent);
    if last.model != seen.model {
        return (last.prompt_tokens, Why::OtherModel(last.model.clone()));
    }
    let idle_ms = at_ms.saturating_sub(last.at_ms);
    match divergence {
        // Everything behind a changed part has to be written to the cache again.
        Divergence::Changed { shared } => (last.prompt_tokens, Why::Changed { shared }),
        Divergence::CutBack { shared } => (tokens_of(&sent[..shared], counter), Why::CutBack { shared }),
        Divergence::Extends if idle_ms > CACHE_LASTS_MS => (last.prompt_tokens, Why::Lapsed { idle_ms }),
        Divergence::Extends => (last.prompt_tokens, Why::NotCached),
    }
}

fn tokens_of(parts: &[Part], counter: &Counter) -> u64 {
    counter.tokens(&parts.iter().map(|part| part.size).sum())
}
