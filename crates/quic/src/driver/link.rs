//! One connection, as the driver and those who use it share it.

use std::mem;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll};

use airlane_base::Time;
use airlane_runtime::RuntimeHandle;
use bytes::Bytes;
use noq_proto::{ConnectionEvent, ConnectionHandle, FourTuple, PathId, VarInt};
use parking_lot::{Mutex, MutexGuard};
use rustls::pki_types::CertificateDer;

use super::endpoint_state::EndpointState;
use super::send_window::SendWindow;
use super::state::State;
use super::unvalidated::Unvalidated;
use crate::clock::Clock;
use crate::connection_limiter::{ActivityHandle, Permit};
use crate::control::{ControlHandle, ControlledLink};
use crate::crypto::{Cipher, PublicKey};
use crate::datagram_counts::DatagramCounts;
use crate::error::QuicError;
use crate::panics::caught;
use crate::run_queue::RunQueue;

/// One connection. The driver keeps it until it is drained.
pub(crate) struct Link {
    pub(super) handle: ConnectionHandle,
    run_queue: Arc<RunQueue>,
    runtime: RuntimeHandle,
    pub(super) clock: Arc<Clock>,
    pub(super) control: ControlHandle,
    pub(super) send_window_policy: SendWindow,
    /// Bytes that may wait or be in flight at the moment: changed under the lock, read without.
    pub(super) window: AtomicU64,
    /// Its packets are protected.
    pub(crate) protects: bool,
    /// Address of the peer when the handshake began. Neither end moves before it is done, so that
    /// the handshake validates this address.
    first_path: Option<FourTuple>,
    /// The peer opened it.
    accepted: bool,
    /// Packets may grow: noq finds out how far.
    pub(super) probes_mtu: bool,
    /// Time by which the handshake must be done, if the peer opened the connection.
    pub(super) handshake_deadline: Option<Time>,
    /// Tells whether it is active, if it has a permit.
    activity: OnceLock<ActivityHandle>,
    pub(super) state: Mutex<State>,
}

/// The application's code with which a connection is closed whose permit another needs.
const EVICTED_CODE: u32 = 1;
/// The application's code with which a connection is closed that has failed inside.
const FAULT_CODE: u32 = 1;

/// A reference that does not keep the connection alive.
pub(crate) type WeakLink = Weak<Link>;

/// Keeps a connection open: when the last owner is dropped it is closed.
pub(crate) struct Owner(Arc<Link>);

impl std::ops::Deref for Owner {
    type Target = Arc<Link>;
    fn deref(&self) -> &Arc<Link> {
        &self.0
    }
}

impl Owner {
    pub(crate) fn new(link: Arc<Link>) -> Arc<Self> {
        Arc::new(Self(link))
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.0
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.close(VarInt::from_u32(0), Bytes::new());
    }
}

impl ControlledLink for Link {
    fn remote(&self) -> Option<SocketAddr> {
        self.remote()
    }

    fn wake(&self) {
        self.list(self.state.lock());
    }

    fn fail(&self, what: &str) {
        self.fail(what);
        // The driver has the connection tell its peer.
        self.wake();
    }
}

impl Link {
    /// A connection that the driver is about to look at.
    pub(crate) fn new(
        handle: ConnectionHandle,
        proto: noq_proto::Connection,
        control: ControlHandle,
        endpoint: &EndpointState,
    ) -> Arc<Self> {
        let now = endpoint.runtime.now();
        let config = endpoint.config();
        let reports = config.reports.sink.as_ref().map(|sink| sink.open());
        let state = State::new(proto, endpoint.clock.instant(now), reports);
        let timeout = config.accept.admission.handshake_timeout.filter(|_| state.unannounced);
        let send_window_policy = SendWindow::new(&config.flow, &endpoint.live);
        let first_path = state.proto.network_path(PathId::ZERO).ok();
        let accepted = state.proto.side().is_server();
        let link = Arc::new(Self {
            handle,
            run_queue: endpoint.run_queue.clone(),
            runtime: endpoint.runtime.clone(),
            clock: endpoint.clock.clone(),
            control,
            window: AtomicU64::new(send_window_policy.first()),
            send_window_policy,
            protects: !matches!(config.security.cipher(), Cipher::Null),
            first_path,
            accepted,
            probes_mtu: config.packets.max_payload_bytes.is_some(),
            handshake_deadline: timeout.map(|t| now + t),
            activity: OnceLock::new(),
            state: Mutex::new(state),
        });
        let weak = Arc::downgrade(&link);
        link.control.shared().attach(weak);
        link
    }

    /// A client opened it whose address is not validated, with a datagram of so many bytes.
    pub(super) fn limit_to_unvalidated(&self, bytes: u64) {
        self.state.lock().unvalidated = Some(Unvalidated::new(bytes));
    }

    /// It takes a permit, and is idle: it ends when another needs the permit.
    pub(super) fn hold_permit(self: &Arc<Self>, permit: &Permit) {
        let link = Arc::downgrade(self);
        permit.on_evicted(move || {
            if let Some(link) = link.upgrade() {
                link.close(VarInt::from_u32(EVICTED_CODE), Bytes::from_static(b"silent too long"));
            }
        });
        let _ = self.activity.set(permit.activity().clone());
    }

    /// Tells whether it is active, if it has a permit.
    pub(crate) fn activity(&self) -> Option<&ActivityHandle> {
        self.activity.get()
    }

    /// The congestion controller.
    pub(crate) fn control(&self) -> &ControlHandle {
        &self.control
    }

    /// The runtime that it runs on.
    pub(crate) fn runtime(&self) -> &RuntimeHandle {
        &self.runtime
    }

    /// True if the peer opened the connection, and its handshake was not done yet when the driver
    /// last looked.
    pub(super) fn is_unannounced(&self) -> bool {
        self.state.lock().unannounced
    }

    /// True if nothing waits to be sent or acknowledged.
    pub(super) fn is_flushed(&self) -> bool {
        let state = self.state.lock();
        if state.ended.is_some() || !state.connected {
            return true;
        }
        drop(state);
        let stats = self.control.stats();
        !stats.has_data && stats.in_flight == 0
    }

    /// True if the connection has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.state.lock().ended.is_some()
    }

    /// True if the peer takes reports: known once connected.
    pub(crate) fn takes_reports(&self) -> bool {
        self.state.lock().proto.datagrams().max_size().is_some()
    }

    /// Sends a report, in the place of one that has not left yet.
    pub(crate) fn send_report(&self, report: Bytes) {
        let mut state = self.state.lock();
        if state.ended.is_none() {
            let sent = state.proto.datagrams().send(report, true);
            if sent.is_ok() {
                self.list(state);
            }
        }
    }

    pub(super) fn list(&self, mut state: MutexGuard<'_, State>) {
        if state.enlist() {
            drop(state);
            self.run_queue.add(self.handle);
        }
    }

    /// Closes the connection, if it is open.
    pub(crate) fn close(&self, code: VarInt, reason: Bytes) {
        let now = self.clock.instant(self.runtime.now());
        let mut state = self.state.lock();
        if state.ended.is_none() {
            state.proto.close(now, code, reason);
            state.end(QuicError::ClosedHere);
            self.list(state);
        }
    }

    /// The connection is over, whatever noq-proto thinks of it.
    pub(super) fn end(&self, why: &QuicError) {
        self.state.lock().end(why.clone());
    }

    /// Ends the connection after a panic in the driver or in a handle, with `what` as the reason.
    /// True if its peer can still be told: false if it has failed before.
    pub(crate) fn fail(&self, what: &str) -> bool {
        self.control.shared().fail();
        // Not the driver's: to print a panic may take longer than the closing period.
        let now = self.clock.instant(self.runtime.now());
        let mut state = self.state.lock();
        let fault = QuicError::Fault(what.to_owned());
        if mem::replace(&mut state.failed, true) {
            state.end(fault);
            return false;
        }
        let closed = caught(|| {
            state.proto.close(now, VarInt::from_u32(FAULT_CODE), Bytes::from_static(b"fault"));
        });
        state.end(fault);
        closed.is_ok()
    }

    /// Ready when the handshake is done.
    pub(crate) fn poll_connected(&self, cx: &mut Context<'_>) -> Poll<Result<(), QuicError>> {
        let mut state = self.state.lock();
        match &state.ended {
            Some(e) => Poll::Ready(Err(e.clone())),
            None if state.connected => Poll::Ready(Ok(())),
            None => {
                state.changes.add(cx.waker());
                Poll::Pending
            }
        }
    }

    /// Ready when the connection has ended: why.
    pub(crate) fn poll_ended(&self, cx: &mut Context<'_>) -> Poll<QuicError> {
        let mut state = self.state.lock();
        if let Some(e) = &state.ended {
            return Poll::Ready(e.clone());
        }
        state.changes.add(cx.waker());
        Poll::Pending
    }

    /// Bytes that may wait or be in flight at the moment.
    pub(crate) fn send_window(&self) -> u64 {
        self.window.load(Ordering::Relaxed)
    }

    /// Fills `secret` with what both ends of the connection know and nobody else (RFC 8446, section
    /// 7.5).
    pub(crate) fn export(
        &self,
        label: &[u8],
        context: &[u8],
        secret: &mut [u8],
    ) -> Result<(), QuicError> {
        let state = self.state.lock();
        let session = state.proto.crypto_session();
        let exported = session.export_keying_material(secret, label, context);
        exported.map_err(|_| QuicError::Tls("no secret can be exported".to_owned()))
    }

    /// The public key of the certificate that the peer showed.
    pub(crate) fn peer_public_key(&self) -> Option<PublicKey> {
        let identity = self.state.lock().proto.crypto_session().peer_identity()?;
        let chain = identity.downcast::<Vec<CertificateDer<'static>>>().ok()?;
        PublicKey::of_certificate(chain.first()?)
    }

    /// Address of the peer when the handshake began, and the local address that the peer sent to.
    pub(crate) fn first_path(&self) -> Option<FourTuple> {
        self.first_path
    }

    /// True if the peer opened the connection.
    pub(crate) fn is_accepted(&self) -> bool {
        self.accepted
    }

    /// The peer's address. It changes when the peer migrates.
    pub(crate) fn remote(&self) -> Option<SocketAddr> {
        self.state.lock().proto.network_path(PathId::ZERO).ok().map(|path| path.remote())
    }

    /// Datagrams of the connection so far.
    pub(crate) fn datagram_counts(&self) -> DatagramCounts {
        let stats = self.state.lock().proto.stats();
        DatagramCounts {
            sent: stats.udp_tx.datagrams,
            sent_bytes: stats.udp_tx.bytes,
            received: stats.udp_rx.datagrams,
            received_bytes: stats.udp_rx.bytes,
        }
    }

    // The driver's side.

    /// Hands over what came for the connection, in datagrams of so many bytes; whether it must now be
    /// put on the driver's list.
    pub(super) fn handle_events(
        &self,
        events: impl Iterator<Item = ConnectionEvent>,
        bytes: u64,
    ) -> bool {
        let mut state = self.state.lock();
        if let Some(unvalidated) = &mut state.unvalidated {
            unvalidated.on_received(bytes);
        }
        for event in events {
            state.proto.handle_event(event);
        }
        self.control.shared().on_received();
        state.enlist()
    }

    /// Notes that the driver is to look at the connection; true if it must now be put on the
    /// driver's list.
    pub(super) fn enlist(&self) -> bool {
        self.state.lock().enlist()
    }
}
