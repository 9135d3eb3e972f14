//! Who has no key gets nothing.

use std::net::SocketAddr;

use airlane_daemon::tunnel::{Key, PathSpec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::ends::{client, server};
use crate::common::run;

/// Everything that the server answers until it hangs up.
async fn answers(server: SocketAddr, said: &[u8]) -> Vec<u8> {
    let mut connection = TcpStream::connect(server).await.unwrap();
    // It may have hung up already.
    drop(connection.write_all(said).await);
    let mut answers = Vec::new();
    drop(connection.read_to_end(&mut answers).await);
    answers
}

#[test]
fn a_stranger_gets_not_a_byte() {
    run(async {
        let key = Key::generate().unwrap();
        let server = server(&key, &[]).await;
        let at = server.addresses()[0];
        let hello = b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03".repeat(20);
        let knock = [7; 57];
        let (silent, http, tls, forged) = tokio::join!(
            answers(at, b""),
            answers(at, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
            answers(at, &hello),
            answers(at, &knock),
        );
        for answer in [silent, http, tls, forged] {
            assert!(answer.is_empty(), "{answer:?}");
        }
    });
}

#[test]
fn another_key_opens_no_line_and_the_client_says_why() {
    run(async {
        let server = server(&Key::generate().unwrap(), &[]).await;
        let client = client(&Key::generate().unwrap(), server.addresses()[0], &[]).await;
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(5));
        let problems = loop {
            let radios = client.radios();
            if radios.iter().all(|(_, of)| !of.problem.is_empty()) {
                break radios;
            }
            ticks.tick().await;
        };
        for (path, of) in problems {
            assert!(matches!(path, PathSpec::Address(_)));
            assert!(!of.is_up && of.problem.contains("its key is another"), "{}", of.problem);
        }
    });
}
