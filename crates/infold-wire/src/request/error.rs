//! Why a body cannot be read as a request. Nothing in such a body is planned; the caller searches all of its strings, or
//! refuses it.

/// Why a body cannot be read as a request. Each message says what to send instead.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The body is not UTF-8.
    #[error("the body is not UTF-8: send it as JSON text")]
    NotText,
    /// The body is longer than the 32-bit places of its values can count.
    #[error("the body has over 4 GiB: send a shorter one")]
    TooLong,
    /// The body is text but not JSON.
    #[error("the body is not JSON: {what} at byte {at}")]
    NotJson {
        /// The byte where reading failed, counted from 0.
        at: usize,
        /// What is missing or wrong at that byte.
        what: &'static str,
    },
    /// Lists and objects are nested too deeply.
    #[error("the body is nested over {depth_max} deep: send it flatter")]
    TooDeep {
        /// How many levels are allowed.
        depth_max: usize,
    },
    /// An object has a key twice that is read here. Programs differ in which of the two they take.
    #[error("the body has {key:?} twice in one object, the second at byte {at}: leave one out")]
    Twice {
        /// The key that appears twice.
        key: &'static str,
        /// The byte where the second one begins, counted from 0.
        at: usize,
    },
    /// The conversation is missing, or it is not a list.
    #[error("the body has no list {key:?}: send the conversation there")]
    NoList {
        /// The field that should hold it.
        key: &'static str,
    },
    /// An entry of the conversation is not an object.
    #[error("entry {entry} of the conversation is not an object: send it as one")]
    OddEntry {
        /// The index of the entry, counted from 0.
        entry: usize,
    },
}
