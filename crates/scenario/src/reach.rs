//! Stations that no frame can ever reach.

use airlane_net::air::{ChannelConfig, Motion, Signal};
use airlane_wifi::{DETECTION_DB, ErrorModel, Vector, noise_dbm, sensitivity_dbm};

use crate::types::{AccessKind, Network, Station, Wifi};

/// Bytes of a frame that has to come through.
const FRAME_BYTES: u32 = 1_500;
/// Probability below which it never does.
const NEVER: f64 = 1e-6;

impl Network {
    /// Warnings, a sentence each: stations of a WiFi that never hear their access point, or are never heard by it.
    pub fn warnings(&self) -> Vec<String> {
        let of = |i: usize| {
            let access = &self.accesses[i];
            let (wifi, station) =
                match (&access.kind, access.behind.map(|i| &self.accesses[i].kind)) {
                    (AccessKind::Wifi(wifi), _) => (wifi, &wifi.station),
                    (AccessKind::Station { station, .. }, Some(AccessKind::Wifi(wifi))) => {
                        (wifi, station)
                    }
                    _ => return None,
                };
            Some(format!(
                "Stations on \"{}\" {}.",
                access.name,
                why_unreached(wifi, &self.channel(wifi), station)?
            ))
        };
        (0..self.accesses.len()).filter_map(of).collect()
    }

    /// The channel of a WiFi: that of the first of those that share it.
    fn channel(&self, wifi: &Wifi) -> ChannelConfig {
        let sharing = self.accesses.iter().filter_map(|access| match &access.kind {
            AccessKind::Wifi(other) if wifi.shares.is_some() && other.shares == wifi.shares => {
                Some(other)
            }
            _ => None,
        });
        sharing.map(|first| first.channel).next().unwrap_or(wifi.channel)
    }
}

/// Reason for which a station is never reached; `None` if it may be.
fn why_unreached(wifi: &Wifi, channel: &ChannelConfig, station: &Station) -> Option<String> {
    let noise = noise_dbm(wifi.width, channel.noise_figure_db);
    let down_db = max_snr_db(wifi, channel, &station.signal)?;
    let snr_db = down_db.min(down_db + station.up_db);
    let sensitivity = channel.sensitivity_dbm.unwrap_or_else(|| sensitivity_dbm(wifi.width));
    let needed_db = DETECTION_DB.max(sensitivity - noise);
    if snr_db < needed_db {
        return Some(format!(
            "can never be reached: the SNR is at most {snr_db:.1} dB, and radios hear from {needed_db:.1} dB on over {} MHz",
            wifi.width.mhz()
        ));
    }
    let (mcs, streams) = station.mcs?;
    let vector = Vector { format: wifi.format, mcs, streams, width: wifi.width, guard: wifi.guard };
    let comes = ErrorModel::new().success(&vector, snr_db, FRAME_BYTES);
    (comes < NEVER).then(|| {
        format!(
            "can never be reached: at {snr_db:.1} dB no frame of MCS {mcs} with {streams} spatial streams comes through"
        )
    })
}

/// The highest SNR of what an access point sends to a station, dB; `None` if it has no bound beforehand.
fn max_snr_db(wifi: &Wifi, channel: &ChannelConfig, signal: &Signal) -> Option<f64> {
    match signal {
        Signal::Fixed(db) => Some(*db),
        Signal::Trace(trace) => Some(trace.max_db()),
        Signal::Place(Motion::Still(place)) => {
            if channel.shadowing.is_some() || channel.fading.is_some() {
                return None;
            }
            let loss_db = channel.loss.db(wifi.position.unwrap_or_default().distance(*place));
            Some(wifi.power_dbm - loss_db - noise_dbm(wifi.width, channel.noise_figure_db))
        }
        Signal::Place(_) => None,
    }
}
