//! The fake model's cache: what of a request a provider has read before, what it writes, and what that
//! costs.
//!
//! Anthropic writes where the client sets marks and finds an entry at most twenty blocks in front of a
//! mark. OpenAI keeps every prefix by itself, in steps of 128 tokens. Both compare bytes: text as a string
//! and the same text in a list are two prefixes. Time passes only when a test says so.

use std::collections::{HashMap, HashSet};

#[cfg(test)]
mod tests;

/// Bytes of a request that are taken for one token. Only proportions matter here.
pub(crate) const BYTES_PER_TOKEN: u64 = 4;

/// Blocks in front of a mark, itself counted, among which an entry is looked for.
const LOOKBACK_BLOCKS: usize = 20;

/// Prefixes with fewer tokens are not kept, without a word.
const ENTRY_TOKENS_MIN: u64 = 1_024;

/// Tokens of one step of a cache that keeps prefixes by itself.
const STEP_TOKENS: u64 = 128;

/// What tokens cost, in tokens of plain input: read, written for five minutes, written for an hour.
const PRICES: (f64, f64, f64) = (0.1, 1.25, 2.0);

/// How long an entry stays after it was last used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    FiveMinutes,
    OneHour,
}

impl Lifetime {
    fn ms(self) -> u64 {
        match self {
            Self::FiveMinutes => 5 * 60 * 1_000,
            Self::OneHour => 60 * 60 * 1_000,
        }
    }
}

/// A block as it counts for the cache.
#[derive(Debug)]
pub(crate) struct Part {
    /// Its bytes, without the mark.
    pub(crate) text: String,
    /// The mark on it.
    pub(crate) mark: Option<Lifetime>,
}

/// How a provider splits a request between what it has and what is new, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cached {
    /// Read from the cache.
    pub read_tokens: u64,
    /// Written to it for five minutes.
    pub write_5m_tokens: u64,
    /// Written to it for an hour.
    pub write_1h_tokens: u64,
    /// Neither.
    pub fresh_tokens: u64,
    /// Of what was written: tokens of a prefix that had been written before and was still kept.
    pub repeated_tokens: u64,
}

impl Cached {
    /// All of the request.
    pub fn total_tokens(&self) -> u64 {
        self.read_tokens + self.written_tokens() + self.fresh_tokens
    }

    /// What was written, for however long.
    pub fn written_tokens(&self) -> u64 {
        self.write_5m_tokens + self.write_1h_tokens
    }

    /// What the input costs, in tokens of plain input.
    pub fn price(&self) -> f64 {
        let (read, five_minutes, hour) = PRICES;
        let tokens = |count: u64| count as f64;
        tokens(self.read_tokens) * read
            + tokens(self.write_5m_tokens) * five_minutes
            + tokens(self.write_1h_tokens) * hour
            + tokens(self.fresh_tokens)
    }
}

type Digest = [u8; 32];

/// Everything that is kept.
#[derive(Debug, Default)]
pub(crate) struct PrefixCache {
    /// Prefixes that ended at a mark, and until when they are kept.
    entries: HashMap<Digest, u64>,
    /// Prefixes that are kept by themselves.
    steps: HashSet<Digest>,
}

/// A point between two blocks.
struct Point {
    digest: Digest,
    tokens: u64,
    mark: Option<Lifetime>,
}

impl PrefixCache {
    /// Takes a request whose client sets marks.
    pub(crate) fn take_marked(&mut self, parts: &[Part], now_ms: u64) -> Cached {
        let points = points(parts);
        let total_tokens = points.last().map_or(0, |point| point.tokens);
        let marks: Vec<usize> = (0..points.len()).filter(|at| points[*at].mark.is_some()).collect();
        let Some(last_mark) = marks.last().copied() else {
            return Cached { fresh_tokens: total_tokens, ..Cached::default() };
        };

        let live = |at: usize| self.entries.get(&points[at].digest).is_some_and(|until_ms| *until_ms >= now_ms);
        let found = marks.iter().filter_map(|mark| {
            let first = (mark + 1).saturating_sub(LOOKBACK_BLOCKS);
            (first..=*mark).rev().find(|at| live(*at))
        });
        let found = found.max();
        let read_tokens = found.map_or(0, |at| points[at].tokens);
        let again = (found.map_or(0, |at| at + 1)..=last_mark).rev().find(|at| live(*at));
        let repeated_tokens = again.map_or(0, |at| points[at].tokens - read_tokens);

        let mut cached = Cached { read_tokens, repeated_tokens, ..Cached::default() };
        for mark in marks {
            let Point { digest, tokens, mark: Some(lifetime) } = &points[mark] else { continue };
            if *tokens < ENTRY_TOKENS_MIN {
                continue;
            }
            self.entries.insert(*digest, now_ms + lifetime.ms());
            let new_tokens = tokens.saturating_sub(cached.read_tokens + cached.written_tokens());
            match lifetime {
                Lifetime::FiveMinutes => cached.write_5m_tokens += new_tokens,
                Lifetime::OneHour => cached.write_1h_tokens += new_tokens,
            }
        }
        if let Some(at) = found {
            let until_ms = self.entries.entry(points[at].digest).or_default();
            *until_ms = (*until_ms).max(now_ms + Lifetime::FiveMinutes.ms());
        }
        cached.fresh_tokens = total_tokens - cached.read_tokens - cached.written_tokens();
        cached
    }

    /// Takes a request of a provider that keeps every prefix by itself.
    pub(crate) fn take_unmarked(&mut self, parts: &[Part]) -> Cached {
        let text: String = parts.iter().flat_map(|part| [part.text.as_str(), "\0"]).collect();
        let step_bytes = usize::try_from(STEP_TOKENS * BYTES_PER_TOKEN).unwrap_or(usize::MAX);
        let mut hasher = blake3::Hasher::new();
        let digests: Vec<Digest> =
            text.as_bytes().chunks_exact(step_bytes).map(|step| *hasher.update(step).finalize().as_bytes()).collect();
        let known = digests.iter().take_while(|digest| self.steps.contains(*digest)).count();
        self.steps.extend(digests);

        let total_tokens = u64::try_from(text.len()).unwrap_or(u64::MAX) / BYTES_PER_TOKEN;
        let known_tokens = u64::try_from(known).unwrap_or(u64::MAX) * STEP_TOKENS;
        let read_tokens = if known_tokens < ENTRY_TOKENS_MIN { 0 } else { known_tokens };
        Cached { read_tokens, fresh_tokens: total_tokens - read_tokens, ..Cached::default() }
    }
}

fn points(parts: &[Part]) -> Vec<Point> {
    let mut hasher = blake3::Hasher::new();
    let mut bytes = 0;
    let mut points = Vec::with_capacity(parts.len());
    for part in parts {
        hasher.update(part.text.as_bytes());
        hasher.update(b"\0");
        bytes += u64::try_from(part.text.len()).unwrap_or(u64::MAX);
        let digest = *hasher.finalize().as_bytes();
        points.push(Point { digest, tokens: bytes / BYTES_PER_TOKEN, mark: part.mark });
    }
    points
}
