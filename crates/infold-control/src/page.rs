//! Parts of lists: from where, how many, and where to go on.

use crate::error::ApiError;

/// Entries in a page that names no limit.
const LIMIT_DEFAULT: u32 = 50;
/// Most entries in a page; a larger wish is capped, and the answer says so.
pub(crate) const LIMIT_MAX: u32 = 500;

/// Which part of a list is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) offset: usize,
    pub(crate) limit: usize,
}

impl Page {
    /// Reads what a caller asked for.
    pub(crate) fn new(offset: Option<u32>, limit: Option<u32>) -> Result<Self, ApiError> {
        let limit = limit.unwrap_or(LIMIT_DEFAULT);
        if limit == 0 {
            return Err(ApiError::invalid("limit", "must be at least 1"));
        }
        Ok(Self { offset: offset.unwrap_or(0) as usize, limit: limit.min(LIMIT_MAX) as usize })
    }

    /// How many entries to fetch: one more than are shown, which tells whether there are more.
    pub(crate) fn fetch(self) -> usize {
        self.limit + 1
    }

    /// Cuts what was fetched to the page, and says where to go on if there is more.
    pub(crate) fn cut<T>(self, mut fetched: Vec<T>) -> (Vec<T>, Option<usize>) {
        let has_more = fetched.len() > self.limit;
        fetched.truncate(self.limit);
        (fetched, has_more.then_some(self.offset + self.limit))
    }
}

#[cfg(test)]
mod tests;
