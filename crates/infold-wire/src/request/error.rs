//! Why a body is not read as a request. It is sent on as it came; nothing in it is planned.

/// Why a body could not be read as a request.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Bytes that are not text.
    #[error("the body is not UTF-8: send it as JSON text")]
    NotText,
    /// More than can be counted.
    #[error("the body has over 4 GiB: send a shorter one")]
    TooLong,
    /// Text that is not JSON.
    #[error("the body is not JSON: {what} at byte {at}")]
    NotJson {
        /// Where.
        at: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// Values in values in values.
    #[error("the body is nested over {depth_max} deep: send it flatter")]
    TooDeep {
        /// How deep it may be.
        depth_max: usize,
    },
    /// A key that is read stands twice in one object.
    #[error("the body has {key:?} twice in one object, the second at byte {at}: leave one out")]
    Twice {
        /// The key.
        key: &'static str,
        /// Where the second one is.
        at: usize,
    },
    /// The conversation is not there, or it is not a list.
    #[error("the body has no list {key:?}: send the conversation there")]
    NoList {
        /// Where it should be.
        key: &'static str,
    },
    /// An entry that is not an object.
    #[error("entry {entry} of the conversation is not an object: send it as one")]
    OddEntry {
        /// Which, counted from 0.
        entry: usize,
    },
}
