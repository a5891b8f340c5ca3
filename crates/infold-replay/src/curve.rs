//! The size of a session's requests over time, thinned out for drawing.

use serde::{Deserialize, Serialize};

use crate::play::Played;

/// Sizes of a session's requests under each policy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Curve {
    /// Which request each point stands for, counted from 1.
    pub requests: Vec<u64>,
    /// For each policy, the size at each point. A point that stands for several requests has the
    /// largest of them, so that a peak stays where it was.
    pub prompt_tokens: Vec<Vec<u64>>,
}

impl Curve {
    /// A curve of at most so many points.
    pub(crate) fn of(played: &[Played], points_max: usize) -> Self {
        let requests = played.first().map_or(0, |played| played.sent.len());
        let step = requests.div_ceil(points_max.max(1)).max(1);
        let points = |played: &Played| {
            let chunks = played.sent.chunks(step);
            chunks.map(|chunk| chunk.iter().map(|sent| sent.prompt_tokens).max().unwrap_or(0)).collect()
        };
        Self {
            requests: (0..requests).step_by(step).map(|first| ((first + step).min(requests)) as u64).collect(),
            prompt_tokens: played.iter().map(points).collect(),
        }
    }
}
