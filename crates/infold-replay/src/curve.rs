//! The size of a session's requests over time, reduced to a few points for drawing.

use serde::{Deserialize, Serialize};

use crate::play::PlayedThread;

/// The sizes of a session's requests under each policy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Curve {
    /// The number of the request at each point, counted from 1; the last one if the point covers several.
    pub requests: Vec<u64>,
    /// For each policy, the size at each point. A point that covers several requests has the size of the largest, so
    /// that peaks stay visible.
    pub prompt_tokens: Vec<Vec<u64>>,
}

impl Curve {
    /// Makes a curve of at most `points_max` points.
    pub(crate) fn of(played: &[PlayedThread], points_max: usize) -> Self {
        let requests = played.first().map_or(0, |played| played.sent.len());
        let step = requests.div_ceil(points_max.max(1)).max(1);
        let points = |played: &PlayedThread| {
            let chunks = played.sent.chunks(step);
            chunks.map(|chunk| chunk.iter().map(|sent| sent.prompt_tokens).max().unwrap_or(0)).collect()
        };
        Self {
            requests: (0..requests).step_by(step).map(|first| ((first + step).min(requests)) as u64).collect(),
            prompt_tokens: played.iter().map(points).collect(),
        }
    }
}
