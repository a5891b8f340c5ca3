//! Prompts and resources of servers. Prompts have their server's prefix; resources keep their addresses, and of two servers
//! with the same one the first in settings counts.
//!
//! Lists are asked for anew each time, of all servers at once, and what does not come in time is left out of that list.

use std::sync::Arc;

use infold_core::Principal;
use infold_core::gateway::ServerEntry;
use rmcp::model::InputRequiredResult;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::Gateway;
use super::asking::{ClientInput, is_question};
use super::calling::as_protocol;
use super::host::Host;
use crate::client_line::ClientLine;
use crate::gateway::{CallOptions, LinkError, ListKind};

/// What a server may have besides tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    Prompts,
    Resources,
    Logging,
}

impl Offer {
    /// The name of the capability.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Logging => "logging",
        }
    }
}

/// Who asks for a prompt or a resource, with the client's answer if it was asked something before.
pub(crate) struct OfferAsker {
    who: Principal,
    pub(super) client: ClientLine,
    input: ClientInput,
}

impl OfferAsker {
    pub(crate) fn new(who: Principal, context: RequestContext<RoleServer>, input: ClientInput) -> Self {
        Self { who, client: ClientLine::new(context), input }
    }
}

/// What a server answers.
pub(crate) enum OfferAnswer {
    Given(Value),
    /// It asks something first.
    Question(InputRequiredResult),
}

impl Gateway {
    /// Whether a server has this. One that was not started yet may have it.
    pub(crate) fn offers(&self, offer: Offer) -> bool {
        self.hosts.iter().any(|host| may_have(host, offer))
    }

    /// The prompts, resources or templates of all servers, in the order of settings.
    pub(crate) async fn list_all<T: DeserializeOwned>(self: &Arc<Self>, kind: ListKind) -> Vec<T> {
        let listed = self.lists(kind).await;
        listed.into_iter().filter_map(|(_, item)| serde_json::from_value(item).ok()).collect()
    }

    /// The prompt of this name, from the server that has it.
    pub(crate) async fn prompt(
        self: &Arc<Self>,
        name: &str,
        arguments: Value,
        asker: OfferAsker,
    ) -> Result<OfferAnswer, ErrorData> {
        let host = self.host_of_prompt(name)?;
        let own_name = &name[host.entry.prefix.len()..];
        self.ask(&host, "prompts/get", json!({ "name": own_name, "arguments": arguments }), asker).await
    }

    /// The resource at this address, from the server that lists it.
    pub(crate) async fn resource(self: &Arc<Self>, uri: &str, asker: OfferAsker) -> Result<OfferAnswer, ErrorData> {
        let host = self.host_of_resource(uri).await?;
        self.ask(&host, "resources/read", json!({ "uri": uri }), asker).await
    }

    /// What completes an argument of a prompt or of a resource's address.
    pub(crate) async fn completion(
        self: &Arc<Self>,
        mut params: Value,
        asker: OfferAsker,
    ) -> Result<OfferAnswer, ErrorData> {
        let of = |params: &Value, key: &str| params["ref"][key].as_str().map(str::to_owned);
        let host = match (of(&params, "name"), of(&params, "uri")) {
            (Some(name), _) => {
                let host = self.host_of_prompt(&name)?;
                params["ref"]["name"] = json!(name[host.entry.prefix.len()..]);
                host
            }
            (None, Some(uri)) => self.host_of_resource(&uri).await?,
            (None, None) => return Err(ErrorData::invalid_params("ref names a prompt or a resource", None)),
        };
        self.ask(&host, "completion/complete", params, asker).await
    }

    fn host_of_prompt(&self, name: &str) -> Result<Arc<Host>, ErrorData> {
        let has = |host: &&Arc<Host>| may_have(host, Offer::Prompts) && name.starts_with(&host.entry.prefix);
        let host = self.hosts.iter().filter(has).max_by_key(|host| host.entry.prefix.len());
        host.cloned().ok_or_else(|| ErrorData::invalid_params(format!("There is no prompt {name:?}"), None))
    }

    pub(super) async fn host_of_resource(self: &Arc<Self>, uri: &str) -> Result<Arc<Host>, ErrorData> {
        let listed = self.lists(ListKind::Resources).await;
        let found = listed.into_iter().find(|(_, item)| item["uri"] == uri).map(|(at, _)| at);
        let found = match found {
            Some(at) => Some(at),
            None => {
                let templates = self.lists(ListKind::ResourceTemplates).await;
                let fits = |item: &Value| item["uriTemplate"].as_str().is_some_and(|template| may_be(template, uri));
                templates.into_iter().find(|(_, item)| fits(item)).map(|(at, _)| at)
            }
        };
        let host = found.map(|at| self.hosts[at].clone());
        host.ok_or_else(|| ErrorData::resource_not_found(format!("no server lists {uri:?}"), None))
    }

    /// The items of all servers, without secrets, each with the place of its server.
    async fn lists(self: &Arc<Self>, kind: ListKind) -> Vec<(usize, Value)> {
        let offer = if kind == ListKind::Prompts { Offer::Prompts } else { Offer::Resources };
        let mut asking = JoinSet::new();
        for (at, host) in self.hosts.iter().enumerate().filter(|(_, host)| may_have(host, offer)) {
            let (gateway, host) = (self.clone(), host.clone());
            asking.spawn(async move {
                let listed = tokio::time::timeout(gateway.setup.list_wait, gateway.list(&host, kind)).await;
                (at, listed.unwrap_or_default())
            });
        }
        let mut all = asking.join_all().await;
        all.sort_by_key(|(at, _)| *at);
        all.into_iter().flat_map(|(at, items)| items.into_iter().map(move |item| (at, item))).collect()
    }

    /// The items of one server; none, if it has no such list or cannot be used.
    async fn list(self: &Arc<Self>, host: &Arc<Host>, kind: ListKind) -> Vec<Value> {
        let Ok(link) = self.link(host, self.setup.folder.clone()).await else { return Vec::new() };
        let listed = match link.list(kind).await {
            Ok(listed) => listed.items,
            Err(error) => {
                host.failed(&error);
                return Vec::new();
            }
        };
        let mut items = Vec::with_capacity(listed.len());
        for item in listed {
            // An item that cannot be searched for secrets is left out.
            if let Ok(mut item) = self.engine.clean_value(&item).await {
                prefix(&host.entry, kind, &mut item);
                items.push(item);
            }
        }
        items
    }

    /// One request to a server, and its answer without secrets.
    pub(super) async fn ask(
        self: &Arc<Self>,
        host: &Arc<Host>,
        method: &str,
        mut params: Value,
        asker: OfferAsker,
    ) -> Result<OfferAnswer, ErrorData> {
        let OfferAsker { who, client, input } = asker;
        let whose = (&who, &host.entry.key);
        input.add_to(&mut params, &self.seal, whose)?;
        let link = match self.link(host, self.setup.folder.clone()).await {
            Ok(link) => link,
            Err(why) => return Err(ErrorData::internal_error(self.scrubbed(why).await, None)),
        };
        let capabilities = Some(client.capabilities());
        let options = CallOptions { capabilities, ..CallOptions::within(host.entry.limits.call_timeout_ms) };
        match link.request(method, params, options).await {
            Ok(answer) if is_question(&answer) && client.is_modern() => {
                host.answered();
                Ok(OfferAnswer::Question(self.question(answer, whose).await?))
            }
            Ok(answer) => {
                host.answered();
                let clean = self.engine.clean_value(&answer).await;
                clean.map(OfferAnswer::Given).map_err(|error| ErrorData::internal_error(error.to_string(), None))
            }
            Err(LinkError::Rpc(error)) => Err(self.scrubbed_error(as_protocol(host.without_values(error))).await),
            Err(error) => {
                host.failed(&error);
                Err(ErrorData::internal_error(self.scrubbed(host.words_of(&error)).await, None))
            }
        }
    }
}

pub(super) fn may_have(host: &Host, offer: Offer) -> bool {
    host.capabilities().is_none_or(|capabilities| capabilities.get(offer.name()).is_some_and(Value::is_object))
}

/// Gives a prompt the name under which it is listed.
fn prefix(entry: &ServerEntry, kind: ListKind, item: &mut Value) {
    if kind == ListKind::Prompts
        && let Some(name) = item["name"].as_str()
    {
        item["name"] = json!(format!("{}{name}", entry.prefix));
    }
}

/// Whether an address may be of a template: it is what is before the first hole, and ends as what is behind the last.
fn may_be(template: &str, uri: &str) -> bool {
    let before = template.split('{').next().unwrap_or_default();
    let behind = template.rsplit('}').next().unwrap_or_default();
    uri == template || (template.contains('{') && uri.starts_with(before) && uri.ends_with(behind))
}
