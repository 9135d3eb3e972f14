//! The medium of 802.11 against ns-3's, in the scenes of a table.

use std::time::Duration;

use airlane_base::{Rate, Seed};
use airlane_net::air::{Air, ApConfig, ChannelConfig, Protection, RateControl, StationConfig};
use airlane_net::{Direction, Limit, QueueSpec};
use airlane_wifi::{ErrorModel, Format, Width, mac};

use crate::air::{ap, saturate, station};

/// What `scripts/ns3/medium saturated` wrote.
const NS3: &str = include_str!("ns3-medium.csv");

const IP_BYTES: u32 = 1_500;

/// A scene, and what ns-3 measured in it.
#[derive(Debug)]
struct Row<'a> {
    scene: &'a str,
    config: ApConfig,
    up: u32,
    down: u32,
    /// Share of the frames that are lost; 0: nothing but by collisions.
    loss: f64,
    /// IP bits per second of all stations, the mean of the seeds.
    total_bps: f64,
}

fn rows() -> Vec<Row<'static>> {
    let rows: Vec<Row<'_>> = NS3.lines().skip(2).map(row).collect();
    assert!(rows.len() > 100, "{} rows", rows.len());
    rows
}

fn row(line: &'static str) -> Row<'static> {
    let cells: Vec<&str> = line.split(',').collect();
    let number = |i: usize| cells[i].parse::<f64>().unwrap();
    let format = match cells[1] {
        "a" => Format::Ofdm,
        "n" => Format::Ht,
        "ac" => Format::Vht,
        "ax" => Format::He,
        other => panic!("{other} is no standard"),
    };
    let (mcs, streams) = (number(3) as u8, number(4) as u8);
    let seeds: Vec<f64> = cells[12..].iter().filter(|c| !c.is_empty()).map(|c| total(c)).collect();
    Row {
        scene: cells[0],
        config: ApConfig {
            format,
            width: Width::of_mhz(number(2) as u32).unwrap(),
            streams,
            window: number(5) as usize,
            protection: if cells[10] == "1" { Protection::From(0) } else { Protection::Never },
            queue: QueueSpec::DropTail(Limit::Packets(1_000)),
            rate_control: RateControl::Fixed { mcs, streams },
            ..ap()
        },
        up: number(6) as u32,
        down: number(7) as u32,
        loss: number(9),
        total_bps: seeds.iter().sum::<f64>() / seeds.len() as f64,
    }
}

/// The sum of a cell's rates.
fn total(cell: &str) -> f64 {
    cell.split(' ').map(|rate| rate.parse::<f64>().unwrap()).sum()
}

/// What ours carries in a scene, IP bits per second.
fn ours(row: &Row<'_>, seed: u64, span: Duration) -> f64 {
    let RateControl::Fixed { mcs, streams } = row.config.rate_control else { unreachable!() };
    let vector = row.config.vector(mcs, streams);
    let snr_db = match row.loss {
        0.0 => 50.0,
        loss => ErrorModel::new().snr_for(&vector, mac::mpdu(IP_BYTES, false), loss),
    };
    let snr_to_others_db = match row.scene {
        "hidden" => -60.0,
        "both" => 50.0,
        _ => 40.0,
    };
    // ns-3 detects no preamble below -82 dBm.
    let channel = ChannelConfig { sensitivity_dbm: Some(-82.0), ..ChannelConfig::default() };
    let mut air = Air::new(channel, Seed(seed));
    let ap = air.add_ap(row.config.clone());
    let directions =
        (0..row.down).map(|_| Direction::Down).chain((0..row.up).map(|_| Direction::Up));
    let ways: Vec<_> = directions
        .map(|direction| {
            let config = StationConfig { snr_to_others_db, ..station(snr_db) };
            (air.add_station(ap, config), direction)
        })
        .collect();
    let came: u64 = saturate(&mut air, &ways, IP_BYTES, span).iter().sum();
    Rate::of(came, span).as_f64()
}

/// Holds the total of all scenes of a name within a share of ns-3's.
fn hold(scene: &str, bound: f64, (seeds, span): (u64, Duration)) {
    let mut misses = Vec::new();
    for row in rows().iter().filter(|row| row.scene == scene) {
        let measured = (1..=seeds).map(|seed| ours(row, seed, span)).sum::<f64>() / seeds as f64;
        let off = measured / row.total_bps - 1.0;
        let Row { config, up, down, loss, .. } = row;
        let ApConfig { format, width, rate_control, window, protection, .. } = config;
        let line = format!(
            "{scene} {format:?} {width:?} {rate_control:?} window {window} {protection:?}, {up} up, {down} down, \
             loss {loss}: {:.2} beside {:.2} Mbit/s ({:+.1} %)",
            measured / 1e6,
            row.total_bps / 1e6,
            100.0 * off
        );
        println!("{line}");
        if off.abs() > bound {
            misses.push(line);
        }
    }
    assert!(misses.is_empty(), "{}", misses.join("\n"));
}

#[test]
fn stations_that_contend_get_what_ns3_says() {
    for scene in ["up", "down", "both"] {
        hold(scene, 0.05, (1, Duration::from_secs(5)));
    }
}

#[test]
fn aggregates_carry_what_ns3_says_at_every_mcs() {
    hold("mcs", 0.05, (1, Duration::from_secs(1)));
}

#[test]
fn lost_frames_cost_what_ns3_says() {
    hold("loss", 0.05, (1, Duration::from_secs(3)));
}

#[test]
fn hidden_stations_get_what_ns3_says() {
    hold("hidden", 0.15, (2, Duration::from_secs(10)));
}
