//! Connections in virtual time over a constant link.

mod common;

use std::time::Duration;

use airlane_base::Rate;
use airlane_congestion::Algorithm;
use airlane_quic::Cipher;
use common::*;

const MBPS_10: Rate = Rate::from_bps(10_000_000);
const DELAY: Duration = Duration::from_millis(10);

#[test]
fn a_bulk_transfer_fills_a_constant_link_with_either_cipher() {
    for cipher in [Cipher::Null, Cipher::lab_tls().unwrap()] {
        let mut net = net(1, Link::new(MBPS_10, DELAY, 40_000));
        let mut config = config(Algorithm::Cubic);
        config.cipher = cipher.clone();
        let bytes = 12_000_000;
        let (s, c) = (net.server.clone(), net.client.clone());
        let (took, stats) =
            net.world.run(transfer(s, c, SERVER_ADDR.into(), config, bytes)).unwrap();
        let goodput = Rate::of(bytes, took).mbps();
        assert!((9.2..9.75).contains(&goodput), "{cipher:?}: {goodput} Mbit/s");
        let k = stats.control;
        assert!(k.acked_bytes >= bytes && k.lost_packets > 0, "{k:?}");
        assert_eq!(k.acked_packets + k.lost_packets, k.sent_packets, "{k:?}");
        // All the time there was data to send, but for the handshake and the last window.
        let busy = k.busy.as_secs_f64() / took.as_secs_f64();
        assert!((0.97..=1.0).contains(&busy), "{busy} {k:?}");
        assert!(!k.has_data);
    }
}
