//! How sure a mean is: the range that resamples of the same values give.

/// How often values are drawn again.
const RESAMPLES: usize = 2_000;

/// A mean, and the range in which 95 of 100 resamples have it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ResampledMean {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl ResampledMean {
    pub fn of(values: &[f64]) -> Self {
        let mut means = resampled_means(values, RESAMPLES);
        means.sort_by(f64::total_cmp);
        let at = |thousandths: usize| means.get(means.len() * thousandths / 1_000).copied().unwrap_or(0.0);
        Self { mean: values.iter().sum::<f64>() / values.len().max(1) as f64, low: at(25), high: at(975) }
    }
}

/// The means of as many values, each drawn by chance, again and again. The same values give the same means.
fn resampled_means(values: &[f64], times: usize) -> Vec<f64> {
    let mut state = 0_u64;
    let mut draw = || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        values[(bits % values.len() as u64) as usize]
    };
    if values.is_empty() {
        return Vec::new();
    }
    (0..times).map(|_| (0..values.len()).map(|_| draw()).sum::<f64>() / values.len() as f64).collect()
}

#[cfg(test)]
mod tests;
