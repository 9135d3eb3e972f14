//! Ways of a client's media: datagrams of the emulated network, and connections in memory, which lose and delay nothing.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use airlane_base::Time;
use airlane_call_daemon::ConferenceHandle;
use airlane_call_daemon::client::StreamSocket;
use airlane_runtime::{Datagram, Received, RuntimeExt, RuntimeHandle, UdpSocket};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};

use crate::tcp_strangers::{frame, request};

/// Bytes that are on their way on a connection.
const STREAM_BYTES: usize = 16 << 10;
/// Port of a client's first connection.
const FIRST_PORT: u16 = 40_000;

/// Way of a client's media.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Carrier {
    Udp,
    /// Datagrams; at this time a stranger who knows the session's name makes a connection from the client's address.
    Shadowed(Duration),
    Tcp,
    /// A connection from which nothing is read from this time on.
    Stalled(Duration),
    /// A connection that is cut at this time, and made again from another port.
    Remade(Duration),
}

impl Carrier {
    pub fn socket(
        self,
        host: &RuntimeHandle,
        conference: &ConferenceHandle,
        server: SocketAddr,
    ) -> Box<dyn UdpSocket> {
        let any = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
        let socket = host.bind_udp(any).unwrap();
        let local = SocketAddr::new(socket.local_addr().ip(), FIRST_PORT);
        let stall = match self {
            Self::Udp | Self::Shadowed(_) => return socket,
            Self::Tcp | Self::Remade(_) => Time::FAR_FUTURE,
            Self::Stalled(at) => Time::ZERO + at,
        };
        let stream = connect(host, conference, local, server);
        let stream = Stalling { clock: host.clone(), stall, stream };
        let first = StreamSocket::new(host, stream, local, server);
        let Self::Remade(at) = self else { return Box::new(first) };
        let (clock, conference) = (host.clone(), conference.clone());
        let state = Mutex::new((first, Stage::Before));
        Box::new(Remaking { clock, conference, server, at: Time::ZERO + at, state })
    }
}

impl Carrier {
    /// Has the stranger come, if there is one.
    pub fn shadow(
        self,
        host: &RuntimeHandle,
        conference: &ConferenceHandle,
        (local, server): (SocketAddr, SocketAddr),
        name: &str,
    ) {
        let Self::Shadowed(at) = self else { return };
        let (clock, conference) = (host.clone(), conference.clone());
        let request = frame(&request(name));
        host.spawn("stranger", async move {
            clock.sleep_until(Time::ZERO + at).await;
            let mut stream = connect(&clock, &conference, local, server);
            stream.write_all(&request).await.unwrap();
            assert_eq!(stream.read(&mut [0; 64]).await.unwrap(), 0, "it is answered");
            assert_eq!(clock.now(), Time::ZERO + at);
        });
    }
}

/// The client's end of a connection that the conference takes.
pub fn connect(
    host: &RuntimeHandle,
    conference: &ConferenceHandle,
    local: SocketAddr,
    server: SocketAddr,
) -> DuplexStream {
    let (near, far) = tokio::io::duplex(STREAM_BYTES);
    let conference = conference.clone();
    host.spawn("accepted connection", async move {
        // Refused or not, it has ended.
        let _ = conference.serve_stream(far, local, server).await;
    });
    near
}

/// Stream from which nothing comes from a time on.
struct Stalling {
    clock: RuntimeHandle,
    stall: Time,
    stream: DuplexStream,
}

impl AsyncRead for Stalling {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.clock.now() >= self.stall {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Stalling {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Stage of a client whose connection is made again.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Before,
    /// The new connection has to be checked: STUN alone is sent, as browsers do.
    Checking,
    Checked,
}

/// Socket that is another connection from a time on.
#[derive(Debug)]
struct Remaking {
    clock: RuntimeHandle,
    conference: ConferenceHandle,
    server: SocketAddr,
    at: Time,
    state: Mutex<(StreamSocket, Stage)>,
}

impl UdpSocket for Remaking {
    fn poll_send(&self, _: &mut Context<'_>, datagram: &Datagram<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.try_send(datagram))
    }

    fn try_send(&self, datagram: &Datagram<'_>) -> io::Result<()> {
        let (socket, stage) = &mut *self.state.lock();
        if *stage == Stage::Before && self.clock.now() >= self.at {
            let mut local = socket.local_addr();
            local.set_port(local.port() + 1);
            let stream = connect(&self.clock, &self.conference, local, self.server);
            *socket = StreamSocket::new(&self.clock, stream, local, self.server);
            *stage = Stage::Checking;
        }
        if *stage == Stage::Checking && datagram.payload[0] > 3 {
            return Ok(());
        }
        socket.try_send(datagram)
    }

    fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<io::Result<Received>> {
        let (socket, stage) = &mut *self.state.lock();
        let received = socket.poll_recv(cx);
        if *stage == Stage::Checking && received.is_ready() {
            *stage = Stage::Checked;
        }
        received
    }

    fn local_addr(&self) -> SocketAddr {
        self.state.lock().0.local_addr()
    }
}
