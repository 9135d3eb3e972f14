//! A WiFi of a scenario as the network has it.

use std::time::Duration;

use airlane_base::Rate;
use airlane_net::air::{ApConfig, RateControl, StationConfig};
use airlane_net::{Capacity, WifiAccess};
use airlane_wifi::Vector;

use airlane_scenario::{Queue, Station, Wifi};

/// The access point, with this queue for each station.
pub(super) fn access(wifi: &Wifi, down: &Queue, rtt: Duration) -> WifiAccess {
    let Wifi { format, width, guard, streams, .. } = *wifi;
    let mcs = wifi.format.max_mcs();
    // A queue in BDP counts with the highest rate there is.
    let most = Vector { format, mcs, streams, width, guard }.rate();
    let ap = ApConfig {
        format,
        width,
        guard,
        streams,
        window: wifi.window,
        max_air: wifi.max_air,
        max_amsdu: wifi.max_amsdu,
        retries: wifi.retries,
        protection: wifi.protection,
        is_encrypted: wifi.is_encrypted,
        has_categories: wifi.has_categories,
        contention: wifi.contention,
        scheduler: wifi.scheduler,
        queue: down.spec(most, rtt),
        pool: wifi.pool_packets.map_or(Capacity::Unlimited, Capacity::Packets),
        rate_control: wifi.rate_control,
        slow_below: Some(wifi.slow_below),
        descriptors: wifi.descriptors,
        has_beacons: wifi.has_beacons,
        position: wifi.position,
        power_dbm: wifi.power_dbm,
        snr_to_others_db: wifi.snr_to_others_db,
    };
    let station = station(&wifi.station, &wifi.link.up.queue, rtt);
    WifiAccess {
        shares: wifi.shares.clone(),
        channel: wifi.channel,
        interferers: wifi.interferers.clone(),
        ap,
        station,
    }
}

/// A station with this queue.
pub(super) fn station(station: &Station, up: &Queue, rtt: Duration) -> StationConfig {
    let Station { signal, up_db, snr_to_others_db, power_save, contention, mcs } = station.clone();
    StationConfig {
        signal,
        up_db,
        snr_to_others_db,
        power_save,
        contention,
        queue: up.spec(Rate::from_bps(100_000_000), rtt),
        rate_control: mcs.map(|(mcs, streams)| RateControl::Fixed { mcs, streams }),
    }
}
