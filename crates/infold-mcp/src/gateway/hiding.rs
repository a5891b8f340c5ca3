//! Takes values out of what a server says. Servers repeat what they do not like, and no rule for secrets knows every key.

/// Values that are shorter than this are no secrets, and taking them out would make words unreadable.
pub(crate) const SECRET_BYTES_MIN: usize = 8;
/// What is shown instead of a value.
const HIDDEN: &str = "[hidden]";

/// The words without the values. A value that contains another one has to come first.
pub(crate) fn without_values<'v>(words: &str, values: impl IntoIterator<Item = &'v str>) -> String {
    values.into_iter().fold(words.to_owned(), |words, value| words.replace(value, HIDDEN))
}
