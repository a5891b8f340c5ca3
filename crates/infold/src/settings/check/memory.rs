//! Checks the values of `[memory]` that have a form of their own.

use std::path::Path;

use infold_proxy::Upstream;

use super::{Entry, Problem, Problems, Settings, origin};

/// Checks the addresses of the user's models, and the names of the variables with their keys. Messages repeat neither,
/// because people put keys into both.
pub(super) fn check(settings: &Settings, entries: &[Entry], problems: &mut Problems) {
    let memory = &settings.memory;
    let upstreams = [
        ("memory.distill_upstream", &memory.distill_upstream),
        ("memory.embedding_upstream", &memory.embedding_upstream),
    ];
    for (key, text) in upstreams {
        if let Some(error) = Upstream::parse(text).err().filter(|_| !text.is_empty()) {
            problems.add(Problem::new(format!("`{key}` in {} {error}", origin(entries, key))));
        }
    }
    let variables =
        [("memory.distill_key_env", &memory.distill_key_env), ("memory.embedding_key_env", &memory.embedding_key_env)];
    for (key, name) in variables {
        if !is_variable(name) {
            problems.add(
                Problem::new(format!("`{key}` in {} is no name of an environment variable", origin(entries, key)))
                    .hint("put the key into a variable, and write its name here, for example \"ANTHROPIC_API_KEY\""),
            );
        }
    }
    let is_there = memory.embedding_upstream.is_empty();
    if is_there && !memory.has_built_in_embedding() && !Path::new(&memory.embedding_model).is_absolute() {
        let key = "memory.embedding_model";
        problems.add(Problem::new(format!("`{key}` in {} is no whole path", origin(entries, key))).hint(
            "write \"built-in\", or the path of the model's folder from / on; for a model at a server set \
                 memory.embedding_upstream too",
        ));
    }
}

/// Whether this may be the name of a variable with a key. Those of infold's own are settings, which are shown.
fn is_variable(name: &str) -> bool {
    let is_word = name.bytes().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == b'_');
    is_word && !name.starts_with("INFOLD_") && !name.starts_with(|first: char| first.is_ascii_digit())
}
