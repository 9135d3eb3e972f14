//! Keys of a WiFi and of its stations.

use std::time::Duration;

use airlane_base::Rate;
use airlane_net::air::{Descriptors, Protection, RateControl, SchedulerKind};
use airlane_wifi::{Access as EdcaParams, Format, Guard, Vector, Width};

use super::super::bounds::range;
use super::super::reader::{NONE, Reader};
use super::super::types::*;
use super::queue::queue;
use super::signal::{INTERFERENCE, POWER, channel, interferer, place, signal};
use crate::words;

#[derive(Clone, Copy, PartialEq)]
enum SchedulerWord {
    RoundRobin,
    PacketDeficit,
    Airtime,
    AirtimeBoth,
    Fifo,
    LongestQueue,
    FullAggregate,
    MaximumRate,
}

#[derive(Clone, Copy, PartialEq)]
enum RateWord {
    Ideal,
    Minstrel,
}

#[derive(Clone, Copy, PartialEq)]
enum Standard {
    A,
    N,
    Ac,
    Ax,
}

words! {
    SchedulerWord: "round-robin" => Self::RoundRobin, "packet-deficit" => Self::PacketDeficit,
        "airtime" => Self::Airtime, "airtime-both" => Self::AirtimeBoth, "fifo" => Self::Fifo,
        "longest-queue" => Self::LongestQueue, "full-aggregate" => Self::FullAggregate,
        "maximum-rate" => Self::MaximumRate;
    RateWord: "ideal" => Self::Ideal, "minstrel" => Self::Minstrel;
    Standard: "a" => Self::A, "n" => Self::N, "ac" => Self::Ac, "ax" => Self::Ax;
}

/// Packets that a queue of an access point or a station holds unless a scenario says otherwise.
const PACKETS: u64 = 1_000;

/// The table `wifi`.
pub(super) fn wifi(r: &mut Reader<'_>) -> Wifi {
    let standard = r.word("standard", Standard::Ax, "802.11a, n, ac or ax.");
    let format = match standard {
        Standard::A => Format::Ofdm,
        Standard::N => Format::Ht,
        Standard::Ac => Format::Vht,
        Standard::Ax => Format::He,
    };
    let width_mhz = r.count("width_mhz", (20, 160), 80, "Width of the channel: 20, 40, 80 or 160.");
    let width = Width::of_mhz(width_mhz as u32).unwrap_or_else(|| {
        r.fail("width_mhz", format!("found {width_mhz}"), "expected 20, 40, 80 or 160");
        Width::Mhz20
    });
    let streams = r.count("streams", (1, 4), 2, "Spatial streams at most.") as u8;
    let guard_s = r.number("guard_s", range(4e-7, 3.2e-6, "8e-7"), 8e-7, "Guard interval.");
    let guards = [Guard::Ns400, Guard::Ns800, Guard::Ns1600, Guard::Ns3200];
    let guard = guards.into_iter().find(|g| g.nanos() == (guard_s * 1e9).round() as u64);
    let guard = guard.unwrap_or_else(|| {
        r.fail("guard_s", format!("found {guard_s}"), "expected 4e-7, 8e-7, 1.6e-6 or 3.2e-6");
        Guard::Ns800
    });
    let lowest = Vector { format, mcs: 0, streams: 1, width, guard };
    if !lowest.is_valid() {
        let found = format!("found {width_mhz} MHz and a guard interval of {guard_s} s");
        r.fail("standard", found, "expected a width and guard interval that the standard has");
    }
    let window =
        r.count("window", (1, 256), 64, "Frames in a block-ack window and an aggregate; 1: none.");
    let max_air = r.time(
        "most_air_s",
        range(1e-4, 5.484e-3, "0.005484"),
        5.484e-3,
        "A PPDU is in the air for at most so long.",
    );
    let max_amsdu = r.count(
        "amsdu_bytes",
        (0, 11_454),
        0,
        "Packets are put together to MSDUs of at most so many bytes; 0: one packet each.",
    );
    let retries = r.count("retries", (0, 60), 7, "Attempts for a frame after the first.");
    let rts = r.count_or_none(
        "rts_bytes",
        (0, 1 << 23),
        "never",
        "Exchanges whose PSDU has at least so many bytes begin with RTS and CTS.",
    );
    let is_encrypted =
        r.flag_or_none("sealed", "true", "Frames are encrypted (CCMP), which adds 16 bytes.");
    let has_categories = r.flag_or_none(
        "categories",
        "false",
        "DSCP chooses the access category; otherwise all packets are best effort.",
    );
    // An access point may go on a slot after SIFS, a station two.
    let contention = contention(r, 1);
    let hold = r.time_or_none(
        "hold_s",
        range(0.0, 0.02, "0.01"),
        "0.01",
        "How long packets are held for an aggregate to fill, of the scheduler \"full-aggregate\".",
    );
    let word = r.word(
        "scheduler",
        SchedulerWord::RoundRobin,
        "Which station the access point serves next: one transmit opportunity after the other, the same \
         bytes for each, the same airtime (sent, or both ways), in the order of arrival, who has most \
         packets waiting, who fills an aggregate (others once nobody does), who is served fastest.",
    );
    if hold.is_some() && word != SchedulerWord::FullAggregate {
        r.fail("hold_s", "found with another scheduler", "expected scheduler = \"full-aggregate\"");
    }
    let scheduler = match word {
        SchedulerWord::RoundRobin => SchedulerKind::RoundRobin,
        SchedulerWord::PacketDeficit => SchedulerKind::PacketDeficit,
        SchedulerWord::Airtime => SchedulerKind::AirtimeDeficit { both: false },
        SchedulerWord::AirtimeBoth => SchedulerKind::AirtimeDeficit { both: true },
        SchedulerWord::Fifo => SchedulerKind::Fifo,
        SchedulerWord::LongestQueue => SchedulerKind::LongestQueue,
        SchedulerWord::FullAggregate => {
            SchedulerKind::FullAggregate { hold: hold.unwrap_or(Duration::from_millis(10)) }
        }
        SchedulerWord::MaximumRate => SchedulerKind::MaximumRate,
    };
    let pool = r.count_or_none(
        "pool_packets",
        (1, 1 << 24),
        "each queue's own limit",
        "Packets at most in all queues of the access point together.",
    );
    let rate_control = r.word(
        "rate_control",
        RateWord::Ideal,
        "How the MCS is chosen: what is best for the SNR of the moment, or by what came of earlier frames \
         (Minstrel-HT).",
    );
    let shares = r.name_or_none(
        "channel",
        "one of its own",
        "The name of its channel: WiFis that name the same one share it, as the first says it is.",
    );
    let channel = channel(r);
    let interferers = r.list("interference", INTERFERENCE, interferer);
    let slow_below = r.rate_or_none(
        "slow_below_bps",
        range(0.0, 1e12, "12e6"),
        "12e6",
        "CoDel lets 50 ms stand for 300 ms in front of stations that frames go to at less than this.",
    );
    let descriptors = r.count_or_none(
        "descriptors",
        (1, 1 << 20),
        "as many as there are packets",
        "Packets at most that are handed to the access point's hardware, where they wait behind its queue.",
    );
    let is_shared = r.flag_or_none(
        "descriptors_shared",
        "false",
        "So many of all stations together, with one queue in front of them; otherwise of each.",
    );
    if is_shared == Some(true) && descriptors.is_none() {
        r.fail("descriptors_shared", "found without a number", "expected `descriptors` beside it");
    }
    let descriptors = match (descriptors, is_shared.unwrap_or(false)) {
        (None, _) => Descriptors::Unlimited,
        (Some(most), false) => Descriptors::PerStation(most as usize),
        (Some(most), true) => Descriptors::Shared(most as usize),
    };
    let has_beacons = r.flag_or_none(
        "beacons",
        "false",
        "The access point sends beacons, every 102.4 ms at the lowest rate.",
    );
    let position = place(r, "Where the access point stands, to the east.", "And to the north.");
    let power_dbm = r.number("power_dbm", range(-20.0, 36.0, "20"), 20.0, POWER);
    let snr_to_others_db = r.number(
        "others_db",
        range(-60.0, 90.0, "30"),
        40.0,
        "SNR between the access point and radios of other networks, where no places say it.",
    );
    let down = r.section("queue", "The queue for each station at the access point.", |r| {
        queue(r, QueueLimit::Packets(PACKETS))
    });
    let host = r.section("station", "A host on this access itself.", station);
    let (station, up) = (host.with_streams(streams), host.queue);
    Wifi {
        link: link_of(down, up),
        format,
        width,
        streams,
        guard,
        window: window as usize,
        max_air,
        max_amsdu: max_amsdu as u32,
        retries: retries as u8,
        protection: rts.map_or(Protection::Never, |bytes| Protection::From(bytes as u32)),
        is_encrypted: is_encrypted.unwrap_or(true),
        has_categories: has_categories.unwrap_or(false),
        contention,
        scheduler,
        pool_packets: pool.map(|packets| packets as usize),
        rate_control: match rate_control {
            RateWord::Ideal => RateControl::Ideal,
            RateWord::Minstrel => RateControl::Minstrel,
        },
        shares,
        channel,
        interferers,
        slow_below: slow_below.unwrap_or(Rate::from_bps(12_000_000)),
        descriptors,
        has_beacons: has_beacons.unwrap_or(false),
        position,
        power_dbm,
        snr_to_others_db,
        station,
    }
}

/// The table `station`, as it is read before its access point is known.
#[derive(Clone, Debug)]
pub(super) struct StationKeys {
    station: Station,
    /// The MCS, if it is fixed, and its streams, if they are said.
    mcs: Option<(u8, Option<u8>)>,
    /// The queue at the station.
    pub(super) queue: Queue,
}

impl StationKeys {
    /// The station, of an access point with so many streams.
    pub(super) fn with_streams(&self, streams: u8) -> Station {
        let mcs = self.mcs.map(|(mcs, own)| (mcs, own.unwrap_or(streams)));
        Station { mcs, ..self.station.clone() }
    }
}

/// The table `station`.
pub(super) fn station(r: &mut Reader<'_>) -> StationKeys {
    let signal = signal(r);
    let db = |lo| range(lo, 90.0, "30");
    let up_db = r.number(
        "up_db",
        db(-90.0),
        0.0,
        "How much more power it sends with than its access point; less where negative.",
    );
    let snr_to_others_db = r.number(
        "others_db",
        db(-60.0),
        40.0,
        "SNR between it and other stations, where no places say it.",
    );
    let power_save = r.time_or_none(
        "sleep_after_s",
        range(1e-3, 1e4, "0.1"),
        "never",
        "It sleeps after so long without frames; what comes for it then waits for the next beacon.",
    );
    let contention = contention(r, 2);
    let mcs = r.count_or_none("mcs", (0, 11), "by `rate_control`", "The MCS, both ways.");
    let streams = r.count_or_none(
        "streams",
        (1, 4),
        "those of its access point",
        "Spatial streams of that MCS, both ways.",
    );
    if streams.is_some() && mcs.is_none() {
        r.fail("streams", "found without an MCS", "expected `mcs` beside it");
    }
    let queue =
        r.section("queue", "The queue at the station.", |r| queue(r, QueueLimit::Packets(PACKETS)));
    let mcs = mcs.map(|mcs| (mcs as u8, streams.map(|streams| streams as u8)));
    let station = Station { signal, up_db, snr_to_others_db, power_save, contention, mcs: None };
    StationKeys { station, mcs, queue }
}

/// The table `contention`, with an AIFSN of at least `min_aifsn`.
fn contention(r: &mut Reader<'_>, min_aifsn: u64) -> Option<EdcaParams> {
    let doc = "How best effort frames contend for the air (EDCA parameters), in place of what the standard has for them.";
    let default = EdcaParams::BEST_EFFORT;
    let access = r.table("contention", NONE, doc, |r| {
        let window = (1, 32_767);
        let doc = "Slots of silence, behind SIFS, before the backoff goes on.";
        let aifsn = r.count("aifsn", (min_aifsn, 15), default.aifsn.into(), doc);
        let doc = "First contention window: slots are drawn from 0 to this.";
        let cw_min = r.count("cw_min", window, default.cw_min.into(), doc);
        let doc = "Last contention window.";
        let cw_max = r.count("cw_max", window, default.cw_max.into(), doc);
        if cw_max < cw_min && !r.is_listing() {
            r.fail("cw_max", format!("found {cw_max}"), "expected at least `cw_min`");
        }
        let doc = "Longest transmit opportunity; 0: one exchange.";
        let txop = r.time("txop_s", range(0.0, 8.16e-3, "0.003008"), 0.0, doc);
        EdcaParams { aifsn: aifsn as u8, cw_min: cw_min as u16, cw_max: cw_max as u16, txop }
    });
    access.filter(|_| !r.is_listing())
}

/// A link that carries what the air leaves.
pub(super) fn link_of(down: Queue, up: Queue) -> Link {
    let way = |queue| Way {
        capacity: Capacity::Air,
        delay: Duration::ZERO,
        loss: None,
        jitter: Duration::ZERO,
        queue,
        handover: None,
    };
    Link { down: way(down), up: way(up) }
}

/// Gives stations that fix an MCS alone the streams of their access points; `keys` are those of each access.
pub(super) fn take_streams(accesses: &mut [Access], keys: &[Option<StationKeys>]) {
    for (i, keys) in keys.iter().enumerate() {
        let outer = accesses[i].behind.map(|outer| &accesses[outer].kind);
        let (Some(keys), Some(AccessKind::Wifi(wifi))) = (keys, outer) else { continue };
        let whole = keys.with_streams(wifi.streams);
        if let AccessKind::Station { station, .. } = &mut accesses[i].kind {
            *station = whole;
        }
    }
}

/// Checks stations against their access points: a station is behind a WiFi, nothing else is, and a fixed
/// MCS is one that the access point has.
pub(super) fn check(r: &Reader<'_>, accesses: &[Access]) {
    for (i, access) in accesses.iter().enumerate() {
        let outer = access.behind.map(|outer| &accesses[outer].kind);
        match (&access.kind, outer) {
            (AccessKind::Station { .. }, Some(AccessKind::Wifi(_))) => {}
            (AccessKind::Station { .. }, _) => {
                let found = match access.behind {
                    None => "missing",
                    Some(_) => "found an access that is no WiFi",
                };
                let expected = "expected the access of kind \"wifi\" whose station it is";
                r.fail_in("access", i, "behind", found, expected);
            }
            (_, Some(AccessKind::Wifi(_) | AccessKind::Station { .. })) => {
                let expected = "expected kind = \"station\": only stations are behind a WiFi";
                r.fail_in("access", i, "behind", "found a WiFi", expected);
            }
            _ => {}
        }
        let wifi = match (&access.kind, outer) {
            (AccessKind::Wifi(wifi), _) | (_, Some(AccessKind::Wifi(wifi))) => wifi,
            _ => continue,
        };
        let (AccessKind::Wifi(_) | AccessKind::Station { .. }) = &access.kind else { continue };
        let station = match &access.kind {
            AccessKind::Wifi(wifi) => &wifi.station,
            AccessKind::Station { station, .. } => station,
            AccessKind::Link(_) | AccessKind::Cell(_) | AccessKind::HalfDuplex { .. } => continue,
        };
        if let Some((mcs, streams)) = station.mcs {
            let Wifi { format, width, guard, .. } = **wifi;
            let vector = Vector { format, mcs, streams, width, guard };
            if !vector.is_valid() || streams > wifi.streams {
                let found =
                    format!("found MCS {mcs} with {streams} streams on \"{}\"", access.name);
                let expected = "expected what its access point has";
                r.fail_in("access", i, "station", found, expected);
            }
        }
    }
}
