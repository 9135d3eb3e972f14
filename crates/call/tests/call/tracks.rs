//! Tracks that come and go: muted videos, shared screens, speakers, key frames for those who join.

use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_call::wire::{ParticipantId, Track};
use airlane_call::{
    ActiveSpeaker, LastNConfig, ParticipantConfig, ServerConfig, SpeechConfig, Spurts, TrackChange,
};
use airlane_plum::State;

use crate::conference::yielding;
use crate::world::{Client, Outcome, call, half_duplex, link};

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

const LENGTH: Duration = Duration::from_secs(20);

fn change(at_s: u64, track: Track, is_sent: bool) -> TrackChange {
    TrackChange { at: Duration::from_secs(at_s), track, is_sent }
}

/// Times at which a client showed frames of a track of another one.
fn shown(outcome: &Outcome, client: usize, source: usize, track: Track) -> Vec<Duration> {
    let source = outcome.ids[source].expect("a number");
    let of = outcome.shown[client].iter();
    let of = of.filter(|r| r.header.source == source && r.header.track == track);
    of.filter_map(|record| Some(record.shown?.since_start())).collect()
}

fn between(times: &[Duration], from_s: f64, to_s: f64) -> usize {
    times.iter().filter(|at| (from_s..to_s).contains(&at.as_secs_f64())).count()
}

/// A muted camera sends nothing, the others get to know, and it is back at once when it is sent again.
#[test]
fn a_muted_camera_is_not_seen_and_comes_back() {
    let mutes = |config: &mut ParticipantConfig| {
        config.changes = vec![change(5, Track::Camera, false), change(10, Track::Camera, true)];
    };
    let clients = vec![
        Client { setup: mutes, ..link(30.0).into() },
        link(30.0).into(),
        Client { start: Duration::from_secs(7), ..link(30.0).into() },
    ];
    let outcome = call(clients, ServerConfig::default(), LENGTH);
    assert_eq!(outcome.ended, vec![None; 3]);
    let times = shown(&outcome, 1, 0, Track::Camera);
    assert!(between(&times, 1.0, 5.0) > 70);
    assert_eq!(between(&times, 5.4, 10.0), 0);
    assert!(between(&times, 10.0, 10.5) > 3, "{:?}", times.iter().find(|at| at.as_secs() >= 10));
    assert!(between(&times, 11.0, 20.0) > 170);
    let source = outcome.ids[0].expect("a number");
    let told: Vec<_> = outcome.sends[1].iter().map(|(_, id, t, sent)| (*id, *t, *sent)).collect();
    assert_eq!(told, [(source, Track::Camera, false), (source, Track::Camera, true)]);
    // Who joins meanwhile is told at once.
    assert_eq!(outcome.sends[2][0].1, source);
    assert!(!outcome.sends[2][0].3);
}

/// Whoever sends no video has no uplink that others wait for: it is not held.
#[test]
fn who_is_muted_is_not_coordinated() {
    let mutes = |config: &mut ParticipantConfig| {
        config.changes = vec![change(12, Track::Camera, false)];
    };
    let clients = vec![
        Client { setup: mutes, ..half_duplex(12.0).into() },
        link(50.0).into(),
        link(50.0).into(),
    ];
    let outcome = call(clients, yielding(0.8), LENGTH);
    assert_eq!(outcome.ended, vec![None; 3]);
    let channel = outcome.channel(0);
    let held = |from: u64, to: u64| {
        let within = channel.iter().filter(|r| (from..to).contains(&r.at.since_start().as_secs()));
        within.filter(|record| record.state != State::Natural).count()
    };
    assert!(held(8, 12) > 20, "it was never held");
    assert_eq!(held(13, 20), 0);
    // Its downlink has the channel to itself.
    let received = outcome.received_mbps(0, Duration::from_secs(15), LENGTH);
    assert!(received > 8.0, "{received} Mbit/s of 12");
}

/// A shared screen is seen whole beside cameras on a channel that carries little, also by who joins late.
#[test]
fn a_shared_screen_comes_first() {
    let shares = |config: &mut ParticipantConfig| {
        config.changes = vec![change(4, Track::Screen, true), change(16, Track::Screen, false)];
    };
    let clients = vec![
        Client { setup: shares, ..link(20.0).into() },
        half_duplex(12.0).into(),
        link(20.0).into(),
        Client { start: Duration::from_secs(9), ..link(20.0).into() },
    ];
    let outcome = call(clients, ServerConfig::default(), LENGTH);
    assert_eq!(outcome.ended, vec![None; 4]);
    for client in 1..4 {
        let times = shown(&outcome, client, 0, Track::Screen);
        assert_eq!(between(&times, 0.0, 4.0), 0);
        // Five frames a second.
        let frames = between(&times, 10.0, 16.0);
        assert!(frames >= 25, "client {client}: {frames} frames");
        assert_eq!(between(&times, 17.0, 20.0), 0);
    }
    let id = outcome.ids[0].expect("a number");
    let screen = |t: Track| t == Track::Screen;
    let sent = outcome.encoded[0].iter().filter(|r| screen(r.track) && r.at >= at(6_000));
    let sent: u64 = sent.map(|record| u64::from(record.bytes)).sum();
    let got = outcome.shown[1].iter().filter(|r| r.header.source == id && screen(r.header.track));
    let got: u64 =
        got.filter(|r| r.arrived >= at(6_000)).map(|r| u64::from(r.header.payload_bytes)).sum();
    assert!(got as f64 > 0.9 * sent as f64, "{got} of {sent} bytes");
}

#[test]
fn the_speaker_is_who_speaks_for_a_while() {
    let mut speaker = ActiveSpeaker::default();
    let (ada, grace) = (ParticipantId(1), ParticipantId(2));
    // A cough.
    for n in 0..10 {
        assert_eq!(speaker.on_speech(at(n * 20), ada), None);
    }
    let begins = |speaker: &mut ActiveSpeaker, from: u64, id| {
        (0..50).filter_map(|n| speaker.on_speech(at(from + n * 20), id)).collect::<Vec<_>>()
    };
    assert_eq!(begins(&mut speaker, 1_000, ada), [ada]);
    assert_eq!(speaker.speaker(at(2_000)), Some(ada));
    // Whoever falls in gets the word when the other one is silent.
    assert_eq!(begins(&mut speaker, 2_000, grace), [grace]);
    assert_eq!(speaker.speaker(at(3_000)), Some(grace));
    assert_eq!(speaker.speaker(at(7_000)), None);
    speaker.forget(grace);
    assert_eq!(speaker.speaker(at(3_000)), None);
}

#[test]
fn spurts_last_as_long_as_they_should() {
    let second = Duration::from_secs(1);
    let config = SpeechConfig { mean_spurt: second, mean_silence: 3 * second };
    let mut spurts = Spurts::new(config, Seed(1).rng(), at(0));
    let spoken = (0..500_000).filter(|n| spurts.speaks(at(n * 20))).count();
    let share = spoken as f64 / 500_000.0;
    assert!((share - 0.25).abs() < 0.02, "{share}");
}

fn speaks(config: &mut ParticipantConfig) {
    let ms = Duration::from_millis;
    config.speech = Some(SpeechConfig { mean_spurt: ms(3_000), mean_silence: ms(1) });
}

/// The video of the only one who speaks gets what it needs, where all three would get a third each.
#[test]
fn the_speaker_comes_first() {
    let run = |speakers_first| {
        let clients = vec![
            link(6.0).into(),
            Client { setup: speaks, ..link(20.0).into() },
            link(20.0).into(),
            link(20.0).into(),
        ];
        let outcome =
            call(clients, ServerConfig { speakers_first, ..ServerConfig::default() }, LENGTH);
        let speaker = outcome.ids[1].expect("a number");
        let of = outcome.shown[0].iter().filter(|r| r.arrived >= at(8_000));
        let (mut own, mut all) = (0, 0);
        for record in of {
            let bytes = u64::from(record.header.payload_bytes);
            all += bytes;
            own += if record.header.source == speaker { bytes } else { 0 };
        }
        own as f64 / all as f64
    };
    let (alike, first) = (run(false), run(true));
    assert!((alike - 1.0 / 3.0).abs() < 0.06, "{alike}");
    assert!(first > 0.6, "{first}");
}

/// With LastN and somebody who is heard nobody is drawn: the speaker is seen all the time.
#[test]
fn last_n_follows_who_is_heard() {
    let clients = vec![
        Client { setup: speaks, ..link(20.0).into() },
        link(20.0).into(),
        link(20.0).into(),
        link(20.0).into(),
    ];
    let server = ServerConfig { last_n: Some(LastNConfig::new(1)), ..ServerConfig::default() };
    let outcome = call(clients, server, LENGTH);
    for client in 1..4 {
        let times = shown(&outcome, client, 0, Track::Camera);
        assert!(between(&times, 3.0, 20.0) > 300, "client {client}: {}", times.len());
    }
}

/// Late participants, many at once or one by one: each video gets a bounded number of key frames for them.
#[test]
fn a_storm_of_joins_asks_for_few_key_frames() {
    let late = |ms: u64| Client { start: Duration::from_millis(ms), ..link(30.0).into() };
    for gap_ms in [0, 150] {
        let mut clients: Vec<Client> = vec![link(30.0).into(), link(30.0).into()];
        clients.extend((0..8).map(|n| late(5_000 + n * gap_ms)));
        let length = Duration::from_secs(8);
        let outcome = call(clients, ServerConfig::default(), length);
        assert_eq!(outcome.ended, vec![None; 10]);
        for client in 0..2 {
            let keys = outcome.encoded[client].iter();
            let keys = keys.filter(|r| r.track == Track::Camera && r.is_key && r.at >= at(5_000));
            // Eight joins within 1.2 s: one at once, then one each half second.
            let bound = 2 + 8 * gap_ms / 500 + 1;
            let keys = keys.count() as u64;
            assert!(keys <= bound, "{keys} key frames, gap {gap_ms} ms");
        }
        // And everybody saw the first two within a second.
        for client in 2..10 {
            let joined = 5_000 + (client as u64 - 2) * gap_ms;
            for source in 0..2 {
                let first = shown(&outcome, client, source, Track::Camera)[0];
                let wait = first - Duration::from_millis(joined);
                assert!(wait < Duration::from_millis(1_000), "client {client} waited {wait:?}");
            }
        }
    }
}
