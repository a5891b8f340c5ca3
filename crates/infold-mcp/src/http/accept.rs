//! The two headers that say what is sent and what may come back.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};

const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Whether the body is declared to be JSON. Anything else is refused: a web page can send a form or
/// plain text to another site without being asked, but not JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// Spells out an `Accept` that takes anything, or that is absent, because the protocol library looks
/// for the two types by name and would turn plain `curl` away.
pub(super) fn widen(headers: &mut HeaderMap) {
    let takes_anything = match headers.get(ACCEPT) {
        None => true,
        Some(value) => value.to_str().is_ok_and(|text| text.contains("*/*")),
    };
    if takes_anything {
        headers.insert(ACCEPT, BOTH);
    }
}
