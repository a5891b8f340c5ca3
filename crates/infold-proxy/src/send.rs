//! Sends a request upstream, and again if that may help, but never once a byte of an answer has reached the client.

use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::time::{sleep, timeout};

use crate::connect::Unreached;
use crate::refusal::ProxyRefusal;
use crate::relay::Answered;
use crate::settings::RetryStatus;
use crate::unpack::Packed;
use crate::{Provider, Proxy, headers};

/// The wait before the first repetition, doubled for each further one.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Everything of a request that goes upstream, except its body.
pub(crate) struct Outgoing {
    pub(crate) provider: Provider,
    pub(crate) method: Method,
    pub(crate) target: Uri,
    /// The provider whose base URL the client should use, if it seems to use a wrong one.
    pub(crate) suggested: Option<Provider>,
    pub(crate) headers: HeaderMap,
    /// The body as its client sent it, if that was compressed.
    pub(crate) packed: Option<Packed>,
    pub(crate) extensions: http::Extensions,
}

impl Proxy {
    /// Sends `body`, several times if need be, and returns the first answer that may be passed on.
    pub(crate) async fn send(&self, outgoing: &Outgoing, body: &Bytes) -> Result<Answered, ProxyRefusal> {
        let mut repeated = 0;
        loop {
            let silence = Duration::from_millis(self.settings.silence_timeout_ms);
            let answered = timeout(silence, self.client.send(self.request(outgoing, body))).await;
            let may_repeat = repeated < self.settings.retries_max && !self.shutdown.is_cancelled();
            let pause = match &answered {
                Ok(Ok(response)) => self.pause_after(response),
                Ok(Err(unreached)) => unreached.may_pass.then(|| pause(repeated)),
                Err(_) => None,
            };
            if let (Some(pause), true) = (pause, may_repeat) {
                repeated += 1;
                let is_answered = answered.is_ok_and(|answered| answered.is_ok());
                self.metrics.repeated(if is_answered { "status" } else { "connection" });
                tracing::debug!(repeated, pause_ms = pause.as_millis(), "a request is sent again");
                sleep(pause).await;
                continue;
            }
            return match answered {
                Ok(Ok(response)) => {
                    self.refuse_unsound(outgoing.provider, &response)?;
                    self.explain_wrong_base_url(outgoing, Answered::new(response, repeated)).await
                }
                Ok(Err(unreached)) => Err(self.unreached(outgoing.provider, &unreached)),
                Err(_) => Err(self.silent(outgoing.provider)),
            };
        }
    }

    fn request(&self, outgoing: &Outgoing, body: &Bytes) -> Request<Full<Bytes>> {
        let upstream = self.settings.upstream(outgoing.provider);
        let packed = outgoing.packed.as_ref().map(|packed| packed.of(body));
        let body = packed.flatten().unwrap_or(body);
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = outgoing.method.clone();
        *request.uri_mut() = outgoing.target.clone();
        *request.headers_mut() = headers::for_upstream(&outgoing.headers, upstream, body.len());
        if packed == Some(None) {
            request.headers_mut().remove(CONTENT_ENCODING);
        }
        // These hold the spelling of the client's header names.
        *request.extensions_mut() = outgoing.extensions.clone();
        request
    }

    /// Returns how long to wait before the request is sent again; `None` if this answer is to be passed on.
    fn pause_after(&self, response: &Response<Incoming>) -> Option<Duration> {
        let status = RetryStatus::of(response.status().as_u16())?;
        if !self.settings.retry_statuses.contains(&status) {
            return None;
        }
        let asked = match response.headers().get(http::header::RETRY_AFTER) {
            Some(value) => Duration::from_secs(value.to_str().ok()?.trim().parse().ok()?),
            // A client that should slow down, and nobody says for how long, had better get this answer itself.
            None if status == RetryStatus::TooMany => return None,
            None => PAUSE_FIRST,
        };
        (asked <= Duration::from_millis(self.settings.retry_after_max_ms)).then_some(asked)
    }

    /// Refuses an answer whose head leaves open where it ends, or that is no answer.
    fn refuse_unsound(&self, provider: Provider, response: &Response<Incoming>) -> Result<(), ProxyRefusal> {
        let Some(reason) = headers::unsound(response.status(), response.headers()) else { return Ok(()) };
        let (upstream, setting) = (self.settings.upstream(provider), provider.setting());
        let message = format!(
            "{upstream} answered in a way that cannot be passed on ({reason}): try again; if it stays so, see that \
             {setting} in infold's settings names a model provider, or report it to whoever runs that server"
        );
        tracing::warn!(%upstream, reason, "an upstream's answer was not passed on");
        Err(ProxyRefusal::new(provider, StatusCode::BAD_GATEWAY, "upstream_unsound", message))
    }

    fn unreached(&self, provider: Provider, unreached: &Unreached) -> ProxyRefusal {
        let (upstream, setting) = (self.settings.upstream(provider), provider.setting());
        let mut message = format!(
            "infold got no answer from {upstream} ({}): see that this machine can reach it, and that {setting} in \
             infold's settings is right (`infold settings` shows it)",
            unreached.reason
        );
        if unreached.reason.contains("certificate") {
            message.push_str("; if somebody in between signs its certificate, name theirs in SSL_CERT_FILE");
        }
        tracing::warn!(%upstream, reason = %unreached.reason, "an upstream gave no answer");
        ProxyRefusal::new(provider, StatusCode::BAD_GATEWAY, "upstream_unreachable", message)
    }

    fn silent(&self, provider: Provider) -> ProxyRefusal {
        let (upstream, silence_ms) = (self.settings.upstream(provider), self.settings.silence_timeout_ms);
        let message = format!(
            "{upstream} has said nothing for {silence_ms} ms: try again, or let proxy.silence_timeout_ms in infold's \
             settings be longer"
        );
        ProxyRefusal::new(provider, StatusCode::GATEWAY_TIMEOUT, "upstream_silent", message)
    }
}

fn pause(repeated: u32) -> Duration {
    PAUSE_FIRST.saturating_mul(1 << repeated.min(8)).min(PAUSE_MAX)
}
