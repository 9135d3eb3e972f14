//! Connection over TCP in the place of a client's socket: each datagram is a frame on it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use airlane_base::Ecn;
use airlane_runtime::{Datagram, Received, RuntimeExt, RuntimeHandle, UdpSocket};
use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use crate::media_tcp::pump::pump;
use crate::media_tcp::send_queue::SendQueue;

/// Datagrams that wait to be taken: then the server waits.
const MAX_WAITING: usize = 256;

/// Connection to a server that datagrams come and go on (RFC 4571). What does not fit into its queue is lost; once the
/// connection has ended, nothing comes any more.
#[derive(Debug)]
pub struct StreamSocket {
    local: SocketAddr,
    remote: SocketAddr,
    queue: Arc<SendQueue>,
    received: Mutex<mpsc::Receiver<Received>>,
}

impl StreamSocket {
    /// Socket on a connection from `local` to `remote`.
    pub fn new(
        runtime: &RuntimeHandle,
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Self {
        let (datagrams, received) = mpsc::channel(MAX_WAITING);
        let queue = Arc::new(SendQueue::default());
        let (clock, waiting) = (runtime.clone(), queue.clone());
        runtime.spawn("call stream", async move {
            let datagram = |at, bytes: Bytes| Received {
                src: remote,
                dst_ip: local.ip(),
                at,
                ecn: Ecn::default(),
                dscp: None,
                payload: BytesMut::from(&bytes[..]),
                joined: false,
            };
            pump(&clock, stream, &waiting, &datagrams, datagram).await;
        });
        Self { local, remote, queue, received: Mutex::new(received) }
    }
}

impl UdpSocket for StreamSocket {
    fn poll_send(&self, _: &mut Context<'_>, datagram: &Datagram<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.try_send(datagram))
    }

    fn try_send(&self, datagram: &Datagram<'_>) -> io::Result<()> {
        // Checks of the server's other addresses have no way here.
        if datagram.dst == self.remote {
            self.queue.push(datagram.payload);
        }
        Ok(())
    }

    fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<io::Result<Received>> {
        match self.received.lock().poll_recv(cx) {
            Poll::Ready(Some(received)) => Poll::Ready(Ok(received)),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    fn local_addr(&self) -> SocketAddr {
        self.local
    }
}
