//! Checks the values: each number against its range, each choice against the known ones, and several together.

mod gateway;
mod memory;
mod proxy;

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::Path;

use serde::Deserialize;
use toml::Value;

use super::entry::{self, Entry, Origin};
use super::problem::{Problem, Problems};
use super::types::Settings;

const MINUTE_MS: i64 = 60_000;
const MIB: i64 = 1024 * 1024;

/// The range of each number. A test checks that every number of `default.toml` has a row.
pub(super) const RANGES: &[(&str, RangeInclusive<i64>)] = &[
    ("server.worker_threads", 1..=256),
    ("server.connections_max", 1..=1_000_000),
    ("server.streams_max", 1..=1_000_000),
    ("server.head_bytes_max", 1_024..=MIB / 4),
    ("server.head_timeout_ms", 100..=10 * MINUTE_MS),
    ("server.body_bytes_max", 1_024..=1_024 * MIB),
    ("server.transcript_bytes_max", 1_024..=1_024 * MIB),
    ("server.stall_timeout_ms", 100..=60 * MINUTE_MS),
    ("server.idle_timeout_ms", 100..=1_440 * MINUTE_MS),
    ("server.drain_timeout_ms", 0..=60 * MINUTE_MS),
    ("folding.default_budget", 1..=100_000_000),
    ("folding.max_budget", 1..=100_000_000),
    ("folding.max_depth", 1..=64),
    ("folding.default_timeout_seconds", 1..=604_800),
    ("folding.max_timeout_seconds", 1..=604_800),
    ("folding.max_concurrent_per_session", 1..=1_000_000),
    ("folding.max_concurrent_per_instance", 1..=10_000_000),
    ("folding.fair_share_percent", 0..=10_000),
    ("folding.max_branches_per_minute", 1..=10_000_000),
    ("folding.session_budget", 0..=1_000_000_000),
    ("folding.session_end_timeout_seconds", 1..=3_600),
    ("context.context_limit", 1..=100_000_000),
    ("scrub.timeout_ms", 1..=10 * MINUTE_MS),
    ("scrub.max_bytes", 1_024..=1_024 * MIB),
    ("fork.char_budget", 1_000..=100_000_000),
    ("shape.file_bytes_max", 256..=100_000_000),
    ("shape.output_bytes_max", 256..=100_000_000),
    ("shape.reread_bytes_min", 256..=100_000_000),
    ("shape.lines_chars_max", 0..=10_000_000),
    ("shape.names_chars_max", 0..=10_000_000),
    ("transcripts.entry_bytes_max", 1_024..=4_096 * MIB),
    ("transcripts.problems_max", 0..=100_000),
    ("rescue.reserve_tokens", 0..=100_000_000),
    ("proxy.kept_results_tokens", 0..=100_000_000),
    ("proxy.body_bytes_max", 1_024..=1_024 * MIB),
    ("proxy.connect_timeout_ms", 1..=10 * MINUTE_MS),
    ("proxy.silence_timeout_ms", 100..=1_440 * MINUTE_MS),
    ("proxy.hold_ms", 0..=MINUTE_MS),
    ("proxy.retries_max", 0..=10),
    ("proxy.retry_after_max_ms", 0..=10 * MINUTE_MS),
    ("proxy.sessions_max", 1..=100_000),
    ("proxy.sessions_bytes_max", MIB..=65_536 * MIB),
    ("windows.default_tokens", 1_000..=100_000_000),
    ("run.window_tokens", 0..=100_000_000),
    ("run.default_budget_percent", 1..=100),
    ("run.max_budget_percent", 1..=100),
    ("run.default_timeout_seconds", 1..=604_800),
    ("run.max_timeout_seconds", 1..=604_800),
    ("run.max_branches_per_minute", 1..=10_000_000),
    ("run.max_concurrent_per_session", 1..=1_000_000),
    ("store.retention_days", 1..=36_500),
    ("store.live_hours", 1..=87_600),
    ("store.busy_timeout_ms", 0..=10 * MINUTE_MS),
    ("store.readers", 1..=64),
    ("store.checkpoint_pages", 1..=1_000_000),
    ("store.result_offload_threshold", 256..=1_024 * MIB),
    ("store.nats.replicas", 1..=5),
    ("store.nats.trim_bytes", 4_096..=1 << 40),
    ("store.nats.attempt_ms", 100..=MINUTE_MS),
    ("store.nats.timeout_ms", 100..=10 * MINUTE_MS),
    ("mcp.message_bytes_max", 1_024..=1_024 * MIB),
    ("gateway.deferral_percent", 0..=100),
    ("gateway.deferral_tokens", 0..=100_000_000),
    ("gateway.start_timeout_ms", 1..=60 * MINUTE_MS),
    ("gateway.call_timeout_ms", 1..=1_440 * MINUTE_MS),
    ("gateway.list_wait_ms", 0..=MINUTE_MS),
    ("gateway.idle_ms", 1_000..=1_440 * MINUTE_MS),
    ("gateway.children_max", 1..=1_000),
    ("gateway.calls_max", 1..=10_000),
    ("gateway.message_bytes_max", 1_024..=1_024 * MIB),
    ("gateway.result_bytes_max", 1_024..=1_024 * MIB),
    ("gateway.failures_max", 1..=1_000),
    ("gateway.retry_max_ms", 1..=60 * MINUTE_MS),
    ("gateway.heartbeat_ms", 30..=10 * MINUTE_MS),
    ("gateway.questions_max", 0..=10_000),
    ("gateway.question_wait_ms", 1..=60 * MINUTE_MS),
    ("memory.injection_tokens_max", 0..=100_000),
    ("memory.memory_max_items", 0..=50),
    ("memory.lessons_max", 1..=100),
    ("memory.half_life_days", 1..=36_500),
    ("memory.memories_max", 1..=1_000_000),
    ("memory.distill_tokens_per_day", 0..=1_000_000_000),
    ("memory.distill_record_bytes_max", 1_000..=1_000_000),
    ("memory.distill_answer_tokens_max", 100..=100_000),
    ("memory.distill_timeout_ms", 100..=30 * MINUTE_MS),
    ("memory.distill_pause_ms", 1..=60 * MINUTE_MS),
    ("memory.embedding_wait_ms", 1..=1_500),
    ("memory.embedding_timeout_ms", 100..=30 * MINUTE_MS),
    ("agent.context_budget", 4_000..=100_000_000),
    ("agent.max_output_tokens", 100..=1_000_000),
    ("agent.summary_reserve", 0..=1_000_000),
    ("agent.compaction_turns", 0..=10_000),
    ("agent.words_chars_max", 1_000..=10_000_000),
    ("agent.summary_chars_max", 200..=1_000_000),
    ("agent.image_bytes_max", 1_000..=100_000_000),
    ("agent.images_bytes_max", 1_000..=1_000_000_000),
    ("agent.compactions_max", 1..=1_000),
    ("agent.turns_max", 0..=1_000_000),
    ("agent.run_tokens_max", 0..=1_000_000_000_000),
    ("agent.attempts_max", 1..=100),
    ("agent.first_wait_ms", 1..=10 * MINUTE_MS),
    ("agent.retry_after_max_ms", 0..=60 * MINUTE_MS),
    ("agent.answer_timeout_ms", 1_000..=1_440 * MINUTE_MS),
    ("agent.shell_seconds", 1..=86_400),
    ("agent.shell_seconds_max", 1..=86_400),
    ("auth.jwt.leeway_seconds", 0..=600),
];

/// The range of each share. A test checks that every one of `default.toml` has a row.
pub(super) const SHARES: &[(&str, RangeInclusive<f64>)] = &[
    ("agent.compact_trigger", 0.1..=1.0),
    ("agent.hard_block", 0.1..=1.0),
    ("agent.compact_target", 0.05..=0.9),
    ("agent.tool_deferral_threshold", 0.0..=1.0),
    ("agent.context_note", 0.1..=1.0),
    ("memory.injection_budget_ratio", 0.0..=0.5),
    ("memory.memory_min_confidence", 0.0..=1.0),
    ("memory.relevance_min", 0.0..=1.0),
];

/// The typed settings; `None` if a single value is wrong. What is wrong is added to `problems`.
pub fn typed(entries: &[Entry], problems: &mut Problems) -> Option<Settings> {
    for problem in entries.iter().filter_map(out_of_range) {
        problems.add(problem);
    }
    gateway::read_servers(entries, problems);
    if !problems.is_empty() {
        return None;
    }
    match Settings::deserialize(table(entries)) {
        Ok(settings) => {
            together(&settings, entries, problems);
            Some(settings)
        }
        Err(error) => {
            problems.add(blamed(entries, &error));
            None
        }
    }
}

fn out_of_range(entry: &Entry) -> Option<Problem> {
    let hint = match entry.value {
        Value::Integer(number) => {
            let (_, range) = RANGES.iter().find(|(key, _)| *key == entry.key)?;
            let (from, to) = (range.start(), range.end());
            (!range.contains(&number)).then(|| format!("give a whole number from {from} to {to}"))?
        }
        Value::Float(share) => {
            let (_, range) = SHARES.iter().find(|(key, _)| *key == entry.key)?;
            let (from, to) = (range.start(), range.end());
            (!range.contains(&share)).then(|| format!("give a number from {from:.1} to {to:.1}"))?
        }
        _ => return None,
    };
    let (key, origin, value) = (&entry.key, &entry.origin, &entry.value);
    Some(Problem::new(format!("`{key}` = {value} in {origin} is out of range")).hint(hint))
}

fn table(entries: &[Entry]) -> toml::Table {
    let mut table = toml::Table::new();
    for entry in entries {
        put(&mut table, &entry.key, entry.value.clone());
    }
    table
}

fn put(table: &mut toml::Table, key: &str, value: Value) {
    let Some((section, rest)) = key.split_once('.') else {
        table.insert(key.to_owned(), value);
        return;
    };
    let section = table.entry(section).or_insert_with(|| Value::Table(toml::Table::new()));
    if let Value::Table(section) = section {
        put(section, rest, value);
    }
}

/// Finds the value that cannot be read, by trying each value that was set alone with the defaults.
fn blamed(entries: &[Entry], error: &toml::de::Error) -> Problem {
    let Ok(defaults) = entry::defaults(super::DEFAULT_TOML) else {
        return Problem::new(error.message());
    };
    for entry in entries.iter().filter(|entry| entry.origin != Origin::Default) {
        let mut alone = defaults.clone();
        entry::lay_over(&mut alone, vec![entry.clone()]);
        if let Err(error) = Settings::deserialize(table(&alone)) {
            let why = error.message().replace("unknown variant", "unknown value");
            return Problem::new(format!("`{}` in {}: {why}", entry.key, entry.origin));
        }
    }
    Problem::new(error.message())
}

/// Checks what must hold between several settings, and values with a form of their own.
fn together(settings: &Settings, entries: &[Entry], problems: &mut Problems) {
    not_above(entries, "folding.default_budget", "folding.max_budget", problems);
    not_above(entries, "folding.default_timeout_seconds", "folding.max_timeout_seconds", problems);
    not_above(entries, "run.default_budget_percent", "run.max_budget_percent", problems);
    not_above(entries, "run.default_timeout_seconds", "run.max_timeout_seconds", problems);
    if settings.mcp.tools.is_empty() {
        problems.add(
            Problem::new(format!("`mcp.tools` in {} is empty", origin(entries, "mcp.tools")))
                .hint("list \"branch\", \"context\" or both, or \"lean\""),
        );
    }
    if settings.scrub.rules.is_empty() {
        problems.add(
            Problem::new(format!(
                "`scrub.rules` in {} is empty, so nothing would be scrubbed",
                origin(entries, "scrub.rules")
            ))
            .hint("list \"built-in\", at least one file of rules, or both"),
        );
    }
    prices(settings, entries, problems);
    windows(settings, entries, problems);
    proxy::check(settings, entries, problems);
    gateway::check(settings, entries, problems);
    memory::check(settings, entries, problems);
    data_folder(settings, entries, problems);
    listen(settings, entries, problems);
    jwt(settings, problems);
    otlp_endpoint(settings, entries, problems);
}

fn origin(entries: &[Entry], key: &str) -> Origin {
    entry::find(entries, key).map_or(Origin::Default, |entry| entry.origin.clone())
}

fn not_above(entries: &[Entry], low: &str, high: &str, problems: &mut Problems) {
    let (Some(low), Some(high)) = (entry::find(entries, low), entry::find(entries, high)) else { return };
    let (Value::Integer(low_value), Value::Integer(high_value)) = (&low.value, &high.value) else { return };
    if low_value > high_value {
        problems.add(
            Problem::new(format!(
                "`{}` = {low_value} in {} is above `{}` = {high_value} in {}",
                low.key, low.origin, high.key, high.origin
            ))
            .hint(format!("lower the first to at most {high_value}, or raise the second")),
        );
    }
}

fn prices(settings: &Settings, entries: &[Entry], problems: &mut Problems) {
    for price in &settings.prices.models {
        if ![price.1, price.2, price.3, price.4].iter().all(|amount| (0.0..=1e6).contains(amount)) {
            let origin = origin(entries, "prices.models");
            problems.add(
                Problem::new(format!("`prices.models` in {origin}: invalid price for {:?}", price.0))
                    .hint("give dollars per million tokens, from 0.0 to 1000000.0"),
            );
        }
    }
}

fn windows(settings: &Settings, entries: &[Entry], problems: &mut Problems) {
    for window in &settings.windows.models {
        let (model, tokens, largest_tokens) = (window.model(), window.tokens(), window.largest_tokens());
        let origin = origin(entries, "windows.models");
        if tokens < 1_000 {
            problems.add(
                Problem::new(format!("`windows.models` in {origin}: the window of {model:?} is {tokens} tokens"))
                    .hint("give the model's context window in tokens, at least 1000"),
            );
        }
        if largest_tokens < tokens {
            let problem = format!(
                "`windows.models` in {origin}: the largest window of {model:?}, {largest_tokens}, is less than {tokens}"
            );
            problems.add(Problem::new(problem).hint("give the usual window first, then the largest one"));
        }
    }
}

fn data_folder(settings: &Settings, entries: &[Entry], problems: &mut Problems) {
    let origin = origin(entries, "data");
    let in_a_file = matches!(origin, Origin::User { .. });
    if in_a_file && !settings.data.is_empty() && !Path::new(&settings.data).is_absolute() {
        problems
            .add(Problem::new(format!("`data` in {origin} is a relative path")).hint("give a path that begins with /"));
    }
}

fn listen(settings: &Settings, entries: &[Entry], problems: &mut Problems) {
    let text = &settings.server.listen;
    let origin = origin(entries, "server.listen");
    let Ok(address) = text.parse::<SocketAddr>() else {
        problems.add(
            Problem::new(format!("`server.listen` = {text:?} in {origin} is not an address and port"))
                .hint("write it as 127.0.0.1:9090 or [::1]:9090; port 0 means any free port"),
        );
        return;
    };
    if !address.ip().is_loopback() && !settings.auth.jwt.is_on() {
        problems.add(
            Problem::new(format!(
                "`server.listen` = {text:?} in {origin}: other machines could connect, but [auth.jwt] is empty"
            ))
            .hint("listen on 127.0.0.1, or fill in [auth.jwt]"),
        );
    }
}

fn jwt(settings: &Settings, problems: &mut Problems) {
    let jwt = &settings.auth.jwt;
    if !jwt.is_on() {
        return;
    }
    let needed = [("algorithm", &jwt.algorithm), ("issuer", &jwt.issuer), ("audience", &jwt.audience)];
    for (name, _) in needed.into_iter().filter(|(_, value)| value.is_empty()) {
        problems.add(
            Problem::new(format!("`auth.jwt.{name}` is empty, but other keys of [auth.jwt] are not"))
                .hint("set algorithm, issuer and audience, all three"),
        );
    }
    if jwt.key_file.is_empty() == jwt.jwks_file.is_empty() {
        problems.add(
            Problem::new("[auth.jwt] needs exactly one of `key_file` and `jwks_file`")
                .hint("set one of them to the file with the key or with the JWK set"),
        );
    }
}

/// Checks the collector's address. The message does not repeat it, because it can hold a password.
fn otlp_endpoint(settings: &Settings, entries: &[Entry], problems: &mut Problems) {
    let endpoint = &settings.telemetry.otlp_endpoint;
    let host = endpoint.strip_prefix("http://").or_else(|| endpoint.strip_prefix("https://"));
    if !endpoint.is_empty() && host.is_none_or(|host| host.is_empty() || host.starts_with('/')) {
        let origin = origin(entries, "telemetry.otlp_endpoint");
        problems.add(
            Problem::new(format!("`telemetry.otlp_endpoint` in {origin} is not an HTTP address"))
                .hint("write it as http://127.0.0.1:4318"),
        );
    }
}
