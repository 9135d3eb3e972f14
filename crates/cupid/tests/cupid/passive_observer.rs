//! What agents on several stations would grant, from one receiver's records.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_cupid::{
    Agent, AgentOptions, EstimatorOptions, GrantedRates, PassiveObserver, RuleKind,
};
use airlane_wifi::{Address, Heard};

use crate::air::{Talker, channel, he, station};

fn options(own: Address, kind: RuleKind) -> AgentOptions {
    let mut options = AgentOptions::new(EstimatorOptions::new(own));
    options.rule.kind = kind;
    options
}

fn observer() -> PassiveObserver {
    PassiveObserver::new(options(Address::default(), RuleKind::Default))
}

fn look_on(records: &[Heard]) -> BTreeMap<Address, Vec<GrantedRates>> {
    let mut observer = observer();
    let mut all: BTreeMap<Address, Vec<GrantedRates>> = BTreeMap::new();
    for heard in records {
        observer.hear(heard, |address, granted| {
            all.entry(address).or_default().push(granted.clone());
        });
    }
    assert_eq!(observer.crowded(), 0);
    all
}

/// Near and far stations, one that uploads, one that comes late and one that leaves.
fn mixed() -> Vec<Heard> {
    let mut talkers = vec![
        Talker::down(station(1), he(11), 32),
        Talker::down(station(2), he(1), 16),
        Talker::up(station(3), he(9), 8),
        Talker::down(station(4), he(7), 24),
        Talker::down(station(5), he(5), 4),
    ];
    talkers[3].from_time = Time::from_millis(700);
    talkers[4].until = Time::from_millis(600);
    talkers[4].every = Some(Duration::from_millis(4));
    channel(&mut talkers, Time::from_millis(3_000), 1).records
}

#[test]
fn it_says_what_an_agent_on_each_station_would() {
    let records = mixed();
    let seen = look_on(&records);
    let addresses: Vec<Address> = seen.keys().copied().collect();
    assert_eq!(addresses, [1, 2, 4, 5].map(station), "station 3 receives acknowledgements only");
    for (own, granted) in &seen {
        let begin = records[0].at + records[0].duration;
        let agent = |kind| Agent::new(options(*own, kind), begin);
        let (mut default, mut paper) = (agent(RuleKind::Default), agent(RuleKind::Paper));
        let mut theirs = Vec::new();
        for heard in &records {
            while heard.at + heard.duration >= default.next_report() {
                let now = default.next_report();
                let rate = |agent: &mut Agent| agent.poll(now, 1).map(|(report, _)| report.rate);
                theirs.extend(rate(&mut default).zip(rate(&mut paper)));
            }
            default.hear(heard);
            paper.hear(heard);
        }
        let whole = |rate: Rate| Rate::from_bps(rate.bps() / 1_000 * 1_000);
        let ours: Vec<_> = granted.iter().map(|g| (whole(g.rate), whole(g.paper_rate))).collect();
        // Who left is not looked at any longer; an agent there would go on.
        assert_eq!(ours, theirs[..ours.len()], "{own}");
        assert!(ours.len() > 30, "{own}: {}", ours.len());
        let stays = *own != station(5);
        assert!(!stays || ours.len() == theirs.len(), "{own}: {} {}", ours.len(), theirs.len());
    }
    assert!(seen[&station(5)].len() < seen[&station(1)].len() / 2 + 5, "it left");
}

#[test]
fn silence_ends_reports_and_who_comes_back_begins_anew() {
    let records = channel(&mut [Talker::down(station(1), he(11), 8)], Time::from_millis(500), 1);
    let later = |records: &[Heard], by: Duration| -> Vec<Heard> {
        records.iter().map(|heard| Heard { at: heard.at + by, ..heard.clone() }).collect()
    };
    let once = look_on(&records.records)[&station(1)].len();
    let year = Duration::from_secs(366 * 24 * 3_600);
    let twice = [records.records.clone(), later(&records.records, year)].concat();
    let seen = look_on(&twice);
    let reports = &seen[&station(1)];
    // A second of memory between the two.
    assert!(reports.len() <= 2 * once + 27, "{} of {once}", reports.len());
    assert!(reports.len() >= 2 * once + 20, "{} of {once}", reports.len());
    let (first, last) = (&reports[0], &reports[reports.len() - once + 1]);
    assert_eq!(last.estimate.stations, 1);
    let part = last.rate.as_f64() / first.rate.as_f64();
    assert!((0.5..2.0).contains(&part), "{part}");
}

#[test]
fn more_stations_than_are_looked_at_are_counted_and_room_is_made_for_later_ones() {
    let mut observer = observer();
    let mut seen: BTreeMap<Address, u64> = BTreeMap::new();
    let mut hear = |observer: &mut PassiveObserver, numbers: std::ops::Range<u16>, from: Time| {
        let mut talkers: Vec<Talker> =
            numbers.map(|n| Talker::down(station(n), he(11), 2)).collect();
        let end = from + Duration::from_millis(800);
        talkers.iter_mut().for_each(|talker| talker.from_time = from);
        for heard in channel(&mut talkers, end, 1).records {
            observer.hear(&heard, |address, _| *seen.entry(address).or_default() += 1);
        }
    };
    hear(&mut observer, 1..301, Time::ZERO);
    assert!(observer.crowded() > 0);
    let before = observer.crowded();
    hear(&mut observer, 301..401, Time::from_millis(5_000));
    assert_eq!(observer.crowded(), before, "those of before are silent");
    assert_eq!(seen.keys().filter(|address| **address < station(301)).count(), 256);
    assert_eq!(seen.keys().filter(|address| **address >= station(301)).count(), 100);
}

#[test]
fn clocks_that_are_set_do_no_lasting_harm() {
    let records = channel(&mut [Talker::down(station(1), he(11), 8)], Time::from_millis(900), 1);
    let records = records.records;
    let third = records.len() / 3;
    let mut wild = records.clone();
    wild.iter_mut().take(third).for_each(|heard| heard.at += Duration::from_secs(3_600));
    let end = Heard { at: Time::from_nanos(u64::MAX - 5), ..records[0].clone() };
    wild.insert(2 * third, end.clone());
    // The next is early enough that time goes on up to it.
    wild.insert(2 * third + 1, Heard { at: Time::from_nanos(u64::MAX / 4 * 3), ..end });
    let reports = look_on(&wild)[&station(1)].len();
    let usual = look_on(&records)[&station(1)].len();
    assert!(reports + 6 >= usual && reports <= usual + 60, "{reports} of {usual}");
}
