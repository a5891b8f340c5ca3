//! Pages of lists: which entries a caller asked for, and where the next page begins.

use crate::error::ApiError;

/// Entries in a page that names no limit.
const LIMIT_DEFAULT: u32 = 50;
/// Most entries in a page; a larger wish is capped, and the answer says so.
pub(crate) const LIMIT_MAX: u32 = 500;

/// The part of a list that a caller asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) offset: usize,
    pub(crate) limit: usize,
}

impl Page {
    /// Applies the defaults and bounds to what a caller asked for; a limit of 0 is refused.
    pub(crate) fn new(offset: Option<u32>, limit: Option<u32>) -> Result<Self, ApiError> {
        let limit = limit.unwrap_or(LIMIT_DEFAULT);
        if limit == 0 {
            return Err(ApiError::invalid("limit", "must be at least 1"));
        }
        Ok(Self { offset: offset.unwrap_or(0) as usize, limit: limit.min(LIMIT_MAX) as usize })
    }

    /// How many entries to fetch: one more than are shown, to find out whether another page follows.
    pub(crate) fn fetch(self) -> usize {
        self.limit + 1
    }

    /// Cuts the fetched entries to the page, and gives the next page's offset if there are more.
    pub(crate) fn cut<T>(self, mut fetched: Vec<T>) -> (Vec<T>, Option<usize>) {
        let has_more = fetched.len() > self.limit;
        fetched.truncate(self.limit);
        (fetched, has_more.then_some(self.offset + self.limit))
    }
}

#[cfg(test)]
mod tests;
