//! How times are written as text.

use super::Moment;

#[test]
fn a_time_is_written_in_utc_with_milliseconds_only_where_there_are_any() {
    assert_eq!(Moment(0).text(), "1970-01-01T00:00:00Z");
    assert_eq!(Moment(1_737_109_800_000).text(), "2025-01-17T10:30:00Z");
    assert_eq!(Moment(1_737_109_800_120).text(), "2025-01-17T10:30:00.12Z");
}

#[test]
fn a_time_beyond_the_format_is_the_last_one_it_has() {
    assert_eq!(Moment(u64::MAX).text(), "9999-12-31T23:59:59.999Z");
}
