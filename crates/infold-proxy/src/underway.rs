//! A request from when it is sent until the head of its answer is passed on. Whatever becomes of it, it is recorded
//! once: answered, refused, or given up by its client.

use std::sync::Arc;

use bytes::Bytes;
use infold_core::record::WarningKind;
use infold_engine::MadeOf;
use infold_wire::request::Api;

use crate::Proxy;
use crate::refusal::Refusal;
use crate::relay::Answered;
use crate::watch::{Ticket, Watch};

/// The request.
pub(crate) struct Underway {
    proxy: Arc<Proxy>,
    /// None before it is sent and once it is over.
    ticket: Option<Ticket>,
}

impl Underway {
    pub(crate) fn new(proxy: Arc<Proxy>) -> Self {
        Self { proxy, ticket: None }
    }

    /// It is sent; or again, in another form, and then that stands for the one before.
    pub(crate) fn begin(&mut self, ticket: Ticket) {
        self.ticket = Some(ticket);
    }

    /// What was sent has been looked at.
    pub(crate) fn looked_at(&mut self, made_of: MadeOf, body: &Bytes) {
        if let Some(ticket) = &mut self.ticket {
            ticket.made_of = made_of;
            ticket.digest = Some(*blake3::hash(body).as_bytes());
        }
    }

    /// No answer comes.
    pub(crate) fn refused(&mut self, refusal: &Refusal) {
        if let Some(ticket) = self.ticket.take() {
            ticket.refused(refusal).record(&self.proxy);
        }
    }

    /// The answer goes to the client, watched from here on.
    pub(crate) fn answered(
        &mut self,
        warnings: Vec<(WarningKind, String)>,
        api: Api,
        answered: &Answered,
    ) -> Option<Watch> {
        let ticket = Ticket { warnings, ..self.ticket.take()? };
        Some(Watch::new(Arc::clone(&self.proxy), ticket, api, answered))
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        // Nobody waits for the answer any more.
        if let Some(ticket) = self.ticket.take() {
            ticket.given_up().record(&self.proxy);
        }
    }
}
