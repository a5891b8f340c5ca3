//! Where requests go: below the configured upstream, and nowhere else.

use super::*;

#[test]
fn odd_paths_are_recognised() {
    for odd in
        ["/v1/../x", "/v1/%2e%2E/x", "/..", "//x", "/v1//messages", "/v1/.%2e", "/a\\b", "/a%5cb", "/%00", "/%2f/x"]
    {
        assert!(is_odd(odd), "{odd}");
    }
    for plain in
        ["", "/", "/v1/messages", "/v1/models/", "/v1/models/a%20b", "/v1/models/claude-3.5", "/v1/.well-known"]
    {
        assert!(!is_odd(plain), "{plain}");
    }
}
