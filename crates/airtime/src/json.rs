//! The figures for programs: JSON and CSV.

use std::fmt::Write as _;

use airlane_capture::{Airtime, Use};
use serde::Serialize;

use super::figures::{granted, malformed, shares};
use super::gather::Gathered;
use super::grants::{Grant, Kept};

#[derive(Serialize)]
struct Whole {
    source: String,
    span_s: f64,
    transmissions: u64,
    frames: u64,
    damaged_frames: u64,
    malformed_records: u64,
    rate_assumed: u64,
    clock_steps_back: u64,
    clock_jumps: u64,
    clock_unusable: u64,
    interfaces: usize,
    foreign_records: u64,
    is_cut: bool,
    dropped: u64,
    channels_mhz: Vec<u16>,
    frames_by_type: Vec<OfType>,
    /// `null` where more was in the air than there was time.
    utilisation: Option<f64>,
    bare_utilisation: Option<f64>,
    is_impossible: bool,
    air: AirParts,
    active_stations_mean: f64,
    active_stations_most: usize,
    stations: Vec<Station>,
    further_stations: Directed,
    not_decoded: Directed,
    over_time: OverTime,
}

#[derive(Serialize)]
struct OfType {
    #[serde(rename = "type")]
    kind: u8,
    subtype: u8,
    frames: u64,
}

#[derive(Serialize)]
struct AirParts {
    charged_s: f64,
    heard_s: f64,
    announced_s: f64,
    answered_s: f64,
    gaps_s: f64,
    contention_s: f64,
}

impl AirParts {
    fn of(air: &Airtime) -> Self {
        Self {
            charged_s: air.with_contention().as_secs_f64(),
            heard_s: air.heard.as_secs_f64(),
            announced_s: air.announced.as_secs_f64(),
            answered_s: air.answered.as_secs_f64(),
            gaps_s: air.gaps.as_secs_f64(),
            contention_s: air.contention.as_secs_f64(),
        }
    }
}

#[derive(Serialize)]
struct Directed {
    attempts: u64,
    unanswered: u64,
    frames: u64,
    retries: u64,
    bytes: u64,
    inferred_bytes: u64,
    phy_rate_bps: Option<f64>,
    rates: Vec<RateUse>,
    air: AirParts,
}

#[derive(Serialize)]
struct RateUse {
    rate: String,
    rate_bps: f64,
    air_s: f64,
}

impl Directed {
    fn of(used: &Use) -> Self {
        Self {
            attempts: used.attempts,
            unanswered: used.unanswered,
            frames: used.frames,
            retries: used.retries,
            bytes: used.bytes,
            inferred_bytes: used.inferred_bytes,
            phy_rate_bps: used.rate_bps(),
            rates: used
                .vectors
                .iter()
                .map(|(vector, air)| RateUse {
                    rate: vector.to_string(),
                    rate_bps: vector.rate().as_f64(),
                    air_s: air.as_secs_f64(),
                })
                .collect(),
            air: AirParts::of(&used.air),
        }
    }
}

#[derive(Serialize)]
struct Station {
    address: String,
    is_access_point: bool,
    network: Option<String>,
    frames_sent: u64,
    signal_dbm: Option<f64>,
    charged_s: f64,
    down: Directed,
    up: Directed,
    other: Directed,
    /// Rate that Cupid would grant; `null` if no data to it were made out, or not for long enough.
    cupid: Option<Cupid>,
}

/// Medians over the reports that an agent of Cupid on a station would make.
#[derive(Serialize)]
struct Cupid {
    reports: u64,
    granted_bps: f64,
    granted_as_published_bps: f64,
    utilisation: f64,
    utilisation_packed: f64,
    stations: f64,
    phy_rate_bps: Option<f64>,
    delta_bps: f64,
    delta_packed_bps: f64,
    delta_measured: f64,
    confidence: f64,
    over_time: CupidOverTime,
}

#[derive(Serialize)]
struct CupidOverTime {
    at_s: Vec<f64>,
    granted_bps: Vec<f32>,
    granted_as_published_bps: Vec<f32>,
}

impl Cupid {
    fn of(grant: &Grant) -> Self {
        let list = |of: fn(&Kept) -> f32| grant.kept().iter().map(of).collect();
        Self {
            reports: grant.count,
            granted_bps: grant.median(|kept| kept.rate_bps),
            granted_as_published_bps: grant.median(|kept| kept.paper_bps),
            utilisation: grant.median(|kept| kept.utilisation),
            utilisation_packed: grant.median(|kept| kept.packed),
            stations: grant.median(|kept| kept.stations),
            phy_rate_bps: grant.median_of(|kept| kept.phy_bps),
            delta_bps: grant.median(|kept| kept.delta_bps),
            delta_packed_bps: grant.median(|kept| kept.packed_delta_bps),
            delta_measured: grant.measured(),
            confidence: grant.median(|kept| kept.confidence),
            over_time: CupidOverTime {
                at_s: grant.kept().iter().map(|kept| kept.at_s).collect(),
                granted_bps: list(|kept| kept.rate_bps),
                granted_as_published_bps: list(|kept| kept.paper_bps),
            },
        }
    }
}

#[derive(Serialize)]
struct OverTime {
    bin_s: f64,
    charged_s: Vec<f64>,
    bare_s: Vec<f64>,
    inferred_s: Vec<f64>,
    active_stations: Vec<f64>,
    active_stations_bin_s: f64,
}

/// All figures, as one JSON text.
pub(super) fn json(label: &str, gathered: &Gathered) -> String {
    let (air, counts) = (&gathered.summary, &gathered.counts);
    let of_type = |(code, frames): (usize, &u64)| OfType {
        kind: (code >> 4) as u8,
        subtype: (code & 15) as u8,
        frames: *frames,
    };
    let stations = air.stations.iter().map(|s| Station {
        address: s.address.to_string(),
        is_access_point: s.is_access_point,
        network: s.network.map(|n| n.to_string()),
        frames_sent: s.frames_sent,
        signal_dbm: s.signal_dbm,
        charged_s: s.air().with_contention().as_secs_f64(),
        down: Directed::of(&s.down),
        up: Directed::of(&s.up),
        other: Directed::of(&s.other),
        cupid: gathered.grants.of(s.address).map(Cupid::of),
    });
    let whole = Whole {
        source: label.to_owned(),
        span_s: air.span.as_secs_f64(),
        transmissions: air.transmissions,
        frames: counts.undamaged(),
        damaged_frames: counts.damaged,
        malformed_records: malformed(gathered),
        rate_assumed: air.rate_assumed,
        clock_steps_back: counts.steps_back,
        clock_jumps: counts.jumps,
        clock_unusable: counts.clock_unusable,
        interfaces: air.interfaces,
        foreign_records: gathered.file.foreign,
        is_cut: gathered.file.is_cut,
        dropped: gathered.dropped,
        channels_mhz: counts.channels.keys().copied().collect(),
        frames_by_type: counts
            .frames
            .iter()
            .enumerate()
            .filter(|f| *f.1 > 0)
            .map(of_type)
            .collect(),
        utilisation: (!air.is_impossible()).then_some(air.utilisation),
        bare_utilisation: (!air.is_impossible()).then_some(air.utilisation_without_contention),
        is_impossible: air.is_impossible(),
        air: AirParts::of(&air.air),
        active_stations_mean: air.mean_active,
        active_stations_most: air.max_active,
        stations: stations.collect(),
        further_stations: Directed::of(&air.further),
        not_decoded: Directed::of(&air.unattributed),
        over_time: OverTime {
            bin_s: air.bin.as_secs_f64(),
            charged_s: air.over_time.with_contention.values().to_vec(),
            bare_s: air.over_time.without_contention.values().to_vec(),
            inferred_s: air.over_time.inferred.values().to_vec(),
            active_stations: air.active.clone(),
            active_stations_bin_s: air.active_bin.as_secs_f64(),
        },
    };
    serde_json::to_string_pretty(&whole).expect("plain fields")
}

/// The stations, a line per direction.
pub(super) fn csv(gathered: &Gathered) -> String {
    let mut out = String::from(
        "station,is_access_point,network,direction,charged_s,heard_s,announced_s,answered_s,gaps_s,\
         contention_s,attempts,unanswered,frames,retries,bytes,inferred_bytes,phy_rate_bps,signal_dbm,\
         cupid_granted_bps,cupid_granted_as_published_bps,cupid_utilisation,cupid_stations,\
         cupid_phy_rate_bps,cupid_delta_bps,cupid_confidence\n",
    );
    for share in shares(gathered) {
        let (used, station) = (share.used, share.station);
        let air = AirParts::of(&used.air);
        let text = |value: Option<String>| value.unwrap_or_default();
        writeln!(
            out,
            "{},{},{},{},{:.9},{:.9},{:.9},{:.9},{:.9},{:.9},{},{},{},{},{},{},{},{},{}",
            share.who,
            station.is_some_and(|s| s.is_access_point),
            text(station.and_then(|s| s.network).map(|n| n.to_string())),
            share.direction,
            air.charged_s,
            air.heard_s,
            air.announced_s,
            air.answered_s,
            air.gaps_s,
            air.contention_s,
            used.attempts,
            used.unanswered,
            used.frames,
            used.retries,
            used.bytes,
            used.inferred_bytes,
            text(used.rate_bps().map(|rate| format!("{rate:.0}"))),
            text(station.and_then(|s| s.signal_dbm).map(|dbm| format!("{dbm:.1}"))),
            granted(gathered, &share).map_or_else(|| ",".repeat(6), cupid_cells),
        )
        .expect("a String takes it");
    }
    out
}

/// The cells of a line that are about what Cupid would grant.
fn cupid_cells(grant: &Grant) -> String {
    let Cupid { utilisation, stations, confidence, .. } = Cupid::of(grant);
    let phy = grant.median_of(|kept| kept.phy_bps).map(|bps| format!("{bps:.0}"));
    format!(
        "{:.0},{:.0},{utilisation:.4},{stations},{},{:.0},{confidence:.4}",
        grant.median(|kept| kept.rate_bps),
        grant.median(|kept| kept.paper_bps),
        phy.unwrap_or_default(),
        grant.median(|kept| kept.delta_bps),
    )
}
