//! Handshakes that clients begin: which of them an endpoint takes.

use std::sync::Arc;
use std::task::Context;
use std::time::Instant;

use noq_proto::Incoming;

use super::Work;
use super::endpoint_state::EndpointState;
use super::link::Link;
use super::links::Links;
use crate::panics;

impl Work {
    /// Begins a handshake with a client whose first datagram has so many bytes, unless nobody would
    /// take the connection.
    pub(super) fn admit(
        &mut self,
        cx: &mut Context<'_>,
        inner: &EndpointState,
        now: Instant,
        (incoming, bytes): (Incoming, u64),
        links: &mut Links,
    ) {
        let admission = inner.config().accept.admission;
        let limiter = inner.config().accept.connection_limiter.as_ref();
        let from = incoming.remote_address().ip();
        let proven = incoming.remote_address_validated();
        let limit = if proven { usize::MAX } else { admission.validate_from };
        let crowded = !proven && limiter.is_some_and(|limiter| limiter.is_crowded(from));
        let begun = !crowded && links.begin_handshake(limit.min(admission.handshakes));
        // There may be room for clients that have proven their address.
        let retry = crowded || (!begun && limit <= admission.handshakes);
        if retry && !proven {
            // Whoever has not shown that it is where it says costs nothing but the answer.
            if let Ok(t) = links.proto().retry(incoming, &mut self.buffer) {
                self.transmitter.respond(cx, &t, &self.buffer);
            }
            return;
        }
        let room = begun && links.len() < admission.connections;
        let permit = limiter.map(|limiter| limiter.acquire(from)).transpose();
        let answer = if links.accepts() && room && permit.is_ok() {
            // Its controller is made here.
            panics::caught(|| inner.answer(&incoming)).unwrap_or_else(|panic| {
                panics::report(&inner.runtime, panic);
                None
            })
        } else {
            None
        };
        let Some((config, control)) = answer else {
            if begun {
                links.end_handshake();
            }
            let t = links.proto().refuse(incoming, &mut self.buffer);
            self.transmitter.respond(cx, &t, &self.buffer);
            return;
        };
        let config = Some(Arc::new(config));
        // It reads the client's first words, which choose the certificate.
        let accepted =
            panics::caught(|| links.proto().accept(incoming, now, &mut self.buffer, config));
        match accepted {
            Ok(Ok((handle, proto))) => {
                let link = Link::new(handle, proto, control, inner);
                if !proven {
                    link.limit_to_unvalidated(bytes);
                }
                let permit = permit.ok().flatten();
                permit.iter().for_each(|permit| link.hold_permit(permit));
                links.insert(now, link, permit);
                self.ready.push_back(handle);
            }
            Err(panic) => {
                links.end_handshake();
                panics::report(&inner.runtime, panic);
            }
            Ok(Err(e)) => {
                links.end_handshake();
                tracing::debug!("a connection was not accepted: {}", e.cause);
                if let Some(t) = &e.response {
                    self.transmitter.respond(cx, t, &self.buffer);
                }
            }
        }
    }
}
