//! The line of each second while an interface is listened to.

use std::time::Duration;

use airlane_capture::AirSummary;

/// Use of the air at `passed`.
pub(super) fn moment(passed: Duration, air: &AirSummary) -> String {
    let last = air.over_time.with_contention.values().iter().rev().skip(1).take(10);
    let (sum, bins) = last.fold((0.0, 0), |(sum, bins), seconds| (sum + seconds, bins + 1));
    let now = if bins == 0 { 0.0 } else { sum / (f64::from(bins) * air.bin.as_secs_f64()) };
    format!(
        "{:.0} s: {:.0} % of the air used, {} transmissions, {} stations",
        passed.as_secs_f64(),
        100.0 * now.min(1.0),
        air.transmissions,
        air.stations.len()
    )
}
