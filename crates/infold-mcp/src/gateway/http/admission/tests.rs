//! What a challenge says about missing rights.

use super::missing_scopes;

#[test]
fn missing_rights_are_read_from_a_challenge_about_them() {
    let scopes = |challenge: &str| missing_scopes(challenge).map(|scopes| scopes.join("+"));
    let insufficient = "Bearer error=\"insufficient_scope\", scope=\"read write\", resource_metadata=\"x\"";
    assert_eq!(scopes(insufficient), Some("read+write".to_owned()));
    assert_eq!(scopes("Bearer scope=read, error=insufficient_scope"), Some("read".to_owned()));
    assert_eq!(scopes("Bearer error=\"invalid_token\", scope=\"read\""), None);
    assert_eq!(scopes("Bearer"), None);
}
