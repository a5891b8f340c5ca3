//! What the cache reads and writes, and when entries lapse.

use super::{Cached, Lifetime, Part, PrefixCache};

/// A block of 1,000 tokens that begins with `name`.
fn block(name: &str) -> Part {
    Part { text: format!("{name:_<4000}"), mark: None }
}

fn marked(name: &str) -> Part {
    Part { mark: Some(Lifetime::FiveMinutes), ..block(name) }
}

#[test]
fn what_was_written_at_a_mark_is_read_when_the_mark_has_moved_on() {
    let mut cache = PrefixCache::default();
    let first = cache.take_marked(&[block("a"), marked("b"), block("c")], 0);
    assert_eq!(first, Cached { write_5m_tokens: 2_000, fresh_tokens: 1_000, ..Cached::default() });
    let second = cache.take_marked(&[block("a"), block("b"), block("c"), marked("d")], 0);
    assert_eq!(second, Cached { read_tokens: 2_000, write_5m_tokens: 2_000, ..Cached::default() });
    let edited = cache.take_marked(&[block("x"), block("b"), block("c"), marked("d")], 0);
    assert_eq!(edited, Cached { write_5m_tokens: 4_000, ..Cached::default() });
}

#[test]
fn an_entry_more_than_twenty_blocks_in_front_of_a_mark_is_written_again() {
    let mut cache = PrefixCache::default();
    cache.take_marked(&[block("a"), marked("b")], 0);
    let later = |count: usize| {
        let mut parts = vec![block("a"), block("b")];
        parts.extend((1..count).map(|number| block(&format!("c{number}"))));
        parts.push(marked("end"));
        parts
    };
    let near = cache.take_marked(&later(19), 0);
    assert_eq!((near.read_tokens, near.repeated_tokens), (2_000, 0));
    let mut cache = PrefixCache::default();
    cache.take_marked(&[block("a"), marked("b")], 0);
    let far = cache.take_marked(&later(20), 0);
    assert_eq!((far.read_tokens, far.repeated_tokens), (0, 2_000));
}

#[test]
fn entries_lapse_and_reading_one_keeps_it() {
    let minute_ms = 60_000;
    let mut cache = PrefixCache::default();
    let parts = || [block("a"), marked("b")];
    cache.take_marked(&parts(), 0);
    assert_eq!(cache.take_marked(&parts(), 4 * minute_ms).read_tokens, 2_000);
    assert_eq!(cache.take_marked(&parts(), 8 * minute_ms).read_tokens, 2_000);
    let lapsed = cache.take_marked(&parts(), 14 * minute_ms);
    assert_eq!((lapsed.read_tokens, lapsed.write_5m_tokens, lapsed.repeated_tokens), (0, 2_000, 0));
}

#[test]
fn short_prefixes_are_not_kept_and_long_lived_ones_cost_more() {
    let mut cache = PrefixCache::default();
    let short = cache.take_marked(&[marked("a")], 0);
    assert_eq!((short.written_tokens(), short.fresh_tokens), (0, 1_000));
    let hour = Part { mark: Some(Lifetime::OneHour), ..block("c") };
    let both = cache.take_marked(&[block("b"), hour, marked("d")], 0);
    assert_eq!((both.write_1h_tokens, both.write_5m_tokens), (2_000, 1_000));
    assert!((both.price() - 5_250.0).abs() < 0.001);
}

#[test]
fn a_cache_without_marks_reads_whole_steps_of_any_earlier_prefix() {
    let mut cache = PrefixCache::default();
    assert_eq!(cache.take_unmarked(&[block("a"), block("b")]).read_tokens, 0);
    let longer = cache.take_unmarked(&[block("a"), block("b"), block("c")]);
    assert_eq!((longer.read_tokens, longer.fresh_tokens), (1_920, 1_080));
    let short = cache.take_unmarked(&[block("a"), block("x")]);
    assert_eq!(short.read_tokens, 0);
}
