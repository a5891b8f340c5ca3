//! What resamples of values say.

use super::*;

#[test]
fn resampled_means_lie_around_the_mean() {
    let values: Vec<f64> = (0..200).map(|at| f64::from(at % 2)).collect();
    let means = resampled_means(&values, 500);
    assert!(means.iter().all(|mean| (0.3..0.7).contains(mean)));
    assert!(means.iter().any(|mean| *mean < 0.48) && means.iter().any(|mean| *mean > 0.52));
    assert!(resampled_means(&[], 5).is_empty());
}
