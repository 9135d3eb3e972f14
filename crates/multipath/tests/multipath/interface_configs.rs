//! How a session uses interfaces that have a price, a rate that they must not exceed, or a data cap.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_multipath::MultipathStream;
use airlane_multipath::{
    AcceptedStream, Body, DataCap, InterfaceConfig, InterfaceStatus, PendingConnections,
    Preference, Session, SessionLimits, SessionServer, SubflowFrame, accept_quic,
};
use airlane_net::link::{RateProfile, Supply};
use airlane_quic::Endpoint;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;

use crate::world::{Scene, connect, echo, mbps, pour, scene, serve, transport};

const RTT: Duration = Duration::from_millis(20);

/// The end that has the interfaces.
struct Ends {
    clock: RuntimeHandle,
    session: Session,
}

impl Ends {
    /// A stream that the other end fills, read as fast as it comes.
    fn pour(&self) {
        let stream = self.session.open(Bytes::from_static(b"bulk")).unwrap();
        self.clock.spawn("reader", read(stream));
    }

    /// A stream of which all that is written comes back, written to without end.
    fn echo(&self) -> Arc<MultipathStream> {
        let stream = Arc::new(self.session.open(Bytes::from_static(b"echo")).unwrap());
        self.clock.spawn("writer", {
            let stream = stream.clone();
            async move { while stream.write(Bytes::from(vec![7; 16 << 10])).await.is_ok() {} }
        });
        self.clock.spawn("reader", {
            let stream = stream.clone();
            async move { while stream.read().await.is_ok_and(|came| !came.is_empty()) {} }
        });
        stream
    }

    async fn until(&self, seconds: f64) {
        self.clock.sleep_until(Time::from_secs_f64(seconds)).await;
    }

    fn interface(&self, number: usize) -> InterfaceStatus {
        self.session.interfaces().swap_remove(number)
    }

    /// Bits per second that came over an interface in the next `seconds`.
    async fn rate_mbps(&self, interface: usize, seconds: f64) -> f64 {
        let (at, before) = (self.clock.now(), self.interface(interface).received_bytes);
        self.until(at.as_secs_f64() + seconds).await;
        (self.interface(interface).received_bytes - before) as f64 * 8e-6 / seconds
    }
}

async fn read(stream: MultipathStream) {
    while stream.read().await.is_ok_and(|came| !came.is_empty()) {}
}

/// Runs `test` with a session over interfaces of these supplies and terms.
fn with<F>(
    interfaces: Vec<(Supply, InterfaceConfig)>,
    test: impl FnOnce(Ends) -> F + Send + 'static,
) where
    F: Future<Output = ()> + Send,
{
    let (supplies, terms): (Vec<_>, Vec<_>) = interfaces.into_iter().unzip();
    let Scene { mut world, server, client, listen, interfaces } = scene(supplies, RTT);
    let ended = world.run(async move {
        let on = server.clone();
        let acceptor = SessionServer::new(
            server.clone(),
            SessionLimits::default(),
            move |opened: AcceptedStream| match &opened.request[..] {
                b"echo" => on.spawn("echo", echo(opened.stream)),
                _ => on.spawn("bulk", pour(opened.stream)),
            },
        );
        serve(&server, listen, acceptor);
        let connects =
            (0..).zip(&interfaces).map(|(n, interface)| connect(&client, n, *interface, listen));
        let interfaces = connects.zip(terms).collect();
        let session = Session::new(&client, [3; 16], interfaces, SessionLimits::default());
        test(Ends { clock: client, session }).await;
    });
    ended.unwrap();
}

fn dear() -> InterfaceConfig {
    let preference = Preference { is_backup: false, price: 5 };
    InterfaceConfig { preference, ..InterfaceConfig::default() }
}

fn backup() -> InterfaceConfig {
    let preference = Preference { is_backup: true, price: 0 };
    InterfaceConfig { preference, ..InterfaceConfig::default() }
}

fn at_most(mbps: f64) -> InterfaceConfig {
    InterfaceConfig { max_bps: Some((mbps * 1e6) as u64), ..InterfaceConfig::default() }
}

#[test]
fn a_dear_radio_carries_nothing_until_the_cheap_one_does_not_keep_up() {
    with(vec![(mbps(20.0), InterfaceConfig::default()), (mbps(30.0), dear())], |ends| async move {
        ends.until(1.0).await;
        let stream = ends.session.open(Bytes::from_static(b"echo")).unwrap();
        // 8 Mbit/s, in both directions.
        for _ in 0..50 {
            stream.write(Bytes::from(vec![1; 100_000])).await.unwrap();
            let mut came = 0;
            while came < 100_000 {
                came += stream.read().await.unwrap().iter().map(Bytes::len).sum::<usize>();
            }
            ends.clock.sleep(Duration::from_millis(20)).await;
        }
        // Acknowledgements go over every subflow.
        let (cheap, dear) = (ends.interface(0), ends.interface(1));
        assert!(cheap.received_bytes > 5_000_000, "{cheap:?}");
        assert!(dear.received_bytes < 50_000 && dear.sent_bytes < 50_000, "{dear:?}");
        drop(stream);
        ends.pour();
        ends.clock.sleep(Duration::from_secs(3)).await;
        let rate = ends.rate_mbps(1, 3.0).await;
        assert!(rate > 0.9 * 30.0, "{rate} of 30 Mbit/s");
    });
}

#[test]
fn a_backup_carries_what_the_others_cannot_while_they_are_dark() {
    let steps = [(0, 20.0), (5, 0.0), (10, 20.0)]
        .map(|(s, rate)| (Duration::from_secs(s), Rate::from_mbps(rate)));
    let dark = Supply::Profile(Arc::new(RateProfile::new(&steps, None).unwrap()));
    with(vec![(dark, InterfaceConfig::default()), (mbps(30.0), backup())], |ends| async move {
        ends.pour();
        ends.until(4.9).await;
        let before = ends.interface(1);
        assert!(before.received_bytes < 200_000, "{before:?}");
        ends.until(6.0).await;
        let rate = ends.rate_mbps(1, 3.5).await;
        assert!(rate > 0.9 * 30.0, "{rate} of 30 Mbit/s in the dark");
        ends.until(11.0).await;
        let soon = ends.rate_mbps(0, 1.0).await;
        assert!(soon > 0.85 * 20.0, "{soon} of 20 Mbit/s a second after it");
        let (main, rest) = (ends.rate_mbps(0, 3.0).await, ends.interface(1).received_bytes);
        let later = ends.rate_mbps(1, 3.0).await;
        assert!(main > 0.9 * 20.0, "{main} of 20 Mbit/s after it");
        assert!(later < 0.5, "{later} Mbit/s on the backup, {rest} bytes before");
    });
}

#[test]
fn a_radio_carries_no_more_than_its_rate_in_either_direction() {
    with(
        vec![(mbps(30.0), at_most(5.0)), (mbps(10.0), InterfaceConfig::default())],
        |ends| async move {
            ends.until(0.5).await;
            ends.pour();
            let stream = ends.echo();
            ends.until(3.0).await;
            let mut sent = ends.interface(0).sent_bytes;
            for _ in 0..20 {
                let came = ends.rate_mbps(0, 0.5).await;
                let now = ends.interface(0).sent_bytes;
                let went = (now - sent) as f64 * 8e-6 / 0.5;
                sent = now;
                // What goes over a subflow is 12 of 13 parts of what that takes on the air. A tenth of a second
                // may be saved up, and frames are of 16 KiB, so that half a second may have some more.
                for (way, rate) in [("down", came), ("up", went)] {
                    assert!(rate < 5.0 * (12.0 / 13.0 + 0.3), "{rate} Mbit/s {way}");
                    assert!(rate > 5.0 * (12.0 / 13.0 - 0.3), "{rate} Mbit/s {way}");
                }
            }
            let (at, bytes) = (ends.clock.now(), ends.interface(0).received_bytes);
            ends.until(at.as_secs_f64() + 10.0).await;
            let mean = (ends.interface(0).received_bytes - bytes) as f64 * 8e-7;
            assert!((0.97..1.01).contains(&(mean / (5.0 * 12.0 / 13.0))), "{mean} Mbit/s");
            drop(stream);
        },
    );
}

#[test]
fn a_quota_is_kept_to_the_byte_and_the_radio_comes_back_with_the_next() {
    let data_cap = Arc::new(DataCap::new());
    let terms = InterfaceConfig { data_cap: Some(data_cap.clone()), ..InterfaceConfig::default() };
    with(vec![(mbps(30.0), terms), (mbps(5.0), InterfaceConfig::default())], |ends| async move {
        data_cap.grant(8_000_000);
        ends.until(0.3).await;
        ends.pour();
        let stream = ends.echo();
        ends.until(2.0).await;
        assert!(ends.interface(0).is_up, "more may be granted, so the subflow stays");
        data_cap.set_spent(true);
        ends.until(6.0).await;
        let spent = ends.interface(0);
        assert!(!spent.is_up && spent.is_spent, "{spent:?}");
        assert!(spent.on_air_bytes <= 8_000_000, "{spent:?}");
        assert!(spent.on_air_bytes > 8_000_000 - 400_000, "{spent:?}");
        // Others go on.
        let rate = ends.rate_mbps(1, 3.0).await;
        assert!(rate > 0.85 * 5.0, "{rate} of 5 Mbit/s");
        assert_eq!(ends.interface(0).on_air_bytes, spent.on_air_bytes);
        // The next month.
        data_cap.grant(12_000_000);
        data_cap.set_spent(false);
        ends.clock.sleep(Duration::from_millis(500)).await;
        assert!(ends.interface(0).is_up, "{:?}", ends.interface(0));
        ends.clock.sleep(Duration::from_secs(5)).await;
        let used = ends.interface(0).on_air_bytes;
        assert!((11_600_000..=12_000_000).contains(&used), "{used}");
        assert!(stream.write(Bytes::from_static(b"still there")).await.is_ok());
    });
}

#[test]
fn a_serving_end_has_nothing_to_allow() {
    let Scene { mut world, server, client, listen, interfaces } = scene(vec![mbps(30.0)], RTT);
    let ended = world.run(async move {
        let endpoint = Endpoint::server(&server, listen, transport()).unwrap();
        let pending = PendingConnections::new(server.clone());
        server.clone().spawn("server", async move {
            let mut subflows = Vec::new();
            while let Some(connection) = endpoint.accept().await {
                let connection = accept_quic(connection).await.unwrap();
                let Some(mut subflow) = pending.join(connection) else { continue };
                let set_limit = SubflowFrame { stream: 0, body: Body::Credit(1) }.encode();
                let welcome = Bytes::from_static(b"ALTK\x02\0\0\0\0\0\0\0\x01");
                subflow.low_latency.sender.write(vec![welcome, set_limit]).await.unwrap();
                subflows.push(subflow);
            }
        });
        let interface = (connect(&client, 0, interfaces[0], listen), InterfaceConfig::default());
        let session = Session::new(&client, [3; 16], vec![interface], SessionLimits::default());
        client.sleep(Duration::from_secs(2)).await;
        let view = session.interfaces().swap_remove(0);
        assert!(view.subflows >= 3 && !view.problem.is_empty(), "{view:?}");
    });
    ended.unwrap();
}

/// Over sockets a machine that is busy elsewhere may answer late, and subflows be replaced for it.
#[test]
fn a_thousand_streams_share_two_subflows_and_silence_neither() {
    let interface = || (mbps(50.0), InterfaceConfig::default());
    with(vec![interface(), interface()], |ends| async move {
        ends.until(1.0).await;
        let said = Bytes::from(vec![7; 8_000]);
        let streams: Vec<_> =
            (0..1000).map(|_| ends.session.open(Bytes::from_static(b"echo"))).collect();
        for stream in &streams {
            let stream = stream.as_ref().unwrap();
            stream.write(said.clone()).await.unwrap();
        }
        for stream in &streams {
            let stream = stream.as_ref().unwrap();
            let mut heard = 0;
            while heard < said.len() {
                heard += stream.read().await.unwrap().iter().map(Bytes::len).sum::<usize>();
            }
        }
        for number in 0..2 {
            let interface = ends.interface(number);
            assert!(interface.subflows == 1 && interface.problem.is_empty(), "{interface:?}");
        }
    });
}
