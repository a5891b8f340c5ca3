//! Checks the values of `[proxy]`.

use infold_proxy::{RetryStatus, Upstream};

use super::{Entry, Problem, Problems, Settings, origin};

/// Checks the upstreams and the statuses for retries. Messages do not repeat an upstream, because people put keys into
/// addresses.
pub(super) fn check(settings: &Settings, entries: &[Entry], problems: &mut Problems) {
    let proxy = &settings.proxy;
    let upstreams =
        [("proxy.anthropic.upstream", &proxy.anthropic.upstream), ("proxy.openai.upstream", &proxy.openai.upstream)];
    for (key, text) in upstreams {
        if let Err(error) = Upstream::parse(text) {
            problems.add(Problem::new(format!("`{key}` in {} {error}", origin(entries, key))));
        }
    }
    for status in &proxy.retry_statuses {
        if RetryStatus::of(*status).is_none() {
            let origin = origin(entries, "proxy.retry_statuses");
            problems.add(
                Problem::new(format!("`proxy.retry_statuses` in {origin}: requests cannot be retried after {status}"))
                    .hint("list any of 429, 500, 504 and 529"),
            );
        }
    }
}
