//! The agent's model, as settings name it, and the way to it. Its key comes from the environment or the system's keyring,
//! and from nowhere else.

use std::sync::Arc;

use anyhow::Context;
use futures::stream;
use infold_agent::provider::{Effort, IncomingAnswer, OutgoingRequest, ProviderApi, SendFault, SendModel};
use infold_agent::setup::ModelSetup;
use infold_core::{Counter, Family};
use infold_engine::AskFault;
use infold_proxy::{OwnKey, OwnSettings, OwnStream, OwnWay, Provider, Tunnels, Upstream};

use crate::commands::Invocation;
use crate::failure::Refused;
use crate::parts;
use crate::settings::{AgentEffort, AgentPart, AgentProvider, Settings};

/// The longest answer that is read.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Where Ollama listens.
const OLLAMA: &str = "http://127.0.0.1:11434";
/// What keys are kept as in the system's keyring.
const KEYRING_SERVICE: &str = "infold";

/// The model of the settings in force.
pub async fn of(invocation: &Invocation) -> anyhow::Result<ModelSetup> {
    let settings = &invocation.in_force.settings;
    let agent = &settings.agent;
    let variable = key_variable(agent);
    let key = key(invocation, &variable).await?;
    let way = OwnWay {
        api: match agent.provider {
            AgentProvider::Anthropic => Provider::Anthropic,
            AgentProvider::OpenAi | AgentProvider::OpenAiChat | AgentProvider::Ollama => Provider::OpenAi,
        },
        upstream: Upstream::parse(upstream(settings)).context("agent.upstream")?,
        key,
        settings: OwnSettings { model: "agent.model", upstream: "agent.upstream", key: "agent.key_env" },
        tunnels: parts::tunnels(&invocation.surroundings).unwrap_or_else(|_| Tunnels::none()),
        connect_timeout_ms: settings.proxy.connect_timeout_ms,
        timeout_ms: agent.answer_timeout_ms,
        answer_bytes_max: ANSWER_BYTES_MAX,
    };
    Ok(ModelSetup {
        api: api(agent.provider),
        model: agent.model.clone(),
        effort: match agent.effort {
            AgentEffort::Off => Effort::Off,
            AgentEffort::Low => Effort::Low,
            AgentEffort::Medium => Effort::Medium,
            AgentEffort::High => Effort::High,
        },
        counter: Counter::new(Family::of_model(&agent.model)),
        send: send(OwnStream::new(way, settings.proxy.silence_timeout_ms)),
        key_variable: variable,
    })
}

/// The API that a provider's models are asked through.
fn api(provider: AgentProvider) -> ProviderApi {
    match provider {
        AgentProvider::Anthropic => ProviderApi::Anthropic,
        AgentProvider::OpenAi => ProviderApi::Responses,
        AgentProvider::OpenAiChat => ProviderApi::Chat,
        AgentProvider::Ollama => ProviderApi::Ollama,
    }
}

fn upstream(settings: &Settings) -> &str {
    let agent = &settings.agent;
    match agent.provider {
        _ if !agent.upstream.is_empty() => &agent.upstream,
        AgentProvider::Anthropic => &settings.proxy.anthropic.upstream,
        AgentProvider::OpenAi | AgentProvider::OpenAiChat => &settings.proxy.openai.upstream,
        AgentProvider::Ollama => OLLAMA,
    }
}

fn key_variable(agent: &AgentPart) -> String {
    match agent.provider {
        _ if !agent.key_env.is_empty() => agent.key_env.clone(),
        AgentProvider::Anthropic => "ANTHROPIC_API_KEY".to_owned(),
        AgentProvider::OpenAi | AgentProvider::OpenAiChat => "OPENAI_API_KEY".to_owned(),
        AgentProvider::Ollama => String::new(),
    }
}

/// The key: of the variable, else of the keyring.
async fn key(invocation: &Invocation, variable: &str) -> anyhow::Result<OwnKey> {
    if variable.is_empty() {
        return Ok(OwnKey::Nothing);
    }
    if let Some(key) = invocation.surroundings.text(variable).filter(|key| !key.trim().is_empty()) {
        return Ok(OwnKey::Key(key.trim().to_owned()));
    }
    let provider = invocation.in_force.settings.agent.provider.name();
    if let Some(key) = keyring_key(provider).await {
        return Ok(OwnKey::Key(key));
    }
    Err(Refused::new(format!("there is no key for {provider}"))
        .hint(format!(
            "set the variable {variable}, or keep the key in the system's keyring: secret-tool store --label=infold \
             service {KEYRING_SERVICE} account {provider}"
        ))
        .code("no_key")
        .into())
}

/// The key that the system's keyring has for a provider; `None` if there is no keyring, or none in it.
async fn keyring_key(provider: &str) -> Option<String> {
    let mut lookup = tokio::process::Command::new("secret-tool");
    lookup.args(["lookup", "service", KEYRING_SERVICE, "account", provider]).stdin(std::process::Stdio::null());
    let looked_up = tokio::time::timeout(std::time::Duration::from_secs(10), lookup.output()).await;
    let output = looked_up.ok()?.ok().filter(|output| output.status.success())?;
    let key = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!key.is_empty()).then_some(key)
}

fn send(stream: OwnStream) -> SendModel {
    let stream = Arc::new(stream);
    Arc::new(move |OutgoingRequest { api, body }| {
        let stream = Arc::clone(&stream);
        Box::pin(async move {
            let answer = stream.post(api.path(), body).await.map_err(fault)?;
            let (status, retry_after_ms) = (answer.status, answer.retry_after_ms);
            let pieces = stream::unfold(answer, |mut answer| async move {
                let piece = answer.next().await?;
                Some((piece.map_err(fault), answer))
            });
            Ok(IncomingAnswer { status, retry_after_ms, pieces: Box::pin(pieces) })
        })
    })
}

fn fault(fault: AskFault) -> SendFault {
    let problem = fault.problem().to_owned();
    match fault {
        AskFault::Unusable(_) => SendFault::Unusable(problem),
        AskFault::Busy { .. } | AskFault::Failed(_) => SendFault::Unreached(problem),
        AskFault::Lost(_) => SendFault::BrokeOff(problem),
    }
}
