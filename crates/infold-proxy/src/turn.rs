//! One turn of a conversation over HTTP: the engine prepares the request, the proxy sends it and relays the answer. If
//! the provider refuses it for a reason that the engine can mend, the mended request is sent.

use std::time::Duration;

use axum::response::Response;
use http::StatusCode;
use infold_core::record::AnswerEnd;
use infold_engine::{AnswerHead, ModelRequest, Prepared, Purpose, Withheld};
use infold_wire::answer::Delivery;

use crate::Proxy;
use crate::refusal::ProxyRefusal;
use crate::relay::{Answered, Watch};
use crate::send::Outgoing;

impl Proxy {
    /// Answers a turn, or a count of a turn's tokens.
    pub(crate) async fn turn(&self, asked: ModelRequest, outgoing: Outgoing) -> Result<Response, ProxyRefusal> {
        let prepared = self.engine.prepare(&asked).await.map_err(|why| self.withheld(&asked, &outgoing, &why))?;
        let Some(prepared) = prepared else {
            self.metrics.request(asked.api.name(), "passed");
            return Ok(self.send(&outgoing, &asked.body).await?.relayed(None, self.silence()));
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

    fn withheld(&self, asked: &ModelRequest, outgoing: &Outgoing, why: &Withheld) -> ProxyRefusal {
        self.metrics.request(asked.api.name(), "refused");
        let message = format!(
            "infold could not search this request's tool results for secrets, so it sent nothing: {why}. Try again; \
             if it stays so, raise scrub.timeout_ms in infold's settings, or see `infold doctor`"
        );
        ProxyRefusal::new(outgoing.provider, StatusCode::SERVICE_UNAVAILABLE, "scrubbing_failed", message)
    }

    pub(crate) fn silence(&self) -> Duration {
        Duration::from_millis(self.settings.silence_timeout_ms)
    }
}
