//! Both ends of a trunk over QUIC in virtual time.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use airlane_apps::multipath::trunk::{
    Acceptor, Bounds, Connect, RadioTerms, Trunk, accept_quic_lines, connect_quic,
};
use airlane_apps::multipath::{MultipathStream, StreamConfig};
use airlane_base::Seed;
use airlane_quic::Endpoint;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::multipath::transport;

/// Sends what comes back.
pub async fn echo(stream: MultipathStream) {
    while let Ok(pieces) = stream.read().await {
        if pieces.is_empty() {
            return;
        }
        for piece in pieces {
            if stream.write(piece).await.is_err() {
                return;
            }
        }
    }
}

/// Sends without end.
pub async fn pour(stream: MultipathStream) {
    let piece = Bytes::from(vec![7; 64 << 10]);
    while stream.write(piece.clone()).await.is_ok() {}
}

/// Takes lines at `at`.
pub fn serve(server: &RuntimeHandle, at: SocketAddr, acceptor: Arc<Acceptor>) {
    let endpoint = Arc::new(Endpoint::server(server, at, transport()).unwrap());
    let on = server.clone();
    let opened = move |channels| {
        let acceptor = acceptor.clone();
        on.spawn("line", async move { drop(acceptor.serve(channels).await) });
    };
    let timeout = Duration::from_secs(5);
    server.spawn("acceptor", accept_quic_lines(endpoint, timeout, |_, _| {}, opened));
}

/// Opens lines from `radio`, which has this number.
pub fn connect(client: &RuntimeHandle, number: u8, radio: IpAddr, server: SocketAddr) -> Connect {
    let endpoint = Endpoint::client(client, SocketAddr::new(radio, 0), transport()).unwrap();
    connect_quic(Arc::new(endpoint), server, "trunk.airlane", Seed(number.into()))
}

/// Limits of an end whose streams are as `stream` says.
fn bounds(stream: StreamConfig) -> Bounds {
    Bounds { stream, ..Bounds::default() }
}

/// Serves trunks at `at`: the streams that come.
pub fn accept(
    server: &RuntimeHandle,
    at: SocketAddr,
    stream: StreamConfig,
) -> mpsc::UnboundedReceiver<MultipathStream> {
    let (begun, streams) = mpsc::unbounded_channel();
    let acceptor = Acceptor::new(server.clone(), bounds(stream), move |opened| {
        drop(begun.send(opened.stream));
    });
    serve(server, at, acceptor);
    streams
}

/// Opens a trunk over these radios, and a stream of it.
pub fn open(
    client: &RuntimeHandle,
    (radios, server): (&[IpAddr], SocketAddr),
    stream: StreamConfig,
) -> (Trunk, MultipathStream) {
    let connects = (0..).zip(radios).map(|(n, radio)| connect(client, n, *radio, server));
    let radios = connects.map(|connect| (connect, RadioTerms::default())).collect();
    let trunk = Trunk::new(client, [7; 16], radios, bounds(stream));
    let stream = trunk.open(Bytes::new()).unwrap();
    (trunk, stream)
}
