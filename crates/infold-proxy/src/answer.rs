//! One request, from its head to the head of its answer.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use infold_core::Principal;
use infold_engine::{ModelRequest, Purpose};

use crate::refusal::ProxyRefusal;
use crate::route::{Handling, Route};
use crate::send::Outgoing;
use crate::{Planning, Provider, Proxy};

/// Answers a request.
pub(crate) async fn answer(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    match answered(&proxy, request).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    }
}

async fn answered(proxy: &Arc<Proxy>, request: Request) -> Result<Response, ProxyRefusal> {
    let (parts, body) = request.into_parts();
    let route = Route::of(&parts, &proxy.settings)?;
    let body = whole(body, route.provider, proxy.settings.body_bytes_max).await?;
    let arrived = Instant::now();
    let who = parts.extensions.get::<Principal>().cloned();
    let outgoing = Outgoing {
        provider: route.provider,
        method: parts.method,
        target: route.target,
        suggested: route.suggested,
        headers: parts.headers,
        extensions: parts.extensions,
    };

    let handling = if proxy.settings.planning == Planning::Off { Handling::Pass } else { route.handling };
    let (api, purpose, who) = match (handling, who) {
        (Handling::Turn(api), Some(who)) => (api, Purpose::Send, who),
        (Handling::Count(api), Some(who)) => (api, Purpose::Count, who),
        // The door lets nobody in whom it does not know; if one came some other way, nothing is stored.
        (Handling::Turn(_) | Handling::Count(_), None) | (Handling::Pass, _) => {
            proxy.metrics.request("other", "passed");
            return passed(proxy, &outgoing, &body).await;
        }
    };
    let headers = outgoing.headers.iter();
    let headers = headers.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    let headers = headers.collect();
    proxy.turn(ModelRequest { who, api, headers, body, arrived, purpose }, outgoing).await
}

/// Passes a request on as it is.
async fn passed(proxy: &Proxy, outgoing: &Outgoing, body: &Bytes) -> Result<Response, ProxyRefusal> {
    Ok(proxy.send(outgoing, body).await?.relayed(None, proxy.silence()))
}

/// Reads a body to its end.
async fn whole(body: Body, provider: Provider, bytes_max: usize) -> Result<Bytes, ProxyRefusal> {
    match Limited::new(body, bytes_max).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if is_too_long(&*error) => {
            let message = format!(
                "the request is longer than {bytes_max} bytes: send less, or let proxy.body_bytes_max in infold's \
                 settings be larger"
            );
            Err(ProxyRefusal::new(provider, StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message))
        }
        Err(error) => {
            let message = format!("the request did not arrive whole ({error}): send it again");
            Err(ProxyRefusal::new(provider, StatusCode::BAD_REQUEST, "body_broken", message))
        }
    }
}

/// The door bounds bodies too, and wraps its error.
fn is_too_long(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(each) = cause {
        if each.is::<LengthLimitError>() {
            return true;
        }
        cause = each.source();
    }
    false
}
