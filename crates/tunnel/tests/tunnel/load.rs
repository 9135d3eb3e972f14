//! Many connections at once, and such that do not read.

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::ends::{Tunnel, echo, faults, listen};
use crate::run;

#[test]
fn a_thousand_connections_share_two_subflows() {
    run(async {
        let tunnel = Tunnel::to(echo().await).await;
        tunnel.subflows(2).await;
        let talk = async |number: usize| {
            let mut connection = tunnel.connect().await;
            let said = format!("{number:08}").repeat(1000);
            let mut heard = vec![0; said.len()];
            let (mut from, mut to) = connection.split();
            let (written, read) =
                tokio::join!(to.write_all(said.as_bytes()), from.read_exact(&mut heard));
            written.unwrap();
            read.unwrap();
            assert_eq!(heard, said.as_bytes());
            connection
        };
        let open = join_all((0..1000).map(talk)).await;
        assert_eq!(tunnel.client.streams(), 1000);
        assert_eq!(tunnel.server.streams(), 1000);
        drop(open);
        tunnel.until(|| tunnel.client.streams() == 0 && tunnel.server.streams() == 0).await;
        // No subflow failed over it.
        assert_eq!(faults(&tunnel.client), [""; 0]);
    });
}

#[test]
fn who_does_not_read_holds_up_nobody_and_a_bounded_amount() {
    run(async {
        let endless = listen(|mut connection| async move {
            while connection.write_all(&[7; 64 << 10]).await.is_ok() {}
        })
        .await;
        let tunnel = Tunnel::to(endless).await;
        tunnel.subflows(2).await;
        let silent = tunnel.connect().await;
        // It takes what fits the memory of both ends and of the system.
        let taken = || tunnel.server.status().into_bytes;
        let mut last = 0;
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(200));
        ticks.tick().await;
        loop {
            ticks.tick().await;
            let now = taken();
            if now == last && now > 0 {
                break;
            }
            last = now;
        }
        assert!(last < 128 << 20, "{last} bytes for one who does not read");
        // Others are served all the while.
        let mut other = tunnel.connect().await;
        let mut got = 0;
        let mut buffer = vec![0; 64 << 10];
        while got < 8 << 20 {
            got += other.read(&mut buffer).await.unwrap();
        }
        drop((silent, other));
        tunnel.until(|| tunnel.client.streams() == 0 && tunnel.server.streams() == 0).await;
    });
}
