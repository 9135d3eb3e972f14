//! Both ends of a trunk over QUIC in virtual time.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use airlane_apps::multipath::MultipathStream;
use airlane_apps::multipath::trunk::{Acceptor, Connect, Pairs, accept_quic, open_quic};
use airlane_quic::Endpoint;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;

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
    let endpoint = Endpoint::server(server, at, transport()).unwrap();
    let (on, pairs) = (server.clone(), Pairs::new(server.clone()));
    server.spawn("acceptor", async move {
        while let Some(connection) = endpoint.accept().await {
            let (acceptor, pairs) = (acceptor.clone(), pairs.clone());
            on.spawn("line", async move {
                if let Ok(half) = accept_quic(connection).await
                    && let Some(channels) = pairs.join(half)
                {
                    acceptor.serve(channels).await;
                }
            });
        }
    });
}

/// Opens lines from `radio`, which has this number.
pub fn connect(client: &RuntimeHandle, number: u8, radio: IpAddr, server: SocketAddr) -> Connect {
    let endpoint =
        Arc::new(Endpoint::client(client, SocketAddr::new(radio, 0), transport()).unwrap());
    Box::new(move || {
        let endpoint = endpoint.clone();
        Box::pin(async move {
            let connection = || endpoint.connect(server, "trunk.airlane");
            let (express, bulk) = tokio::try_join!(connection(), connection())?;
            open_quic([number; 16], express, bulk).await
        })
    })
}
