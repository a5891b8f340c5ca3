//! Resources that clients of the older era want to hear of: a server gets one subscription, however many clients have it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ErrorData;
use serde_json::{Value, json};

use super::Gateway;
use super::offers::OfferAsker;
use crate::client_line::ClientAsker;

/// Clients by the resource that they want to hear of, each with its session.
#[derive(Default)]
pub(super) struct Subscriptions(Mutex<HashMap<String, Vec<Subscriber>>>);

struct Subscriber {
    session: Arc<str>,
    client: ClientAsker,
}

impl Subscriptions {
    /// Adds a client. Says whether it is the resource's first.
    fn add(&self, uri: &str, session: Arc<str>, client: ClientAsker) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let clients = all.entry(uri.to_owned()).or_default();
        clients.retain(|one| !one.client.is_gone() && one.session != session);
        clients.push(Subscriber { session, client });
        clients.len() == 1
    }

    /// Takes a client out. Says whether it was the resource's last.
    fn remove(&self, uri: &str, session: &str) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(clients) = all.get_mut(uri) else { return false };
        clients.retain(|one| !one.client.is_gone() && &*one.session != session);
        let is_last = clients.is_empty();
        if is_last {
            all.remove(uri);
        }
        is_last
    }

    fn clients(&self, uri: &str) -> Vec<ClientAsker> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(uri).into_iter().flatten().map(|one| one.client.clone()).collect()
    }
}

impl Gateway {
    /// From now on the client is sent a notice when the resource changes.
    pub(crate) async fn subscribe(self: &Arc<Self>, uri: &str, asker: OfferAsker) -> Result<(), ErrorData> {
        let (session, client) = subscriber(&asker)?;
        if self.subscriptions.add(uri, session.clone(), client)
            && let Err(error) = self.ask_of_resource("resources/subscribe", uri, asker).await
        {
            self.subscriptions.remove(uri, &session);
            return Err(error);
        }
        Ok(())
    }

    /// The client is sent no more notices of the resource.
    pub(crate) async fn unsubscribe(self: &Arc<Self>, uri: &str, asker: OfferAsker) -> Result<(), ErrorData> {
        let (session, _) = subscriber(&asker)?;
        if self.subscriptions.remove(uri, &session) {
            self.ask_of_resource("resources/unsubscribe", uri, asker).await?;
        }
        Ok(())
    }

    /// Passes a server's notice of a changed resource on.
    pub(super) async fn resource_updated(&self, notice: &Value) {
        let uri = notice["uri"].as_str().unwrap_or_default();
        for client in self.subscriptions.clients(uri) {
            client.updated(uri.to_owned()).await;
        }
    }

    async fn ask_of_resource(self: &Arc<Self>, method: &str, uri: &str, asker: OfferAsker) -> Result<(), ErrorData> {
        let host = self.host_of_resource(uri).await?;
        self.ask(&host, method, json!({ "uri": uri }), asker).await?;
        Ok(())
    }
}

fn subscriber(asker: &OfferAsker) -> Result<(Arc<str>, ClientAsker), ErrorData> {
    let nowhere = || ErrorData::invalid_request("This client has no session in which it could be sent notices", None);
    Ok((asker.client.session().ok_or_else(nowhere)?, asker.client.asker()))
}
