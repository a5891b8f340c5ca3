//! Checks the values of `[proxy]`.

use infold_proxy::{RetryStatus, Upstream};

use super::{Entry, Problem, Problems, Settings, origin};

/// Checks the upstreams, the paths that are not searched, and the statuses for retries. Messages do not repeat an upstream, because people put keys into
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
    for path in &proxy.unsearched_paths {
        let origin = origin(entries, "proxy.unsearched_paths");
        if !infold_proxy::Provider::ALL.iter().any(|provider| path.starts_with(&format!("{}/", provider.prefix()))) {
            problems.add(
                Problem::new(format!("`proxy.unsearched_paths` in {origin}: {path:?} is no path of a provider"))
                    .hint("write it as clients do, for example \"/openai/v1/files\""),
            );
        }
        if infold_proxy::known_paths().contains(path) {
            problems.add(
                Problem::new(format!("`proxy.unsearched_paths` in {origin}: {path:?} is searched in any case"))
                    .hint("leave it out; tool results are sent there"),
            );
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
