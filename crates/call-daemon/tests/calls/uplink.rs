//! Participants whose uplink becomes slower than their video.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::Rate;
use airlane_call_daemon::CallLimits;
use airlane_call_daemon::client::{ClientSummary, Clip, ReceivedSummary, SendQueue};
use airlane_net::link::{RateProfile, Supply};
use airlane_net::queue::{Limit, QueueSpec};
use airlane_net::{Access, LinkAccess, Way};

use crate::world::{Disturbance, Member, Outcome, call, clip, layered_clip};

const S: Duration = Duration::from_secs(1);
/// Bitrate of the video, and rate of the uplink but for a fall to a fifth.
const VIDEO_KBPS: u32 = 900;
const UPLINK_MBPS: f64 = 1.5;
/// Time of the fall, and of the end of it.
const FALL: [Duration; 2] = [Duration::from_secs(20), Duration::from_secs(23)];
const LENGTH: Duration = Duration::from_secs(40);

/// An uplink that falls to a fifth for 3 s, and a modem that holds half a second of it.
fn uplink() -> Access {
    let rate = |share: f64| Rate::from_mbps(UPLINK_MBPS * share);
    let steps = [(Duration::ZERO, rate(1.0)), (FALL[0], rate(0.2)), (FALL[1], rate(1.0))];
    let profile = RateProfile::new(&steps, None).unwrap();
    let queue = QueueSpec::DropTail(Limit::Bytes((UPLINK_MBPS * 1e6 / 16.0) as u64));
    let up = Way::new(Supply::Profile(Arc::new(profile)), queue);
    let down = Way::new(Rate::from_mbps(20.0), QueueSpec::DropTail(Limit::Packets(250)));
    Access::Link(LinkAccess { down, up })
}

/// Summaries of a participant behind that uplink and of another who watches it.
fn watch(video: Arc<Clip>, queue: SendQueue) -> (ClientSummary, ReceivedSummary) {
    let members = vec![
        Member::new(&[], LENGTH).sending(video).on(uplink()).queueing(queue),
        Member::new(&[], LENGTH),
    ];
    let limits = CallLimits { is_coordinated: false, ..CallLimits::default() };
    let outcomes = call(members, limits, Disturbance::Nothing);
    let [sender, viewer] = <[Outcome; 2]>::try_from(outcomes).unwrap().map(Outcome::unwrap);
    assert_eq!((&sender.failure, &viewer.failure), (&None, &None));
    let of = viewer.received.into_iter().next().unwrap();
    println!(
        "{queue:?}: sent {}, dropped {}, shown {} at {:.1} fps, {} freezes {:.1} s, delay {:.0} {:.0} {:.0} ms",
        sender.sent_frames,
        sender.dropped_frames,
        of.frames,
        of.frame_rate,
        of.freezes,
        of.frozen_s,
        of.delay_p50_s * 1e3,
        of.delay_p95_s * 1e3,
        of.delay_p99_s * 1e3,
    );
    (sender, of)
}

#[test]
fn a_slow_uplink_costs_layers_and_not_time() {
    let video = || layered_clip(VIDEO_KBPS);
    let (paced, waiting) = watch(video(), SendQueue::Pacer);
    let (sender, fresh) = watch(video(), SendQueue::Octopus);
    assert_eq!(paced.dropped_frames, 0);
    assert!((20..200).contains(&sender.dropped_frames), "{sender:?}");
    assert!(fresh.delay_p95_s < 0.3 * waiting.delay_p95_s, "{fresh:?} {waiting:?}");
    assert!(fresh.delay_p99_s < 0.75 * waiting.delay_p99_s, "{fresh:?} {waiting:?}");
    assert_eq!(sender.sent_frames + sender.dropped_frames, paced.sent_frames);
    assert!(fresh.freezes <= waiting.freezes, "{fresh:?} {waiting:?}");
}

#[test]
fn video_without_layers_does_not_grow_old() {
    let (_, waiting) = watch(clip(VIDEO_KBPS), SendQueue::Pacer);
    let (_, fresh) = watch(clip(VIDEO_KBPS), SendQueue::Octopus);
    assert!(fresh.delay_p99_s <= waiting.delay_p99_s, "{fresh:?} {waiting:?}");
}

#[test]
fn nothing_is_dropped_where_there_is_room() {
    let members = vec![
        Member::new(&[], 10 * S).sending(layered_clip(VIDEO_KBPS)).queueing(SendQueue::Octopus),
        Member::new(&[], 10 * S),
    ];
    let outcomes = call(members, CallLimits::default(), Disturbance::Nothing);
    let sender = outcomes[0].as_ref().unwrap();
    assert!(sender.sent_frames > 230 && sender.dropped_frames == 0, "{sender:?}");
}
