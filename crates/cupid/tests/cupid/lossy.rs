//! A flow of aggregates of which frames are lost and some collide, as its own station and as others hear it.

use std::time::Duration;

use airlane_base::{Rng, Seed, Time};
use airlane_cupid::{Direction, Estimate, EstimatorOptions};
use airlane_wifi::{
    Access, Address, Band, BlockAck, Frame, FrameKind, Heard, Response, Timing, What, mac,
};
use rand::RngExt;

use crate::air::{self, AP, he, mean, station};

const WINDOW: usize = 64;
const BYTES: u32 = 1_538;

/// What is made out of the flow's PPDUs.
#[derive(Clone, Copy, PartialEq)]
enum Hearing {
    /// Those frames that came: of the station that it is for.
    Own,
    /// All of them: of one near by.
    Near,
    /// Their PHY headers: of one far away.
    Far,
}

/// What was heard, what the flow is charged with, and the MPDUs that came, each counted once.
struct Run {
    records: Vec<Heard>,
    charged: Duration,
    came: u64,
}

/// Three seconds of aggregates of at most `most` frames, of which a share of frames is lost, and a share of
/// PPDUs collides, and is heard as energy.
fn flow(ears: Hearing, most: usize, lost: f64, collided: f64, seed: u64) -> Run {
    let (timing, access) = (Timing::of(Band::Ghz5), Access::BEST_EFFORT);
    let mut rng: Rng = Seed(seed).split("lossy").rng();
    let (vector, control) = (he(4), he(4).response());
    let mut run = Run { records: Vec::new(), charged: Duration::ZERO, came: 0 };
    // Numbers that wait, and whether they were sent before.
    let mut pending: Vec<(u16, bool)> = Vec::new();
    let (mut next, mut now) = (0_u16, Time::ZERO);
    while now < Time::from_millis(3_000) {
        let first = pending.first().map_or(next, |(number, _)| *number);
        while pending.len() < most && usize::from(next.wrapping_sub(first)) < WINDOW {
            pending.push((next, false));
            next = next.wrapping_add(1);
        }
        now = now + timing.aifs(&access) + timing.slot * rng.random_range(0..=15_u32);
        let duration = vector.duration(pending.len() as u32 * mac::in_aggregate(BYTES));
        let answer = control.duration(Response::BlockAck64.bytes());
        run.charged += duration + timing.sifs + answer + airlane_wifi::contention(&timing, &access);
        let collides = rng.random::<f64>() < collided;
        let came: Vec<bool> =
            pending.iter().map(|_| !collides && rng.random::<f64>() >= lost).collect();
        let blank = Frame {
            bssid: Some(AP),
            is_down: true,
            remaining: timing.sifs + answer,
            ..Frame::new(FrameKind::QosData, station(0), Some(AP), BYTES)
        };
        let frames = pending.iter().zip(&came).filter(|(_, came)| ears == Hearing::Near || **came);
        let frames: Vec<Frame> = frames
            .map(|((number, was_sent), _)| Frame {
                is_retry: *was_sent,
                sequence: number & 0xfff,
                ..blank
            })
            .collect();
        let is_answered = came.contains(&true);
        let what = match ears {
            _ if collides || (ears == Hearing::Own && !is_answered) => What::Energy,
            Hearing::Far => What::Header(vector),
            _ => What::Frames { vector, is_aggregate: true, frames },
        };
        run.records.push(Heard { at: now, duration, what });
        now = now + duration + timing.sifs;
        if is_answered {
            let mut bits = [0; 4];
            for ((number, _), _) in pending.iter().zip(&came).filter(|(_, came)| **came) {
                let bit = usize::from(number.wrapping_sub(first));
                bits[bit / 64] |= 1 << (bit % 64);
            }
            let (kind, bytes) = (FrameKind::BlockAck, Response::BlockAck64.bytes());
            let block_ack = Some(BlockAck { start: first & 0xfff, came: bits });
            let frame = Frame { block_ack, ..Frame::new(kind, AP, Some(station(0)), bytes) };
            let what = What::Frames { vector: control, is_aggregate: false, frames: vec![frame] };
            run.records.push(Heard { at: now, duration: answer, what });
        }
        now += answer;
        run.came += came.iter().filter(|came| **came).count() as u64;
        let mut outcomes = came.into_iter();
        pending.retain(|_| outcomes.next() == Some(false));
        pending.iter_mut().for_each(|(_, was_sent)| *was_sent = true);
    }
    run
}

impl Run {
    /// Bits of payload that came.
    fn bits(&self) -> f64 {
        self.came as f64 * 8.0 * f64::from(BYTES - mac::mpdu(0, true) - 28)
    }

    /// The same the other way: the station sends to the access point, and hears all that it sends.
    fn turned(mut self) -> Self {
        let turn = |address: Address| if address == AP { station(0) } else { AP };
        for heard in &mut self.records {
            if let What::Frames { frames, .. } = &mut heard.what {
                for frame in frames {
                    frame.receiver = turn(frame.receiver);
                    frame.transmitter = frame.transmitter.map(turn);
                    frame.is_down = !frame.is_down && frame.kind == FrameKind::BlockAck;
                }
            }
        }
        self
    }
}

/// Estimates of a station, of the second and third second.
fn estimates(run: &Run, own: Address) -> Vec<Estimate> {
    estimates_with(run, EstimatorOptions { bssid: Some(AP), ..EstimatorOptions::new(own) })
}

fn estimates_with(run: &Run, options: EstimatorOptions) -> Vec<Estimate> {
    air::estimates(&run.records, options, Time::from_millis(40)).split_off(24)
}

/// What share of the air the station is charged with, in the mean.
fn share(estimates: &[Estimate]) -> f64 {
    mean(estimates.iter().map(|estimate| {
        let own = estimate.shares.iter().find(|share| share.address == station(0));
        own.map_or(0.0, |share| share.airtime)
    }))
}

#[test]
fn attempts_that_failed_as_a_whole_are_charged_to_who_sends_them_again() {
    println!("lost  collided  own share  near  of     own delta, of the true one");
    for (lost, collided) in [(0.0, 0.1), (0.33, 0.0), (0.33, 0.1), (0.33, 0.2), (0.1, 0.05)] {
        let run = |ears| flow(ears, WINDOW, lost, collided, 7);
        let (own, near) = (run(Hearing::Own), run(Hearing::Near));
        let truth = own.charged.as_secs_f64() / 3.0;
        let found = estimates(&own, station(0));
        let (own_share, near_share) = (share(&found), share(&estimates(&near, station(1))));
        let delta = mean(found.iter().filter_map(|e| e.delta).map(|delta| delta.as_f64()));
        let delta = delta / (own.bits() / own.charged.as_secs_f64());
        println!(
            "{lost:.2}  {collided:.2}      {own_share:.3}      {near_share:.3} {truth:.3}  {delta:.3}"
        );
        // An attempt with nothing new in it, as where the window stands still, is told by no number.
        let most = 0.015 + 0.5 * collided;
        assert!((own_share / truth - 1.0).abs() < most, "{own_share} of {truth}");
        assert!((near_share / truth - 1.0).abs() < most, "{near_share} of {truth}");
        assert!((delta - 1.0).abs() < most, "{delta}");
    }
}

#[test]
fn who_makes_out_headers_alone_knows_how_full_aggregates_are() {
    for most in [4, 16, 64] {
        let packed = |ears| {
            let found = estimates(&flow(ears, most, 0.0, 0.0, 9), station(1));
            assert!(found.iter().all(|estimate| estimate.stations == 1));
            mean(found.iter().map(|estimate| estimate.packed / estimate.utilisation))
        };
        let (near, far) = (packed(Hearing::Near), packed(Hearing::Far));
        assert!(most == 64 || near < 0.95, "{near}: aggregates of {most} are not full");
        assert!((far / near - 1.0).abs() < 0.02, "aggregates of {most}: {far}, near {near}");
    }
}

#[test]
fn what_a_sender_has_to_send_again_is_no_payload() {
    // The own station hears all frames that it sends, and the access point's answers.
    let run = flow(Hearing::Near, WINDOW, 0.33, 0.05, 5).turned();
    let options = EstimatorOptions {
        bssid: Some(AP),
        direction: Direction::Up,
        ..EstimatorOptions::new(station(0))
    };
    let found = estimates_with(&run, options);
    let right = run.bits() / run.charged.as_secs_f64();
    let delta = mean(found.iter().filter_map(|e| e.delta).map(|delta| delta.as_f64()));
    assert!((delta / right - 1.0).abs() < 0.03, "{delta} of {right}");
}
