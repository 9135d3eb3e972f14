//! The figures of a capture: by station and direction, and as a summary.

use airlane_capture::{AirSummary, Airtime, StationUse, Use};

use super::gather::Gathered;
use super::grants::Grant;
use airlane_judge::summary::{Row, RunEntry, Summary};

/// Share of the air: whose it was, in which direction, and its use.
pub(super) struct Share<'a> {
    pub(super) station: Option<&'a StationUse>,
    /// Station of the share, in words.
    pub(super) who: String,
    /// `down`, `up`, `other`.
    pub(super) direction: &'static str,
    pub(super) used: &'a Use,
}

/// A line per station and direction, those that used most first; at the end what nobody is charged with.
pub(super) fn shares(gathered: &Gathered) -> Vec<Share<'_>> {
    let summary = &gathered.summary;
    let mut shares = Vec::new();
    for station in &summary.stations {
        let directions = [("down", &station.down), ("up", &station.up), ("other", &station.other)];
        for (direction, used) in directions {
            if used.attempts > 0 {
                let who = station.address.to_string();
                shares.push(Share { station: Some(station), who, direction, used });
            }
        }
    }
    for (who, used) in
        [("further stations", &summary.further), ("not decoded", &summary.unattributed)]
    {
        if used.attempts > 0 {
            let who = who.to_owned();
            shares.push(Share { station: None, who, direction: "other", used });
        }
    }
    shares
}

/// Rate that Cupid would grant the station of a share, if the share is of what the station
/// receives.
pub(super) fn granted<'a>(gathered: &'a Gathered, share: &Share<'_>) -> Option<&'a Grant> {
    let station = share.station.filter(|_| share.direction == "down")?;
    gathered.grants.of(station.address)
}

/// The parts of the air in use, as shares of the span: at most 1 together, as contention, which is charged
/// with what it takes on average, gets what the others leave. `None` where they are longer than the span.
pub(super) fn shares_of_span(air: &AirSummary) -> Option<[(&'static str, f64); 5]> {
    let span = air.span.as_secs_f64();
    if span <= 0.0 || air.is_impossible() {
        return None;
    }
    let mut left = 1.0;
    Some(parts(&air.air).map(|(name, part)| {
        let share = (part.as_secs_f64() / span).min(left);
        left -= share;
        (name, share)
    }))
}

/// Share of the time in the air that was inferred.
pub(super) fn inferred(air: &Airtime) -> f64 {
    let bare = air.without_contention().as_secs_f64();
    if bare > 0.0 { air.inferred().as_secs_f64() / bare } else { 0.0 }
}

/// Everything that `summary.json` holds.
pub(super) fn summary(label: &str, gathered: &Gathered) -> Summary {
    let air = &gathered.summary;
    let mut summary = Summary::new(format!("airtime {label}"), Vec::new());
    summary.virtual_s = air.span.as_secs_f64();
    summary.runs.push(RunEntry {
        experiment: "airtime".to_owned(),
        case: label.to_owned(),
        scheme: "capture".to_owned(),
        seed: 0,
        packet_hash: None,
    });
    let mut row = |case: String, metric: &str, unit: &str, value: f64| {
        summary.rows.push(Row {
            experiment: "airtime".to_owned(),
            case,
            scheme: "capture".to_owned(),
            seed: 0,
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            value,
        });
    };
    let whole = || label.to_owned();
    if !air.is_impossible() {
        row(whole(), "utilisation", "", air.utilisation);
        row(whole(), "utilisation without contention", "", air.utilisation_without_contention);
    }
    for (metric, part) in parts(&air.air) {
        row(whole(), metric, "s", part.as_secs_f64());
    }
    row(whole(), "active stations", "", air.mean_active);
    row(whole(), "active stations at most", "", air.max_active as f64);
    row(whole(), "transmissions", "", air.transmissions as f64);
    let counts = &gathered.counts;
    row(whole(), "frames", "", counts.undamaged() as f64);
    row(whole(), "damaged frames", "", counts.damaged as f64);
    row(whole(), "malformed records", "", malformed(gathered) as f64);
    for share in shares(gathered) {
        let case = format!("{label}/{} {}", share.who, share.direction);
        let used = share.used;
        row(case.clone(), "air charged", "s", used.air.with_contention().as_secs_f64());
        row(case.clone(), "air inferred", "s", used.air.inferred().as_secs_f64());
        row(case.clone(), "attempts", "", used.attempts as f64);
        row(case.clone(), "frames", "", used.frames as f64);
        row(case.clone(), "bytes", "B", used.bytes as f64);
        if let Some(retries) = used.retry_share() {
            row(case.clone(), "retries", "", retries);
        }
        if let Some(rate) = used.rate_bps() {
            row(case.clone(), "PHY rate", "bit/s", rate);
        }
        if let Some(grant) = granted(gathered, &share) {
            let rate = grant.median(|kept| kept.rate_bps);
            row(case.clone(), "granted by Cupid", "bit/s", rate);
            let rate = grant.median(|kept| kept.paper_bps);
            row(case, "granted by Cupid as published", "bit/s", rate);
        }
    }
    summary
}

/// The parts of the air, by name.
pub(super) fn parts(air: &Airtime) -> [(&'static str, std::time::Duration); 5] {
    [
        ("heard", air.heard),
        ("announced", air.announced),
        ("answered", air.answered),
        ("gaps", air.gaps),
        ("contention", air.contention),
    ]
}

/// Records that could not be read.
pub(super) fn malformed(gathered: &Gathered) -> u64 {
    gathered.file.malformed + gathered.counts.bad_radiotap + gathered.counts.bad_header
}
