//! Finds out which part of an offloaded result a query asks for: bytes, lines or matches, and never two at once.

use infold_engine::Portion;

use super::ReadQuery;
use crate::error::ApiError;

/// The part that a query asks for; a query that asks for two is refused.
pub(super) fn read(query: &ReadQuery) -> Result<Portion, ApiError> {
    if query.context.is_some() && query.pattern.is_none() {
        return Err(ApiError::invalid("context", "goes with pattern: give a pattern, or leave it out"));
    }
    match (query.offset, query.lines.as_deref(), query.pattern.as_deref()) {
        (offset, None, None) => Ok(Portion::Bytes { offset: size(offset.unwrap_or(0)) }),
        (None, Some(text), None) => lines(text).ok_or_else(|| {
            ApiError::invalid(
                "lines",
                "must be lines counted from 1, the first before the last, as in 10-20, 10- or 10",
            )
        }),
        (None, from, Some(pattern)) => {
            let context = size(query.context.unwrap_or(0));
            Ok(Portion::Matches { pattern: pattern.to_owned(), context, first: first_line(from)? })
        }
        (Some(_), Some(_), _) => Err(ApiError::invalid("lines", "cannot be combined with offset: leave offset out")),
        (Some(_), None, Some(_)) => {
            Err(ApiError::invalid("pattern", "cannot be combined with offset: leave offset out"))
        }
    }
}

/// The line at which a search begins. Together with a pattern, `lines` must be an open range, as in `10-`.
fn first_line(from: Option<&str>) -> Result<usize, ApiError> {
    match from.map(lines) {
        None => Ok(1),
        Some(Some(Portion::Lines { first, last })) if last == u32::MAX as usize => Ok(first),
        Some(_) => Err(ApiError::invalid("lines", "says with a pattern from which line to search, as in 10-")),
    }
}

/// A number as a `usize`. One that is too large becomes the largest there is; the engine bounds it later.
pub(super) fn size(wish: u64) -> usize {
    usize::try_from(wish).unwrap_or(usize::MAX)
}

fn lines(text: &str) -> Option<Portion> {
    // Numbers are 32 bits long, so that adding to one cannot overflow.
    let line = |text: &str| text.trim().parse::<u32>().ok().map(|line| line as usize);
    let (first, last) = match text.split_once('-') {
        None => (line(text)?, line(text)?),
        Some((first, last)) if last.trim().is_empty() => (line(first)?, u32::MAX as usize),
        Some((first, last)) => (line(first)?, line(last)?),
    };
    (first >= 1 && first <= last).then_some(Portion::Lines { first, last })
}

#[cfg(test)]
mod tests;
