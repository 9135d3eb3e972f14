//! Connections of clients, each a task, and the driver's table of them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_quic::{ActivityHandle, ConnectionLimiter, LimitExceeded};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use super::pump::{FLUSH_TIMEOUT, pump};
use super::send_queue::SendQueue;

/// Connections with media, in all and of one address.
const MAX_CONNECTIONS: usize = 1024;
const MAX_CONNECTIONS_PER_ADDRESS: usize = 128;
/// Events that wait for the driver, of all connections: then their peers wait.
const MAX_EVENTS: usize = 256;
/// Time that tasks have to end after they have flushed what waits.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// Connection of a client.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Address that it comes from, and address of this machine that it came to.
    pub(crate) remote: SocketAddr,
    pub(crate) local: SocketAddr,
    queue: SendQueue,
    activity: ActivityHandle,
}

/// Event on a connection, with its time.
#[derive(Debug)]
pub(crate) struct ConnectionEvent {
    pub(crate) connection: Arc<Connection>,
    pub(crate) at: Time,
    pub(crate) kind: EventKind,
}

/// Kind of an event.
#[derive(Debug)]
pub(crate) enum EventKind {
    Opened,
    /// A datagram has come.
    Datagram(Bytes),
    Closed,
}

/// Intake of connections, whose events go to a driver.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionIntake {
    runtime: RuntimeHandle,
    limiter: Arc<ConnectionLimiter>,
    events: mpsc::Sender<ConnectionEvent>,
}

impl ConnectionIntake {
    /// Intake, and the events of its connections.
    pub(crate) fn new(runtime: &RuntimeHandle) -> (Self, mpsc::Receiver<ConnectionEvent>) {
        let (events, receiver) = mpsc::channel(MAX_EVENTS);
        let limiter = ConnectionLimiter::new(MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS);
        (Self { runtime: runtime.clone(), limiter, events }, receiver)
    }

    /// Takes a connection, until it ends.
    ///
    /// # Errors
    /// If there are as many as there may be, and all of them are of sessions.
    pub(crate) async fn serve<S>(
        &self,
        stream: S,
        remote: SocketAddr,
        local: SocketAddr,
    ) -> Result<(), LimitExceeded>
    where
        S: AsyncRead + AsyncWrite,
    {
        let remote = SocketAddr::new(remote.ip().to_canonical(), remote.port());
        let permit = self.limiter.acquire_idle(remote.ip())?;
        let (queue, activity) = (SendQueue::default(), permit.activity().clone());
        let connection = Arc::new(Connection { remote, local, queue, activity });
        let event = |at, kind| ConnectionEvent { connection: connection.clone(), at, kind };
        let opened = event(self.runtime.now(), EventKind::Opened);
        if self.events.send(opened).await.is_err() {
            return Ok(());
        }
        let datagram = |at, bytes| event(at, EventKind::Datagram(bytes));
        tokio::select! {
            biased;
            () = pump(&self.runtime, stream, &connection.queue, &self.events, datagram) => {}
            () = permit.evicted() => connection.queue.close(),
        }
        // Without a driver nobody has to know.
        let _ = self.events.send(event(self.runtime.now(), EventKind::Closed)).await;
        Ok(())
    }

    /// Waits until all connections have ended, for as long as they take to write what waits.
    pub(crate) async fn drained(&self) {
        tokio::select! {
            biased;
            () = self.limiter.drained() => {}
            () = self.runtime.sleep(FLUSH_TIMEOUT + END_TIMEOUT) => {}
        }
    }
}

/// Datagrams that were dropped because their connection's queue was full, or because it was gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) datagrams: u64,
    pub(crate) bytes: u64,
}

/// Open connections by remote address.
#[derive(Debug, Default)]
pub(crate) struct ConnectionTable {
    by_remote: BTreeMap<SocketAddr, Arc<Connection>>,
    pub(crate) dropped: Dropped,
}

impl ConnectionTable {
    /// Enters a connection. While there is one from that address it is closed instead: nobody takes another's place.
    pub(crate) fn open(&mut self, connection: Arc<Connection>) {
        match self.by_remote.get(&connection.remote) {
            Some(_) => connection.queue.close(),
            None => {
                self.by_remote.insert(connection.remote, connection);
            }
        }
    }

    /// True if a connection was entered and is open.
    pub(crate) fn has(&self, connection: &Arc<Connection>) -> bool {
        self.by_remote.get(&connection.remote).is_some_and(|of| Arc::ptr_eq(of, connection))
    }

    /// Closes a connection once what waits is written. False if it was not there.
    pub(crate) fn close(&mut self, connection: &Arc<Connection>) -> bool {
        let has = self.has(connection);
        if has {
            self.by_remote.remove(&connection.remote);
            connection.queue.close();
        }
        has
    }

    /// Sends a datagram to an address; without a connection or room on it, it is dropped.
    pub(crate) fn send(&mut self, remote: SocketAddr, datagram: &[u8]) {
        if !self.by_remote.get(&remote).is_some_and(|of| of.queue.push(datagram)) {
            self.dropped.datagrams += 1;
            self.dropped.bytes += datagram.len() as u64;
        }
    }

    /// Number of open connections.
    pub(crate) fn len(&self) -> usize {
        self.by_remote.len()
    }
}

impl Connection {
    /// Keeps the connection from giving way to others: it is a session's.
    pub(crate) fn mark_active(&self) {
        self.activity.mark_active();
    }
}
