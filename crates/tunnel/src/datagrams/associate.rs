//! The connecting end: an application's datagrams into a stream.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use airlane_multipath::MultipathStream;
use airlane_runtime::RuntimeHandle;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::queue::Queue;
use super::socket::BurstSocket;
use super::{Counts, DatagramFrame, Incoming, count, send};
use crate::pump::PumpError;
use crate::request::Reply;
use crate::socks;

/// Bytes of a datagram at most, with SOCKS' header.
const MAX_BYTES: usize = 65_536;

/// Serves an association for as long as the application keeps its connection. `came` is what came
/// on the stream behind the reply.
///
/// # Errors
/// If the stream or a socket fails.
pub(crate) async fn associate(
    mut connection: TcpStream,
    stream: MultipathStream,
    came: Vec<Bytes>,
    (runtime, counts): (&RuntimeHandle, &Counts),
) -> Result<(), PumpError> {
    // Where the application reaches this end already, in the family that it does: a listener of IPv6
    // takes connections over IPv4, too.
    let own = connection.local_addr()?.ip().to_canonical();
    let socket = match BurstSocket::bind(SocketAddr::new(own, 0)) {
        Ok(socket) => socket,
        Err(e) => {
            connection.write_all(&socks::reply(Reply::Failed, None)).await?;
            return Err(e.into());
        }
    };
    let peer = connection.peer_addr()?.ip().to_canonical();
    connection.write_all(&socks::reply(Reply::Done, Some(socket.local_addr()?))).await?;
    let queue = Queue::new(runtime.clone());
    let application: Mutex<Option<SocketAddr>> = Mutex::default();
    let take_in = async {
        let mut buffer = vec![0; MAX_BYTES];
        loop {
            let (length, from) = socket.recv_from(&mut buffer).await?;
            // The first socket of the application's machine that sends is the one (RFC 1928,
            // section 7, lets others be refused).
            let is_known = from.ip() == peer && *application.lock().get_or_insert(from) == from;
            let frame = socks::datagram(&buffer[..length])
                .filter(|_| is_known)
                .and_then(|(target, payload)| DatagramFrame::encode(&target, payload));
            match frame {
                Some(frame) => queue.push(frame),
                None => count(&counts.refused),
            }
            counts.dropped.fetch_add(queue.dropped() + socket.lost(), Ordering::Relaxed);
        }
    };
    let give_out = async {
        let mut incoming = Incoming::new(&stream, came);
        while let Some(frame) = incoming.next().await? {
            let to = *application.lock();
            if let Some(to) = to {
                count(&counts.out);
                let datagram = socks::datagram_from(&frame.target, &frame.payload);
                socket.send_to(&datagram, to).await;
            }
        }
        Ok(())
    };
    let gone = async {
        let mut ignored = [0; 64];
        while connection.read(&mut ignored).await.is_ok_and(|read| read > 0) {}
    };
    tokio::select! {
        biased;
        () = gone => Ok(()),
        ended = take_in => ended,
        ended = give_out => ended,
        ended = send(&stream, &queue, counts) => Ok(ended?),
    }
}
