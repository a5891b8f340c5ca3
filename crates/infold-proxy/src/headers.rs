//! Chooses the headers that are passed on: all, in their order, except those that belong to one connection only.

use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::Upstream;

/// Headers that belong to one connection, whether `Connection` names them or not.
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];
/// infold's own credential. The door removes it; if it ever does not, the credential still does not leave.
const TOKEN: HeaderName = HeaderName::from_static("x-infold-token");

/// Returns the headers that an upstream gets with a body of `body_bytes` bytes.
pub(crate) fn for_upstream(from: &HeaderMap, upstream: &Upstream, body_bytes: usize) -> HeaderMap {
    let named = named_by_connection(from);
    let mut headers = HeaderMap::with_capacity(from.len());
    for (name, value) in from {
        if HOP_BY_HOP.contains(name) || named.contains(name) || *name == EXPECT || *name == TOKEN {
            continue;
        }
        if *name == HOST {
            if let Ok(host) = HeaderValue::from_str(upstream.host()) {
                headers.insert(HOST, host);
            }
            continue;
        }
        if *name == CONTENT_LENGTH {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body_bytes));
            continue;
        }
        headers.append(name, value.clone());
    }
    headers
}

/// Returns the headers of an answer that its client gets.
pub(crate) fn for_client(from: &HeaderMap) -> HeaderMap {
    let named = named_by_connection(from);
    let mut headers = HeaderMap::with_capacity(from.len());
    for (name, value) in from {
        if !HOP_BY_HOP.contains(name) && !named.contains(name) {
            headers.append(name, value.clone());
        }
    }
    headers
}

/// Why an answer with this head cannot be passed on; `None` if it can.
pub(crate) fn unsound(status: StatusCode, headers: &HeaderMap) -> Option<&'static str> {
    let codings = headers.get_all(TRANSFER_ENCODING);
    let is_chunked = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    if status.is_informational() {
        return Some("it wants to speak another protocol");
    }
    if headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH) {
        return Some("it has both Transfer-Encoding and Content-Length, which contradict each other");
    }
    if codings.iter().count() > 1 || !codings.iter().all(is_chunked) {
        return Some("it has a Transfer-Encoding other than chunked");
    }
    None
}

fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let names = values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok());
    // A client that names one of these would change what is asked for, not how it is carried.
    names.filter(|name: &HeaderName| *name != HOST && *name != CONTENT_LENGTH).collect()
}

#[cfg(test)]
mod tests;
