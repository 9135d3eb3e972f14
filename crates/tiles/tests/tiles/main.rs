//! A 360-degree session in virtual time, over two interfaces with QUIC on each.

#[path = "../../../multipath/tests/multipath/world.rs"]
#[expect(dead_code, reason = "the tests of sessions use more of it")]
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_mptcp::{MptcpEngines, Options, SchedulerKind};
use airlane_multipath::{FbdtOptions, MultipathStream, Scheme, StreamConfig};
use airlane_net::link::{RateProfile, Supply};
use airlane_runtime::RuntimeExt;
use airlane_tiles::wire::{Begin, FromServer, MAX_PART_BYTES, Part, Report, Request};
use airlane_tiles::{
    self, Method, Planner, PlannerConfig, SentGop, Show, ShownGop, Tile, TilesError, Title, Viewer,
    quality,
};
use airlane_viewport::{Concealment, Level, LossKind, TileContent, Tiling};
use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use proptest::prelude::*;

use crate::world::{Scene, accept, mbps, open, scene};

const GOP: Duration = Duration::from_secs(1);

/// 12 tiles with levels of 5, 20 and 80 kB: 0.48, 1.92 and 7.68 Mbit/s together.
fn title() -> Arc<Title> {
    let level = |bytes: u64, mse: f64| Level { bits: 8 * bytes, mse };
    let tile = Tile {
        levels: vec![level(5_000, 200.0), level(20_000, 50.0), level(80_000, 10.0)],
        content: TileContent { change_mse: 300.0, grey_mse: 2_000.0 },
    };
    let tiling = Tiling::new(4, 3).unwrap();
    Arc::new(Title::new("Balloon", tiling, GOP, vec![vec![tile; 12]; 4]).unwrap())
}

/// Most look at the tiles of the middle row, and most of all at the last of them.
fn attention() -> Arc<Vec<Vec<f64>>> {
    let mut gop = vec![0.01; 12];
    gop[4..8].copy_from_slice(&[0.1, 0.12, 0.2, 0.5]);
    Arc::new(vec![gop])
}

/// A link whose rate changes at these times: s, Mbit/s.
fn steps(at: &[(f64, f64)]) -> Supply {
    let steps: Vec<_> =
        at.iter().map(|(s, mbps)| (Duration::from_secs_f64(*s), Rate::from_mbps(*mbps))).collect();
    Supply::Profile(Arc::new(RateProfile::new(&steps, None).unwrap()))
}

struct Session {
    shown: Vec<ShownGop>,
    sent: Vec<SentGop>,
    outcome: Result<(), TilesError>,
    served: Option<Result<(), TilesError>>,
}

/// Memory as it is for interfaces of several hundred Mbit/s, at the rates of these.
fn small() -> StreamConfig {
    StreamConfig {
        max_segment_bytes: 4 << 10,
        max_window_bytes: 16 << 10,
        memory: Some(64 << 10),
        ..StreamConfig::default()
    }
}

/// What a server does with a client that behaves as `client` does: how the session ended, and when.
fn served<F>(client: impl FnOnce(Arc<MultipathStream>) -> F + Send + 'static) -> (String, f64)
where
    F: Future<Output = ()> + Send,
{
    let Scene { mut world, server, client: own, listen, interfaces } = two_radios();
    let ended = world.run(async move {
        let config = small();
        let mut streams = accept(&server, listen, config.clone());
        let (done, outcome) = tokio::sync::oneshot::channel();
        let clock = server.clone();
        server.spawn("tiles server", async move {
            let stream: MultipathStream = streams.recv().await.unwrap();
            let since = clock.now();
            let show = Show { title: title(), attention: attention() };
            let shows = BTreeMap::from([("Balloon".to_owned(), show)]);
            let planner = PlannerConfig::default();
            let ended = airlane_tiles::serve(&stream, &clock, &shows, planner, |_| {}).await;
            drop(done.send((ended.unwrap_err().to_string(), (clock.now() - since).as_secs_f64())));
        });
        let (_trunk, stream) = open(&own, (&interfaces, listen), config);
        let stream = Arc::new(stream);
        client(stream.clone()).await;
        let ended = outcome.await.unwrap();
        drop(stream);
        ended
    });
    ended.unwrap()
}

async fn ask(stream: &MultipathStream, gops: u32) {
    let mut request = BytesMut::new();
    Request { title: "Balloon".to_owned(), gops }.encode(&mut request);
    stream.write(request.freeze()).await.unwrap();
}

#[test]
fn a_client_that_asks_for_nothing_reports_nothing_or_takes_nothing_is_served_no_longer() {
    let (why, after_s) = served(|stream| async move {
        stream.write(Bytes::from_static(b"AL36")).await.unwrap();
    });
    assert!(
        why.contains("no request in time") && (9.9..10.1).contains(&after_s),
        "{why} {after_s}"
    );
    // All that it was sent is kept until it reports.
    let (why, after_s) = served(|stream| async move {
        ask(&stream, 1000).await;
        while stream.read().await.is_ok_and(|came| !came.is_empty()) {}
    });
    assert!(why.contains("without a report") && (63.9..65.0).contains(&after_s), "{why} {after_s}");
    // The stream holds no more than three GoPs of the least level.
    let (why, after_s) = served(|stream| async move { ask(&stream, 1000).await });
    assert!(why.contains("taken for a minute"), "{why}");
    assert!((61.0..66.0).contains(&after_s), "{after_s}");
    // All is reported at once, and then it never ends.
    let (why, after_s) = served(|stream| async move {
        ask(&stream, 3).await;
        let mut reports = BytesMut::new();
        for gop in 0..3 {
            let busy = Duration::from_secs(1);
            Report { gop, busy, bytes: 1, arrived: vec![false; 12] }.encode(&mut reports);
        }
        stream.write(reports.freeze()).await.unwrap();
        while stream.read().await.is_ok_and(|came| !came.is_empty()) {}
    });
    assert!(
        why.contains("taken for a minute") && (62.0..66.0).contains(&after_s),
        "{why} {after_s}"
    );
}

fn session(scene: Scene, scheme: Scheme, method: Method, gops: u32, asked: &str) -> Session {
    let config = StreamConfig { scheme, ..small() };
    let planner = PlannerConfig { method, margin: 0.8, ..PlannerConfig::default() };
    let Scene { mut world, server, client, listen, interfaces } = scene;
    let asked = asked.to_owned();
    let session = world.run(async move {
        let mut streams = accept(&server, listen, config.clone());
        let sent = Arc::new(Mutex::new(Vec::new()));
        let (served, mut outcome_there) = tokio::sync::oneshot::channel();
        let (clock, log) = (server.clone(), sent.clone());
        server.spawn("tiles server", async move {
            let stream: MultipathStream = streams.recv().await.unwrap();
            let show = Show { title: title(), attention: attention() };
            let shows = BTreeMap::from([("Balloon".to_owned(), show)]);
            let note = |gop| log.lock().push(gop);
            let result = airlane_tiles::serve(&stream, &clock, &shows, planner, note).await;
            drop(served.send(result));
            drop(stream.over().await);
        });
        let (_trunk, stream) = open(&client, (&interfaces, listen), config);
        let shown = Mutex::new(Vec::new());
        let note = |gop| shown.lock().push(gop);
        let outcome = airlane_tiles::watch(&stream, &client, &asked, gops, note).await;
        let shown = shown.into_inner();
        client.sleep(Duration::from_millis(500)).await;
        let sent = std::mem::take(&mut *sent.lock());
        Session { shown, sent, outcome, served: outcome_there.try_recv().ok() }
    });
    session.unwrap()
}

fn fbdt() -> Scheme {
    Scheme::Fbdt(FbdtOptions::default())
}

fn mptcp(kind: SchedulerKind) -> Scheme {
    Scheme::Other(Arc::new(MptcpEngines(Options::of(kind))))
}

fn two_radios() -> Scene {
    scene(vec![mbps(4.0), mbps(2.0)], Duration::from_millis(20))
}

fn arrived(gop: &ShownGop) -> usize {
    gop.levels.iter().flatten().count()
}

#[test]
fn a_session_uses_what_the_radios_have_and_nothing_is_late() {
    for scheme in [fbdt(), mptcp(SchedulerKind::Linux), mptcp(SchedulerKind::MinRtt)] {
        let session =
            session(two_radios(), scheme.clone(), Method::Ows(LossKind::Corrected), 10, "Balloon");
        session.outcome.unwrap();
        session.served.unwrap().unwrap();
        assert_eq!((session.shown.len(), session.sent.len()), (10, 10));
        // Nothing is known of the first GoP but that it must arrive.
        assert!(session.shown[0].levels.iter().all(|level| *level == Some(0)));
        for (number, gop) in session.shown.iter().enumerate().skip(1) {
            assert_eq!(arrived(gop), 12, "GoP {number} under {scheme:?}");
        }
        let steady: u64 = session.shown[5..].iter().map(|gop| gop.bytes).sum();
        let mbps = steady as f64 * 8.0 / 5e6;
        assert!(
            (2.5..5.0).contains(&mbps),
            "0.8 of what is used of 6 Mbit/s: {mbps} under {scheme:?}"
        );
        // What is looked at most has the best level.
        assert!(session.shown[5..].iter().all(|gop| gop.levels[7] == Some(2)), "{scheme:?}");
        assert!(session.shown[5..].iter().any(|gop| gop.levels[0] < Some(2)), "{scheme:?}");
    }
}

/// Both interfaces go dark from 5.3 to 7.6 s.
fn dark() -> Scene {
    let supply = |mbps: f64| steps(&[(0.0, mbps), (5.3, 0.0), (7.6, mbps)]);
    scene(vec![supply(4.0), supply(2.0)], Duration::from_millis(20))
}

#[test]
fn after_an_outage_gops_whose_time_has_passed_are_left_out() {
    for scheme in [fbdt(), mptcp(SchedulerKind::Linux)] {
        let session = session(dark(), scheme.clone(), Method::Fix, 14, "Balloon");
        session.outcome.unwrap();
        session.served.unwrap().unwrap();
        assert_eq!(session.shown.len(), 14);
        assert!(session.shown.iter().any(|gop| arrived(gop) == 0), "none comes in the dark");
        let skipped = session.sent.iter().filter(|gop| gop.plan.is_empty()).count();
        assert!((1..=2).contains(&skipped), "GoPs that were never begun: {skipped}");
        // Nothing that is useless fills the interfaces when they are back.
        for gop in &session.shown[11..] {
            assert_eq!(arrived(gop), 12, "{scheme:?}: {:?}", session.shown);
        }
    }
}

#[test]
fn what_is_looked_at_most_arrives_when_the_rate_falls() {
    // From 6 Mbit/s to 1.5: the GoPs after that are larger than what there is.
    let falls = |mbps: f64| steps(&[(0.0, mbps), (6.2, mbps / 4.0)]);
    let run = |method| {
        let scene = scene(vec![falls(4.0), falls(2.0)], Duration::from_millis(20));
        let session = session(scene, fbdt(), method, 9, "Balloon");
        session.outcome.unwrap();
        let levels: Vec<_> = session.shown.into_iter().map(|gop| gop.levels).collect();
        let viewport = &attention()[0];
        let views = std::iter::repeat_n(viewport.as_slice(), levels.len());
        let good = quality(&title(), views, &levels, Concealment::Previous);
        good[6..].iter().map(|gop| gop.viewport_db).sum::<f64>() / 3.0
    };
    let [ows, fixed] = [Method::Ows(LossKind::Corrected), Method::Fix].map(run);
    assert!(ows > fixed + 1.0, "{ows} {fixed}");
}

#[test]
fn a_title_that_is_not_there_is_refused() {
    let session = session(two_radios(), fbdt(), Method::Fix, 3, "Baloon");
    let told = session.outcome.unwrap_err().to_string();
    assert!(told.contains("no title \"Baloon\""), "{told}");
    assert!(matches!(session.served, Some(Err(TilesError::NoTitle(_)))));
    assert!(session.shown.is_empty());
}

#[test]
fn a_plan_puts_first_what_is_worth_most_and_levels_follow_the_rate() {
    let config = |method| PlannerConfig { method, margin: 1.0, ..PlannerConfig::default() };
    let sorted = [Method::Ows(LossKind::Corrected), Method::Likelihood, Method::Joint];
    for method in sorted.into_iter().chain([Method::Fix]) {
        let mut planner = Planner::new(title(), attention(), config(method));
        let plan = planner.plan(0);
        assert!(plan.iter().all(|item| item.level == 0 && item.bytes == 5_000), "nothing is known");
        plan.iter().for_each(|item| planner.on_sent(0, *item));
        let arrived = vec![true; 12];
        let report = Report { gop: 0, busy: GOP / 4, bytes: 60_000, arrived };
        planner.on_report(&report).unwrap();
        let plan = planner.plan(1);
        let bytes: u64 = plan.iter().map(|item| item.bytes).sum();
        assert!((150_000..=240_000).contains(&bytes), "60 kB in a quarter of a second: {bytes}");
        let first: Vec<u16> = plan.iter().map(|item| item.tile).collect();
        match method {
            Method::Fix => assert!(first.is_sorted()),
            Method::Likelihood => assert_eq!(first[..4], [7, 6, 5, 4]),
            _ => assert!(first[..4].iter().all(|tile| (4..8).contains(tile)), "{first:?}"),
        }
        assert!(planner.on_report(&report).is_err(), "the same again");
        let forged = Report { gop: 1, busy: GOP, bytes: 0, arrived: vec![true; 12] };
        assert!(planner.on_report(&forged).is_err(), "of tiles that were not sent");
    }
}

#[test]
fn what_is_known_of_a_gop_takes_the_place_of_reports() {
    let known_bps = Some(vec![4e6, 0.6e6, f64::NAN].into());
    let config = PlannerConfig { method: Method::Fix, known_bps, ..PlannerConfig::default() };
    let mut planner = Planner::new(title(), attention(), config);
    let mut planned = |gop: u32| -> u64 {
        let plan = planner.plan(gop);
        plan.iter().map(|item| item.bytes).sum()
    };
    // 500 kB, of which the last step does not fit; then 75 kB; then no number, as if nothing were known.
    assert!((400_000..=500_000).contains(&planned(0)));
    assert_eq!((planned(1), planned(2), planned(3)), (75_000, 60_000, 60_000));
}

#[test]
fn a_title_without_its_lowest_levels_keeps_the_others_and_always_one() {
    let sizes = |title: &Title| -> Vec<u64> {
        title.tiles(3)[11].levels.iter().map(|level| level.bits / 8).collect()
    };
    assert_eq!(sizes(&title().without_lowest(0)), [5_000, 20_000, 80_000]);
    assert_eq!(sizes(&title().without_lowest(2)), [80_000]);
    assert_eq!(sizes(&title().without_lowest(9)), [80_000]);
}

fn viewer() -> Viewer {
    let begin = Begin { columns: 4, rows: 3, gop: GOP, gops: 5 };
    Viewer::new("Balloon", begin, Time::ZERO)
}

/// The parts of a tile.
fn parts(gop: u32, tile: u16, tile_bytes: u32) -> Vec<FromServer> {
    let body = airlane_base::Pattern::new(&format!("Balloon/{gop}/{tile}/1"), tile_bytes.into());
    let mut offset = 0;
    let pieces = body.pieces(0..tile_bytes.into(), MAX_PART_BYTES.into()).map(|payload| {
        let part = Part { gop, tile, level: 1, tile_bytes, offset, payload };
        offset += part.payload.len() as u32;
        FromServer::Part(part)
    });
    pieces.collect()
}

#[test]
fn a_tile_counts_if_all_of_it_is_there_when_its_gop_is_shown() {
    let mut viewer = viewer();
    let ms = Time::from_millis;
    for part in parts(0, 3, 10_000) {
        viewer.on_message(ms(400), part).unwrap();
    }
    // The second tile is cut by the deadline.
    let mut second = parts(0, 4, 10_000);
    viewer.on_message(ms(990), second.remove(0)).unwrap();
    assert_eq!(viewer.on_time(ms(999)), None);
    let (shown, report) = viewer.on_time(ms(1000)).unwrap();
    assert_eq!((shown.late[4], shown.late[3], shown.levels[3]), (true, false, Some(1)));
    let came: Vec<usize> = (0..12).filter(|i| report.arrived[*i]).collect();
    assert_eq!((came, report.busy, report.bytes), (vec![3], GOP, 14_096));
    // What is left of it belongs to the throughput of the next second, which ends early.
    for part in second {
        viewer.on_message(ms(1010), part).unwrap();
    }
    for part in parts(1, 0, 1_000) {
        viewer.on_message(ms(1200), part).unwrap();
    }
    viewer.on_message(ms(1250), FromServer::GopEnd(1)).unwrap();
    let (_, report) = viewer.on_time(ms(2000)).unwrap();
    assert_eq!((report.gop, report.busy, report.bytes), (1, Duration::from_millis(250), 6_904));
    // Nothing comes of GoP 2; two deadlines have passed at once.
    let mut reports = std::iter::from_fn(|| viewer.on_time(ms(4100)));
    let two: Vec<_> = reports.by_ref().map(|(_, report)| (report.gop, report.bytes)).collect();
    assert_eq!(two, [(2, 0), (3, 0)]);
}

#[test]
fn messages_that_do_not_fit_the_session_are_refused() {
    let refused = |messages: Vec<FromServer>| {
        let mut viewer = viewer();
        let last = messages.len() - 1;
        for (i, message) in messages.into_iter().enumerate() {
            let result = viewer.on_message(Time::from_millis(10), message);
            assert_eq!(result.is_err(), i == last, "message {i}: {result:?}");
        }
    };
    let part = |gop, tile| parts(gop, tile, 10_000).remove(0);
    refused(vec![part(0, 12)]);
    refused(vec![part(5, 0)]);
    refused(vec![FromServer::GopEnd(5)]);
    refused(vec![part(2, 0)]);
    refused(vec![FromServer::GopEnd(0), FromServer::GopEnd(0)]);
    refused(vec![FromServer::GopEnd(0), part(0, 0)]);
    refused(vec![parts(0, 1, 10_000).remove(1)]);
    refused(vec![part(0, 1), parts(0, 2, 10_000).remove(1)]);
    refused([parts(0, 1, 100), parts(0, 1, 100)].concat());
    let FromServer::Part(right) = part(0, 1) else { unreachable!() };
    refused(vec![FromServer::Part(Part { payload: Bytes::from_static(b"wrong"), ..right })]);
}

/// The lines of the document's table of vectors: name and bytes.
fn vectors() -> BTreeMap<String, Vec<u8>> {
    let text = include_str!("../../../../docs/reference/wire/tiles.md");
    let (_, table) = text.split_once("## Vectors").unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let vector = |row: &str| {
        let (name, bytes) = row.split_once(" | ")?;
        let digits: Vec<u8> = bytes.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap();
        let bytes = bytes.starts_with('`').then(|| digits.chunks(2).map(byte).collect())?;
        Some((name.split(':').next().unwrap().to_owned(), bytes))
    };
    rows.filter_map(vector).collect()
}

#[test]
fn messages_are_as_the_document_has_them() {
    let vectors = vectors();
    let check = |name: &str, encode: &dyn Fn(&mut BytesMut)| {
        let mut out = BytesMut::new();
        encode(&mut out);
        assert_eq!(vectors[name], out.to_vec(), "{name}");
        out
    };
    let request = Request { title: "Balloon".to_owned(), gops: 60 };
    let mut bytes = check("request", &|out| request.encode(out));
    assert_eq!(Request::decode(&mut bytes), Ok(Some(request)));
    let begin = Begin { columns: 12, rows: 8, gop: GOP, gops: 60 };
    let mut bytes = check("answer", &|out| Begin::encode(Some(&begin), out));
    assert_eq!(Begin::decode(&mut bytes), Ok(Some(Some(begin))));
    let mut bytes = check("refusal", &|out| Begin::encode(None, out));
    assert_eq!(Begin::decode(&mut bytes), Ok(Some(None)));
    let payload = Bytes::from_static(b"abc");
    let part = Part { gop: 7, tile: 42, level: 3, tile_bytes: 5000, offset: 4096, payload };
    let part = FromServer::Part(part);
    let mut bytes = check("part", &|out| part.encode(out));
    assert_eq!(FromServer::decode(&mut bytes), Ok(Some(part)));
    let mut bytes = check("end of a GoP", &|out| FromServer::GopEnd(7).encode(out));
    assert_eq!(FromServer::decode(&mut bytes), Ok(Some(FromServer::GopEnd(7))));
    let mut arrived = vec![false; 12];
    (arrived[0], arrived[9], arrived[11]) = (true, true, true);
    let report = Report { gop: 7, busy: Duration::from_millis(730), bytes: 250_000, arrived };
    let mut bytes = check("report", &|out| report.encode(out));
    assert_eq!(Report::decode(&mut bytes), Ok(Some(report)));
    assert_eq!(vectors.len(), 6);
}

proptest! {
    #[test]
    fn any_bytes_are_messages_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let from = || BytesMut::from(&bytes[..]);
        let _ = (Request::decode(&mut from()), Begin::decode(&mut from()));
        if let Ok(Some(report)) = Report::decode(&mut from()) {
            let mut again = BytesMut::new();
            report.encode(&mut again);
            prop_assert_eq!(Report::decode(&mut again), Ok(Some(report)));
        }
        let mut from = BytesMut::from(&bytes[..]);
        let mut viewer = viewer();
        while let Ok(Some(message)) = FromServer::decode(&mut from) {
            if viewer.on_message(Time::ZERO, message).is_err() {
                break;
            }
        }
    }

    #[test]
    fn a_message_that_is_cut_is_waited_for(cut in 0usize..30) {
        let mut whole = BytesMut::new();
        FromServer::Part(Part {
            gop: 1, tile: 2, level: 0, tile_bytes: 12, offset: 0, payload: Bytes::from_static(&[9; 12]),
        }).encode(&mut whole);
        let rest = whole.split_off(cut);
        prop_assert_eq!(FromServer::decode(&mut whole), Ok(None));
        whole.extend_from_slice(&rest);
        prop_assert!(matches!(FromServer::decode(&mut whole), Ok(Some(FromServer::Part(_)))));
    }
}
