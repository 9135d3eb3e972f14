//! V as players send it: what is lost on the way, what a server makes of it.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crate::common::{abr, comyco, normalisation, setting};
use airlane_abr::TitleModel;
use airlane_base::{Seed, Time};
use airlane_media::corpus::Corpus;
use airlane_media::synthetic;
use airlane_minerva::curve::sustaining_rate_bps;
use airlane_minerva::value::{Ahead, MAX_BYTES, WireError};
use airlane_minerva::{
    Config, Minerva, OnDemand, Progress, Request, SentCurve, Update, ValueFunction,
};
use proptest::prelude::*;
use rand::RngExt;

/// Mean error of curves of random requests, and the length of their texts: mean and most.
fn loss(settings: &[Arc<TitleModel>], curves: usize) -> (f64, f64, usize) {
    let mut rng = Seed(5).rng();
    let (mut sum, mut text, mut longest) = (0.0, 0.0, 0);
    for _ in 0..curves {
        let s = &settings[rng.random_range(0..settings.len())];
        let direct = OnDemand::new(s.clone(), abr(), 5);
        let (chunk, rung) = (rng.random_range(0..s.chunks() - 1), rng.random_range(0..s.rungs()));
        let held = rng.random_range(0.0..40.0);
        let sent = SentCurve::sample(s, &direct, chunk, rung, held).unwrap().to_text();
        text += sent.len() as f64 / curves as f64;
        longest = longest.max(sent.len());
        let curve = SentCurve::from_text(&sent).unwrap();
        let top = sustaining_rate_bps(s, s.rungs() - 1).min(8e6);
        for _ in 0..50 {
            let buffer_s = rng.random_range(4.0..=(held + 4.0).min(40.0));
            let at = Ahead { next_chunk: chunk + 1, last_rung: rung, buffer_s };
            let rate = rng.random_range(1e5..top);
            let off = curve.value(at, rate).unwrap() - direct.value(at, rate).unwrap();
            sum += off.abs() / (50 * curves) as f64;
        }
    }
    println!("mean error {sum:.3}; characters mean {text:.0}, most {longest}");
    (sum, text, longest)
}

#[test]
fn a_curve_of_two_kilobytes_says_what_v_is() {
    let corpus = Corpus::embedded().unwrap();
    let settings: Vec<_> = corpus.videos().cloned().map(setting).collect();
    let (error, mean, most) = loss(&settings, 60);
    assert!(error < 0.5 && mean < 1_800.0 && most < 2_500, "{error} {mean} {most}");
}

#[test]
fn a_curve_of_two_kilobytes_says_what_v_is_on_real_tables() {
    let Some(dir) = comyco() else { return };
    let corpus = Corpus::load_dir(dir).unwrap();
    let settings: Vec<_> = corpus.videos().cloned().map(setting).collect();
    let (error, mean, most) = loss(&settings, 60);
    assert!(error < 0.5 && mean < 1_800.0 && most < 2_500, "{error} {mean} {most}");
}

fn flat() -> Arc<TitleModel> {
    setting(synthetic::flat("flat", 20, 0.5e6))
}

#[test]
fn a_curve_is_about_one_request() {
    let s = flat();
    let direct = OnDemand::new(s.clone(), abr(), 5);
    let curve = SentCurve::sample(&s, &direct, 7, 3, 11.0).unwrap();
    assert_eq!((curve.next_chunk(), curve.rung()), (8, 3));
    assert_eq!(SentCurve::from_bytes(&curve.to_bytes()), Ok(curve.clone()));
    assert_eq!(SentCurve::from_text(&curve.to_text()), Ok(curve.clone()));
    let at = Ahead { next_chunk: 8, last_rung: 3, buffer_s: 9.0 };
    assert!(curve.value(at, 2e6).is_some());
    assert_eq!(curve.value(Ahead { next_chunk: 9, ..at }, 2e6), None);
    assert_eq!(curve.value(Ahead { last_rung: 2, ..at }, 2e6), None);
    assert_eq!(curve.value(Ahead { buffer_s: f64::NAN, ..at }, 2e6), None);
    assert_eq!(curve.value(at, f64::NAN), None);
    // What the player holds, with the chunk that it asks for, is the most that there can be.
    let more = |b: f64| curve.value(Ahead { buffer_s: b, ..at }, 2e6);
    assert_eq!(more(15.0), more(99.0));
    for (chunk, rung) in [(19, 3), (20, 3), (7, 8), (usize::MAX - 1, 3)] {
        assert_eq!(SentCurve::sample(&s, &direct, chunk, rung, 11.0), None, "{chunk} {rung}");
    }
    assert!(SentCurve::sample(&s, &direct, 7, 3, 0.0).is_some());
}

#[test]
fn what_is_no_curve_is_refused() {
    assert_eq!(SentCurve::from_text("AQ="), Err(WireError::Text));
    assert_eq!(SentCurve::from_text(""), Err(WireError::Truncated));
    let long = "A".repeat(2 * MAX_BYTES);
    assert_eq!(SentCurve::from_text(&long), Err(WireError::Length(9_000)));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[A-Za-z0-9_-]{0,400}", any in any::<String>()) {
        let _ = SentCurve::from_text(&any);
        if let Ok(curve) = SentCurve::from_text(&text) {
            prop_assert_eq!(curve.to_text(), text);
        }
    }

    #[test]
    fn a_damaged_curve_is_refused_or_harmless(
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        buffer_s in -10.0..100.0_f64,
        rate in 1.0..1e9_f64,
    ) {
        static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let s = flat();
            let direct = OnDemand::new(s.clone(), abr(), 5);
            SentCurve::sample(&s, &direct, 7, 3, 2.0).unwrap().to_bytes()
        });
        let mut bytes = WHOLE.clone();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(c) = SentCurve::from_bytes(&bytes) {
            let ahead = Ahead { next_chunk: c.next_chunk(), last_rung: c.rung(), buffer_s };
            prop_assert!(c.value(ahead, rate).unwrap().is_finite());
        }
    }
}

/// A session at 2 Mbit/s whose player sends a curve with every request, or none.
fn session(
    s: &Arc<TitleModel>,
    curve: impl Fn(usize, usize, f64) -> Option<SentCurve>,
) -> Vec<Update> {
    let f = normalisation(std::slice::from_ref(s), 2.0);
    let mut m = Minerva::new(s.clone(), abr(), f, Config::default());
    let mut now = Time::ZERO;
    let mut progress = Progress { min_rtt: Duration::from_millis(20), ..Progress::default() };
    let mut updates = Vec::new();
    for chunk in 0..18 {
        let held = (2.0 * chunk as f64).min(20.0);
        let request = Request {
            chunk,
            rung: 3,
            buffer: Duration::from_secs_f64(held),
            stalled: Duration::ZERO,
            after_seek: false,
        };
        m.on_request(now, request, progress);
        if let Some(curve) = curve(chunk, 3, held) {
            m.on_curve(curve);
        }
        let until = now + Duration::from_secs(2);
        while let Some(at) = m.next_event().filter(|t| *t < until) {
            progress.busy += at - now;
            progress.acked_bytes += (2e6 * (at - now).as_secs_f64() / 8.0) as u64;
            now = at;
            updates.extend(m.poll(now, progress));
        }
        progress.busy += until - now;
        now = until;
    }
    updates
}

#[derive(Debug)]
struct Liar;

impl ValueFunction for Liar {
    fn value(&self, _: Ahead, _: f64) -> Option<f64> {
        Some(-300.0)
    }
}

#[test]
fn a_server_reads_the_curve_instead_of_its_own_v() {
    let s = setting(synthetic::corpus(3, 20, Seed(2)).remove(1));
    let direct = OnDemand::new(s.clone(), abr(), 5);
    let own = session(&s, |_, _, _| None);
    let sent = session(&s, |chunk, rung, held| SentCurve::sample(&s, &direct, chunk, rung, held));
    assert!(own.len() > 50 && own.len() == sent.len());
    assert_ne!(own, sent, "the curve was read");
    let value = |u: &Update| u.utility.value;
    let off: f64 = own.iter().zip(&sent).map(|(a, b)| (value(a) - value(b)).abs()).sum();
    assert!(off / (own.len() as f64) < 0.5, "{}", off / own.len() as f64);
    // A curve for another request is not read.
    let other =
        session(&s, |chunk, rung, held| SentCurve::sample(&s, &Liar, chunk + 1, rung, held));
    assert_eq!(own, other);
}

#[test]
fn a_low_value_buys_little() {
    let s = setting(synthetic::corpus(3, 20, Seed(2)).remove(1));
    let honest = session(&s, |_, _, _| None);
    let liar = session(&s, |chunk, rung, held| SentCurve::sample(&s, &Liar, chunk, rung, held));
    let best = (0..20).flat_map(|c| s.quality(c)).fold(0.0_f64, |m, q| m.max(*q));
    for u in liar.iter().filter(|u| u.chunk > 4) {
        // Nothing stalls at 2 Mbit/s on rung 3 with this buffer.
        let chunks = u.chunk + 1..(u.chunk + 6).min(20);
        let staying = chunks.clone().map(|c| s.quality(c)[3]).sum::<f64>() / chunks.len() as f64;
        assert!((u.utility.value - (staying - 0.1 * best)).abs() < 1e-9, "{u:?}");
    }
    let weight = |updates: &[Update]| updates.last().unwrap().weight;
    println!("weight {:.2} instead of {:.2}", weight(&liar), weight(&honest));
    assert!(weight(&liar) > weight(&honest) && weight(&liar) < 2.0 * weight(&honest));
}
