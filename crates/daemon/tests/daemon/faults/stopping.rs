//! What clients see of a server that stops.

use std::time::Duration;

use airlane_daemon::serve::{ServeRequest, Server};
use airlane_quic::H3Client;

use crate::common::*;
use crate::faults::stalled::taking;

/// Answers that have begun come whole, and requests that the server does not take any more are not
/// answered at all: a client may ask elsewhere what it knows was not looked at.
#[test]
fn a_server_that_stops_says_so_and_finishes_what_it_began() {
    const BYTES: u64 = 8 << 20;

    run(async {
        let folder = Scratch::new();
        let file = std::fs::File::create(folder.0.join("big.bin")).unwrap();
        file.set_len(BYTES).unwrap();
        let drain = Duration::from_secs(30);
        let server = Server::start(ServeRequest { drain, ..request(&folder.0) }).await.unwrap();
        let address = server.ready().addresses[0];
        let endpoint = taking(64 << 10);
        let connection = endpoint.connect(address, "localhost").await.unwrap();
        let h3 = H3Client::connect(connection).await.unwrap();
        let ask = |path: &str| {
            let request = http::Request::get(format!("https://{address}{path}"));
            h3.send_request(request.body(()).unwrap())
        };
        let mut body = ask("/big.bin").await.unwrap().into_body();
        let mut bytes = body.data().await.unwrap().unwrap().len() as u64;
        let client = async {
            // Until it hears of the stop it is answered as ever.
            let refusal = loop {
                match ask("/airlane/player").await {
                    Ok(answer) => assert_eq!(answer.status(), 200),
                    Err(e) => break e.to_string(),
                }
            };
            assert!(refusal.contains("closing"), "{refusal}");
            while let Some(piece) = body.data().await.unwrap() {
                bytes += piece.len() as u64;
            }
            assert_eq!(bytes, BYTES);
        };
        // It ends when all is delivered, not when its patience does.
        let both = async { tokio::join!(server.stop(), client) };
        tokio::time::timeout(Duration::from_secs(20), both).await.expect("it stops in time");
    });
}
