//! Computes what a request cost, and what it would have cost without infold.
//!
//! The second figure is an estimate: what the client wanted to send is played against a cache that holds what it wanted
//! to send before. The estimate is scaled by what the provider counted. If nothing was ever edited, it is the real
//! cost.

use infold_core::record::{Part, Usage, diverge};
use infold_core::view::RequestKind;
use infold_core::{Counter, Owner, Price};

use super::{LastWanted, RequestSeen, locked};
use crate::Engine;

/// How many marks of a prompt are remembered. What lies behind them is not compared.
const MARKS_MAX: usize = 8_192;

impl Engine {
    /// The cost of a request, and the estimated cost without infold, in millionths of a dollar. `None` if there is no
    /// price or no usage.
    pub(super) fn costs(&self, owner: &Owner, seen: &RequestSeen) -> (Option<u64>, Option<u64>) {
        let shadow = self.shadow(owner, seen);
        let Some(price) = self.inner.settings.prices.of(&seen.model) else { return (None, None) };
        let Some(usage) = seen.usage else { return (None, None) };
        let cost_micros = price.cost_micros(&usage);
        let wanted_micros = match shadow {
            Shadow::TheSame => cost_micros,
            Shadow::Shares(parts) => price.cost_micros(&wanted(seen, &usage, parts, price)),
        };
        (Some(cost_micros), Some(wanted_micros))
    }

    /// Compares what the client wanted to send with what it wanted before, and remembers it for the next request.
    fn shadow(&self, owner: &Owner, seen: &RequestSeen) -> Shadow {
        if seen.kind == RequestKind::Side {
            return Shadow::TheSame;
        }
        let key = (owner.clone(), seen.session.clone());
        let now = seen.parts.wanted();
        let mut sessions = locked(&self.inner.recorder.wanted);
        let last = sessions.get(&key).filter(|last| last.model == seen.model);
        let as_it_came = seen.edits.is_empty() && last.is_none_or(|last| last.as_it_came);
        let shared = last.map_or(0, |last| diverge(&last.marks, now).shared(last.marks.len()));
        if seen.kind == RequestKind::Turn {
            let marks = now.iter().take(MARKS_MAX).map(Part::mark).collect();
            sessions.insert(key, LastWanted { marks, model: seen.model.clone(), as_it_came });
        }
        if as_it_came { Shadow::TheSame } else { Shadow::Shares(shared) }
    }
}

/// What would have been sent without infold.
enum Shadow {
    /// The same that was sent.
    TheSame,
    /// Something that shares this many parts with what would have been sent before.
    Shares(usize),
}

/// Estimates the usage that the provider would have reported without infold.
fn wanted(seen: &RequestSeen, usage: &Usage, shared: usize, price: &Price) -> Usage {
    let counter = Counter::new(infold_core::Family::of_model(&seen.model));
    let (wanted, sent) = (seen.parts.wanted(), seen.parts.sent());
    let sent_tokens = tokens(sent, &counter).max(1);
    let scaled = |tokens: u64| tokens * usage.prompt_tokens() / sent_tokens;
    let prompt_tokens = scaled(tokens(wanted, &counter));
    let caches = usage.cache_read_tokens + usage.cache_write_tokens > 0;
    // If the provider's cache had lapsed, it would have lapsed without infold too.
    let cache_read_tokens = if usage.cache_read_tokens > 0 { scaled(tokens(&wanted[..shared], &counter)) } else { 0 };
    let rest_tokens = prompt_tokens.saturating_sub(cache_read_tokens);
    let is_written = caches && price.asks_for_writes();
    Usage {
        fresh_tokens: if is_written { 0 } else { rest_tokens },
        cache_read_tokens,
        cache_write_tokens: if is_written { rest_tokens } else { 0 },
        output_tokens: usage.output_tokens,
    }
}

fn tokens(parts: &[Part], counter: &Counter) -> u64 {
    counter.tokens(&parts.iter().map(|part| part.size).sum())
}
