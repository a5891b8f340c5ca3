//! The fake model's cache: how much of a request is read from the cache, how much is written, and the price.
//!
//! Anthropic writes an entry where the client sets a mark, and finds an entry at most twenty blocks before a
//! mark. OpenAI caches every prefix without marks, in steps of 128 tokens. Both compare bytes: text as a
//! string and the same text in a list are two prefixes. Time passes only when a test moves the clock.

use std::collections::{HashMap, HashSet};

#[cfg(test)]
mod tests;

/// Bytes of a request that count as one token. Only proportions matter here.
pub(crate) const BYTES_PER_TOKEN: u64 = 4;

/// How many blocks up to a mark, the marked one included, are searched for an entry.
const LOOKBACK_BLOCKS: usize = 20;

/// Prefixes with fewer tokens are silently not cached.
const ENTRY_TOKENS_MIN: u64 = 1_024;

/// The granularity, in tokens, of a cache that works without marks.
const STEP_TOKENS: u64 = 128;

/// The price of a token that is read, written for five minutes and written for an hour; a fresh one costs 1.
const PRICES: (f64, f64, f64) = (0.1, 1.25, 2.0);

/// How long an entry lives after its last use.
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

/// One block of a prompt, as the cache compares it.
#[derive(Debug)]
pub(crate) struct Part {
    /// The block as text, without the mark.
    pub(crate) text: String,
    /// How long the mark on the block asks to cache it; `None` without a mark.
    pub(crate) mark: Option<Lifetime>,
}

/// How many tokens of a request were read from the cache, written to it, or neither.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cached {
    /// Tokens that were read from the cache.
    pub read_tokens: u64,
    /// Tokens that were written to the cache for five minutes.
    pub write_5m_tokens: u64,
    /// Tokens that were written to the cache for an hour.
    pub write_1h_tokens: u64,
    /// Tokens that were neither read from the cache nor written to it.
    pub fresh_tokens: u64,
    /// Those of the written tokens that were in the cache already.
    pub repeated_tokens: u64,
}

impl Cached {
    /// How many tokens the request has in all.
    pub fn total_tokens(&self) -> u64 {
        self.read_tokens + self.written_tokens() + self.fresh_tokens
    }

    /// How many tokens were written to the cache, for either time.
    pub fn written_tokens(&self) -> u64 {
        self.write_5m_tokens + self.write_1h_tokens
    }

    /// The price of the request's input, in fresh tokens.
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

/// All prefixes in the cache.
#[derive(Debug, Default)]
pub(crate) struct PrefixCache {
    /// Prefixes that ended at a mark, and when they lapse.
    entries: HashMap<Digest, u64>,
    /// Prefixes that were cached without marks.
    steps: HashSet<Digest>,
}

/// The end of a block, with the digest and the tokens of everything up to it.
struct Point {
    digest: Digest,
    tokens: u64,
    mark: Option<Lifetime>,
}

impl PrefixCache {
    /// Reads and writes the cache for a request with marks.
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
        let repeated = (found.map_or(0, |at| at + 1)..=last_mark).rev().find(|at| live(*at));
        let repeated_tokens = repeated.map_or(0, |at| points[at].tokens - read_tokens);

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

    /// Reads and writes the cache for a request to a provider that caches without marks.
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
