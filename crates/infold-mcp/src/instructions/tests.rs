//! The instructions are short enough to be paid for in every request.

use super::{TOKENS_MAX, text};
use crate::settings::SessionFrom;

#[test]
fn instructions_stay_under_their_token_bound() {
    let encoding = tiktoken::get_encoding("o200k_base").unwrap();
    for session_from in [SessionFrom::Caller, SessionFrom::Proxy] {
        let tokens = encoding.encode(text(session_from)).len();
        assert!(tokens < TOKENS_MAX, "{tokens} tokens, the bound is {TOKENS_MAX}");
    }
}
