//! The user's own models that memories use, as settings name them, with the way to each. Only here is the environment
//! looked at for their keys.

use std::path::{Path, PathBuf};

use anyhow::Context;
use infold_core::memory::FileModel;
use infold_engine::{Distiller, Embedder, EndpointEmbedder, FileEmbedder, MemoryModels};
use infold_proxy::{OwnKey, OwnModel, OwnSettings, OwnWay, Provider, Tunnels, Upstream, ask_model, embed_texts};

use crate::parts;
use crate::settings::{ModelApi, Settings, Surroundings};

/// The longest answer of a model that is read.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// The largest files of a model that are read.
const TABLE_BYTES_MAX: u64 = 2 << 30;
const TOKENIZER_BYTES_MAX: u64 = 256 << 20;

/// The models that memories use.
pub fn of(settings: &Settings) -> anyhow::Result<MemoryModels> {
    let embedding_wait_ms = settings.memory.embedding_wait_ms;
    Ok(MemoryModels { distiller: distiller(settings)?, embedder: embedder(settings)?, embedding_wait_ms })
}

fn distiller(settings: &Settings) -> anyhow::Result<Option<Distiller>> {
    let memory = &settings.memory;
    if memory.distill_model.is_empty() {
        return Ok(None);
    }
    let (api, usual) = match memory.distill_api {
        ModelApi::Anthropic => (Provider::Anthropic, &settings.proxy.anthropic.upstream),
        ModelApi::OpenAi => (Provider::OpenAi, &settings.proxy.openai.upstream),
    };
    let upstream = if memory.distill_upstream.is_empty() { usual } else { &memory.distill_upstream };
    let named = OwnSettings {
        model: "memory.distill_model",
        upstream: "memory.distill_upstream",
        key: "memory.distill_key_env",
    };
    let way = way(settings, named, api, (upstream, &memory.distill_key_env), memory.distill_timeout_ms)?;
    Ok(Some(Distiller {
        model: memory.distill_model.clone(),
        ask: ask_model(OwnModel { model: memory.distill_model.clone(), way }),
        tokens_per_day: memory.distill_tokens_per_day,
        record_bytes_max: memory.distill_record_bytes_max,
        answer_tokens_max: memory.distill_answer_tokens_max,
        pause_ms: memory.distill_pause_ms,
    }))
}

fn embedder(settings: &Settings) -> anyhow::Result<Embedder> {
    let memory = &settings.memory;
    if memory.has_built_in_embedding() {
        return Ok(Embedder::BuiltIn);
    }
    let model = memory.embedding_model.clone();
    if memory.embedding_upstream.is_empty() {
        let folder = PathBuf::from(model);
        return Ok(Embedder::Files(FileEmbedder::new(move || read_model(&folder))));
    }
    let named = OwnSettings {
        model: "memory.embedding_model",
        upstream: "memory.embedding_upstream",
        key: "memory.embedding_key_env",
    };
    let address = (&memory.embedding_upstream, &memory.embedding_key_env);
    let way = way(settings, named, Provider::OpenAi, address, memory.embedding_timeout_ms)?;
    let name = format!("{model}@{}", way.upstream);
    Ok(Embedder::Endpoint(EndpointEmbedder { name, embed: embed_texts(OwnModel { model, way }) }))
}

/// The way to an upstream, with the key in a variable.
fn way(
    settings: &Settings,
    named: OwnSettings,
    api: Provider,
    (upstream, variable): (&String, &String),
    timeout_ms: u64,
) -> anyhow::Result<OwnWay> {
    let surroundings = Surroundings::of_this_process();
    Ok(OwnWay {
        api,
        upstream: Upstream::parse(upstream).context(named.upstream)?,
        key: key(variable, &surroundings),
        settings: named,
        tunnels: parts::tunnels(&surroundings).unwrap_or_else(|_| Tunnels::none()),
        connect_timeout_ms: settings.proxy.connect_timeout_ms,
        timeout_ms,
        answer_bytes_max: ANSWER_BYTES_MAX,
    })
}

/// Reads a model from its folder.
fn read_model(folder: &Path) -> Result<FileModel, String> {
    let file = |name: &str, bytes_max: u64| {
        let path = folder.join(name);
        let size = std::fs::metadata(&path).map(|metadata| metadata.len());
        let wrong = |problem: String| format!("{}: {problem}; see memory.embedding_model", path.display());
        match size {
            Ok(bytes) if bytes > bytes_max => Err(wrong(format!("it is larger than {bytes_max} bytes"))),
            Ok(_) => std::fs::read(&path).map_err(|error| wrong(error.to_string())),
            Err(error) => Err(wrong(error.to_string())),
        }
    };
    let label = folder.file_name().map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned());
    let (table, tokenizer) =
        (file("model.safetensors", TABLE_BYTES_MAX)?, file("tokenizer.json", TOKENIZER_BYTES_MAX)?);
    FileModel::read(&label, table, &tokenizer)
        .map_err(|error| format!("{}: {error}; see memory.embedding_model", folder.display()))
}

/// The key in a variable of the environment. No name means that there is none.
fn key(variable: &str, surroundings: &Surroundings) -> OwnKey {
    match surroundings.text(variable) {
        _ if variable.is_empty() => OwnKey::Nothing,
        None => OwnKey::Unset { variable: variable.to_owned() },
        Some(key) => OwnKey::Key(key.trim().to_owned()),
    }
}

/// What is wrong with the models that settings name, as far as it can be seen without asking them; `None` if they name none.
pub fn problems(settings: &Settings, surroundings: &Surroundings) -> Option<Vec<String>> {
    let memory = &settings.memory;
    let is_asked = !memory.embedding_upstream.is_empty();
    let keys = [
        ("memory.distill_key_env", &memory.distill_key_env, !memory.distill_model.is_empty()),
        ("memory.embedding_key_env", &memory.embedding_key_env, is_asked),
    ];
    let is_named = keys.iter().any(|(.., is_used)| *is_used) || !memory.has_built_in_embedding();
    let unset = keys.iter().filter_map(|(setting, variable, is_used)| match key(variable, surroundings) {
        OwnKey::Unset { variable } if *is_used => {
            Some(format!("the variable {variable}, which {setting} names, is not set here"))
        }
        OwnKey::Unset { .. } | OwnKey::Nothing | OwnKey::Key(_) => None,
    });
    let mut problems: Vec<String> = unset.collect();
    if !is_asked && !memory.has_built_in_embedding() {
        problems.extend(read_model(Path::new(&memory.embedding_model)).err());
    }
    is_named.then_some(problems)
}
