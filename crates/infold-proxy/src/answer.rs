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

use crate::metrics::api_name;
use crate::refusal::Refusal;
use crate::route::{Purpose, Route};
use crate::send::Outgoing;
use crate::turn::Arrival;
use crate::{Planning, Provider, Proxy};

/// Answers a request.
pub(crate) async fn answer(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    match answered(&proxy, request).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    }
}

async fn answered(proxy: &Arc<Proxy>, request: Request) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let route = Route::of(&parts, &proxy.settings)?;
    let body = whole(body, route.provider, proxy.settings.body_bytes_max).await?;
    let at = Instant::now();
    let who = parts.extensions.get::<Principal>().cloned();
    let outgoing = Outgoing {
        provider: route.provider,
        method: parts.method,
        target: route.target,
        meant: route.meant,
        headers: parts.headers,
        extensions: parts.extensions,
    };

    let purpose = if proxy.settings.planning == Planning::Off { Purpose::Other } else { route.purpose };
    match (purpose, who) {
        (Purpose::Turn(api), Some(who)) => proxy.turn(Arrival { who, api, outgoing, body, at }).await,
        (Purpose::Count(api), Some(who)) => {
            let arrival = Arrival { who, api, outgoing, body, at };
            let body = proxy.counted(&arrival).await?;
            proxy.metrics.request(api_name(api), "counted");
            passed(proxy, &arrival.outgoing, &body).await
        }
        // The door lets nobody in whom it does not know; if one came some other way, nothing is stored.
        (Purpose::Turn(_) | Purpose::Count(_), None) | (Purpose::Other, _) => {
            proxy.metrics.request("other", "passed");
            passed(proxy, &outgoing, &body).await
        }
    }
}

/// Passes a request on as it is.
async fn passed(proxy: &Proxy, outgoing: &Outgoing, body: &Bytes) -> Result<Response, Refusal> {
    Ok(proxy.send(outgoing, body).await?.relayed(None, proxy.silence()))
}

/// Reads a body to its end.
async fn whole(body: Body, provider: Provider, bytes_max: usize) -> Result<Bytes, Refusal> {
    match Limited::new(body, bytes_max).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if is_too_long(&*error) => {
            let message = format!(
                "the request is longer than {bytes_max} bytes: send less, or let proxy.body_bytes_max in infold's \
                 settings be larger"
            );
            Err(Refusal::new(provider, StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message))
        }
        Err(error) => {
            let message = format!("the request did not arrive whole ({error}): send it again");
            Err(Refusal::new(provider, StatusCode::BAD_REQUEST, "body_broken", message))
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
