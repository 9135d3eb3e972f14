//! Several sessions on one connection: each has a weight of its own, the connection their sum.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_abr::{AbrKind, PlayerConfig, TitleModel};
use airlane_apps::cmcd::Cmcd;
use airlane_apps::content::Library;
use airlane_apps::vod::{ClientConnection, Origin, OriginEvents, Policy, Provider, WeightPolicy};
use airlane_base::{Rate, Seed, Time};
use airlane_congestion::ControllerConfig;
use airlane_media::{Metric, Perceptual, Video, synthetic};
use airlane_minerva::{Config, Form, Normalisation, RateCurve, Update};
use airlane_net::Dumbbell;
use airlane_quality::QoeParams;
use airlane_quic::{Cipher, ControlHandle, Endpoint, H3Client, TransportConfig};
use airlane_runtime::virtual_time::World;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use http::Request;
use parking_lot::Mutex;

#[derive(Default)]
struct Log {
    control: Mutex<Option<ControlHandle>>,
    /// Session, update, and the connection's weight right after it.
    weighed: Mutex<Vec<(String, Update, f64)>>,
}

impl OriginEvents for Log {
    fn connected(&self, _: &ClientConnection, control: Option<&ControlHandle>) {
        *self.control.lock() = control.cloned();
    }

    fn weight_set(&self, _: &ClientConnection, session: &str, update: &Update) {
        let weight = self.control.lock().as_ref().unwrap().stats().weight;
        self.weighed.lock().push((session.to_owned(), *update, weight));
    }
}

fn transport() -> TransportConfig {
    TransportConfig::laboratory(Cipher::Null, ControllerConfig::cubic(2.0))
}

fn provider(videos: &[Arc<Video>]) -> Provider {
    let abr = AbrKind::default();
    let settings: Vec<Arc<TitleModel>> = videos
        .iter()
        .map(|v| {
            let view = Perceptual::new(v.clone(), Metric::Vmaf).unwrap();
            let player = PlayerConfig::default();
            Arc::new(TitleModel::new(view, QoeParams::default(), player).unwrap())
        })
        .collect();
    let curves: Vec<RateCurve> =
        settings.iter().map(|s| RateCurve::simulate(s, &abr, Duration::from_secs(100))).collect();
    let f = Normalisation::uniform(Form::FixedRate, 2.0, curves.iter().map(RateCurve::qoe));
    let titles = settings.iter().map(|s| ((s.video().name.clone(), Metric::Vmaf), s.clone()));
    Provider {
        titles: titles.collect(),
        metric: Metric::Vmaf,
        abr,
        values: BTreeMap::new(),
        normalisation: Arc::new(f.unwrap()),
        config: Config::default(),
        payload_bytes: 1350,
    }
}

/// Fetches a video chunk by chunk at one rung, with pauses of 0.6 s, and reports four seconds held.
async fn watch(host: RuntimeHandle, client: Arc<H3Client>, id: &str, video: &Video, rung: usize) {
    for chunk in 0..video.chunks() {
        let cmcd = Cmcd {
            session: Some(id.to_owned()),
            buffer: Some(Duration::from_secs(4)),
            ..Cmcd::default()
        };
        let path = Library::path(video, if chunk == 0 { 0 } else { rung }, chunk);
        let url = format!("https://x{path}?{}", cmcd.to_query());
        let response = client.send_request(Request::get(url).body(()).unwrap()).await.unwrap();
        let mut body = response.into_body();
        while body.data().await.unwrap().is_some() {}
        host.sleep(Duration::from_millis(600)).await;
    }
}

#[test]
fn the_weight_of_a_connection_is_the_sum_over_its_sessions() {
    let videos = synthetic::corpus(2, 25, Seed(3));
    let built =
        Dumbbell::new(Rate::from_mbps(4.0), Duration::from_millis(20), 1.5, 1).build(Seed(5));
    let ip = |host| built.network.addresses(host)[0];
    let (s, c) = (ip(built.servers[0]), ip(built.clients[0]));
    let mut world = World::new(Seed(5), built.network);
    let (server, client) = (world.host("server", s), world.host("client", c));
    let log = Arc::new(Log::default());
    let seen = log.clone();
    world
        .run(async move {
            let listen = SocketAddr::new(s, 443);
            let origin = Origin::new(
                Arc::new(Library::new(videos.clone())),
                Policy::Minerva(Arc::new(provider(&videos))),
                seen,
            );
            let endpoint = Endpoint::server(&server, listen, transport()).unwrap();
            server.spawn("origin", origin.serve(endpoint));
            let any = SocketAddr::from(([0, 0, 0, 0], 0));
            let caller = Endpoint::client(&client, any, transport()).unwrap();
            let connection = caller.connect(listen, "x").await.unwrap();
            let h3 = Arc::new(H3Client::connect(connection).await.unwrap());
            let other = (client.clone(), h3.clone(), videos[1].clone());
            let (done, ended) = tokio::sync::oneshot::channel();
            client.spawn("other", async move {
                let (host, h3, video) = other;
                // It joins later.
                host.sleep(Duration::from_secs(20)).await;
                watch(host, h3, "b", &video, 3).await;
                done.send(()).unwrap();
            });
            watch(client.clone(), h3, "a", &videos[0], 3).await;
            ended.await.unwrap();
        })
        .unwrap();
    let weighed = log.weighed.lock();
    let last_of = |id| weighed.iter().rfind(|(of, ..)| of == id).unwrap().1;
    let (a, b) = (last_of("a"), last_of("b"));
    let (both_from, both_to) = (Time::from_millis(25_000), a.at.min(b.at));
    let mut latest = BTreeMap::new();
    let mut sums = 0;
    for (session, update, weight) in weighed.iter() {
        latest.insert(session, update.weight);
        if (both_from..both_to).contains(&update.at) {
            // While one pauses it does not count, and while both do the weight is plain.
            let (own, sum): (f64, f64) = (update.weight, latest.values().sum());
            let is = |expected: f64| (weight - expected).abs() < 1e-9;
            assert!(is(2.0) || is(own) || is(sum), "{weight}: {own}, {sum} at {}", update.at);
            sums += usize::from(is(sum));
        }
    }
    assert!(sums > 20, "{sums}");
    // When one has ended, it counts no more.
    let (_, update, weight) = weighed.last().unwrap();
    assert!(update.at - both_to > Duration::from_secs(12), "{both_to}");
    assert!([2.0, update.weight].contains(weight), "{weight}");
    // Each session's rate is its own part of the link, not the connection's: more than half of it
    // only while the other pauses.
    let during = weighed.iter().filter(|(_, u, _)| (both_from..both_to).contains(&u.at));
    let (sum, n) = during.fold((0.0, 0.0), |(sum, n), (_, u, _)| (sum + u.smoothed_bps, n + 1.0));
    let rates = 2.0 * sum / n;
    assert!((3e6..6.5e6).contains(&rates), "{rates} together on 4 Mbit/s");
}

#[test]
fn a_player_that_sends_its_value_function_is_weighed_by_it() {
    use airlane_minerva::{OnDemand, SentCurve};
    let videos = synthetic::corpus(1, 12, Seed(3));
    let p = provider(&videos);
    let setting = p.titles.values().next().unwrap().clone();
    let own = OnDemand::new(setting.clone(), Arc::new(AbrKind::default()), 5);
    let curve = SentCurve::sample(&setting, &own, 1, 2, 6.0).unwrap().to_text();
    let cmcd = Cmcd { value: Some(curve.clone()), ..Cmcd::default() };
    let read = Cmcd::from_query(&cmcd.to_query()).unwrap();
    assert_eq!(read.value, Some(curve), "it survives the wire");
}

/// Whatever the rate, what is suggested lets through the highest rung that the rate sustains, as a
/// player reads it: that of the manifest is about the nominal one, and the sound's comes off.
#[test]
fn the_bitrate_that_is_suggested_lets_through_just_what_the_rate_sustains() {
    let videos = synthetic::corpus(1, 12, Seed(3));
    let p = provider(&videos);
    let setting = p.titles.values().next().unwrap();
    let (means, rungs) = (setting.mean_rate_bps(), &videos[0].rungs);
    for rate_bps in means.iter().flat_map(|mean| [mean - 1.0, mean + 1.0]).chain([1.0, 1e9]) {
        let sustained = means.iter().filter(|mean| **mean <= rate_bps).count().max(1);
        let suggested = p.suggestion_bps(&videos[0].name, rate_bps).unwrap() as f64;
        let let_through =
            |share: f64| rungs.iter().filter(|r| r.nominal.as_f64() * share <= suggested).count();
        assert_eq!([let_through(0.98), let_through(1.1)], [sustained; 2], "at {rate_bps} bit/s");
    }
    assert_eq!(p.suggestion_bps("nobody's", 1e6), None);
}
