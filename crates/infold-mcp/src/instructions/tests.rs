//! The instructions are short enough to be paid for in every request.

use super::{TEXT, TOKENS_MAX};

#[test]
fn instructions_stay_under_their_token_bound() {
    let encoding = tiktoken::get_encoding("o200k_base").unwrap();
    let tokens = encoding.encode(TEXT).len();
    assert!(tokens < TOKENS_MAX, "{tokens} tokens, the bound is {TOKENS_MAX}");
}
