//! Answers one request: it is a turn, a count, or something else that is searched and passed on. A turn is prepared by
//! the engine, sent by the proxy, and its answer relayed. If the provider refuses it for a reason that the engine can mend, the
//! mended request is sent.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use infold_core::Principal;
use infold_core::record::AnswerEnd;
use infold_engine::{AnswerHead, ModelRequest, Prepared, Purpose, ReadyRequest, SearchScope, SearchedBody, Withheld};
use infold_wire::answer::Delivery;

use crate::handling::Handling;
use crate::refusal::ProxyRefusal;
use crate::relay::{Answered, Watch};
use crate::route::Route;
use crate::send::Outgoing;
use crate::unpack::{Unpacked, unpack};
use crate::{Provider, Proxy};

/// Handles every request below a provider's path.
pub(crate) async fn answer(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    match try_answer(&proxy, request).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    }
}

async fn try_answer(proxy: &Arc<Proxy>, request: Request) -> Result<Response, ProxyRefusal> {
    let (parts, body) = request.into_parts();
    let route = Route::of(&parts, &proxy.settings)?;
    let (provider, bytes_max) = (route.provider, proxy.settings.body_bytes_max);
    let body = read_whole(body, provider, bytes_max).await?;
    let arrived = Instant::now();
    let who = parts.extensions.get::<Principal>().cloned();
    let handling = match body.is_empty() {
        true => Handling::Pass,
        false => Handling::of(provider, &parts.method, &route.path, &proxy.settings),
    };
    let Unpacked { plain: body, packed } = match handling {
        Handling::Pass => Unpacked { plain: body, packed: None },
        Handling::Turn(_) | Handling::Count(_) | Handling::Search(_) => {
            unpack(&parts.headers, body, provider, bytes_max).await?
        }
    };
    let outgoing = Outgoing {
        provider: route.provider,
        method: parts.method,
        target: route.target,
        suggested: route.suggested,
        headers: parts.headers,
        packed,
        extensions: parts.extensions,
    };

    let (api, purpose, who) = match (handling, who) {
        (Handling::Turn(api), Some(who)) => (api, Purpose::Send, who),
        (Handling::Count(api), Some(who)) => (api, Purpose::Count, who),
        // The door lets nobody in whom it does not know. If somebody came some other way, nothing is stored.
        (Handling::Turn(_) | Handling::Count(_), None) => {
            return proxy.search(&outgoing, &body, SearchScope::Json).await;
        }
        (Handling::Search(scope), _) => return proxy.search(&outgoing, &body, scope).await,
        (Handling::Pass, _) => {
            proxy.metrics.request("other", "passed");
            return pass_on(proxy, &outgoing, &body).await;
        }
    };
    let headers = outgoing.headers.iter();
    let headers = headers.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    let headers = headers.collect();
    let searched = SearchedBody::default();
    proxy.turn(ModelRequest { who, api, headers, body, arrived, purpose, searched, thread: None }, outgoing).await
}

/// Forwards a request and relays its answer, unread.
async fn pass_on(proxy: &Proxy, outgoing: &Outgoing, body: &Bytes) -> Result<Response, ProxyRefusal> {
    Ok(proxy.send(outgoing, body).await?.relayed(None, proxy.silence()))
}

async fn read_whole(body: Body, provider: Provider, bytes_max: usize) -> Result<Bytes, ProxyRefusal> {
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

/// Whether a body was too long. The door bounds bodies too and wraps its error, so all causes are searched.
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

impl Proxy {
    /// Passes a request on that is no turn, without the secrets in it.
    async fn search(&self, outgoing: &Outgoing, body: &Bytes, scope: SearchScope) -> Result<Response, ProxyRefusal> {
        let withheld = |why| self.withheld("other", outgoing, &why);
        let searched = self.engine.search_body(body, scope).await.map_err(withheld)?;
        self.metrics.request("other", if searched == *body { "passed" } else { "edited" });
        pass_on(self, outgoing, &searched).await
    }

    /// Answers a turn, or a count of a turn's tokens.
    pub(crate) async fn turn(&self, asked: ModelRequest, outgoing: Outgoing) -> Result<Response, ProxyRefusal> {
        let withheld = |why| self.withheld(asked.api.name(), &outgoing, &why);
        let prepared = match self.engine.prepare(&asked).await.map_err(withheld)? {
            ReadyRequest::Turn(prepared) => *prepared,
            ReadyRequest::Searched(body) => {
                self.metrics.request(asked.api.name(), "passed");
                return pass_on(self, &outgoing, &body).await;
            }
            // Only an agent that names its threads gets this, and clients of the proxy do not.
            ReadyRequest::Over(_) => return Err(withheld(Withheld::Unplanned("branch over"))),
        };
        match asked.purpose {
            Purpose::Count => {
                self.metrics.request(asked.api.name(), "counted");
                Ok(self.send(&outgoing, &prepared.body).await?.relayed(None, self.silence()))
            }
            Purpose::Send => {
                self.metrics.planned(prepared.planning_time, asked.body.len(), prepared.body.len());
                self.forward(&asked, &outgoing, prepared).await
            }
        }
    }

    /// Sends the prepared request, and after each refusal that the engine can mend the mended one.
    async fn forward(
        &self,
        asked: &ModelRequest,
        outgoing: &Outgoing,
        mut prepared: Prepared<'_>,
    ) -> Result<Response, ProxyRefusal> {
        loop {
            let body = prepared.body.clone();
            let sending = self.send(outgoing, &body);
            // While the provider is at work there is time to analyse what it was sent.
            let (answered, may_hold) = tokio::join!(sending, self.engine.look_at(&mut prepared));
            let answered = match answered {
                Ok(answered) => answered,
                Err(refusal) => {
                    tracing::debug!(code = refusal.code, "a request was not answered");
                    self.metrics.request(asked.api.name(), "unanswered");
                    let head = AnswerHead { status: None, delivery: Delivery::Whole, repeated: 0 };
                    self.engine.listen(prepared, head).end(AnswerEnd::Failed);
                    return Err(refusal);
                }
            };
            let answered = if prepared.can_be_mended { answered.read_refusal(self.silence()).await } else { answered };
            let hold = Duration::from_millis(self.settings.hold_ms);
            let answered = if may_hold { answered.read_opening(asked.api, hold).await } else { answered };
            if let Some(refused) = answered.refused
                && self.engine.remedy(&mut prepared, refused).await
            {
                self.metrics.repeated(refused.name());
                continue;
            }
            self.metrics.request(asked.api.name(), if prepared.is_edited { "edited" } else { "as_it_came" });
            let watch = self.watch(prepared, &answered);
            return Ok(answered.relayed(Some(watch), self.silence()));
        }
    }

    fn watch(&self, prepared: Prepared<'_>, answered: &Answered) -> Watch {
        let delivery = if answered.is_stream() { Delivery::Streamed } else { Delivery::Whole };
        let status = Some(answered.head.status.as_u16());
        let listener = self.engine.listen(prepared, AnswerHead { status, delivery, repeated: answered.repeated });
        let watch = Watch::new(listener, &answered.head.headers);
        if watch.is_lost() {
            self.metrics.unmetered();
        }
        watch
    }

    fn withheld(&self, api: &'static str, outgoing: &Outgoing, why: &Withheld) -> ProxyRefusal {
        self.metrics.request(api, "refused");
        ProxyRefusal::withheld(outgoing.provider, why)
    }

    pub(crate) fn silence(&self) -> Duration {
        Duration::from_millis(self.settings.silence_timeout_ms)
    }
}
