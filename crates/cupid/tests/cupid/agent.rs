//! An agent from frames to reports.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_cupid::{Agent, AgentOptions, Charging, EstimatorOptions, Feedback, RuleKind};
use airlane_wifi::Heard;

use crate::air::{AP, Talker, channel, he, station};

fn options() -> AgentOptions {
    let estimator = EstimatorOptions { bssid: Some(AP), ..EstimatorOptions::new(station(1)) };
    AgentOptions { charging: Charging::Literal, ..AgentOptions::new(estimator) }
}

fn reports(records: &[Heard], options: AgentOptions, flows: u32) -> Vec<(Time, Feedback)> {
    let mut agent = Agent::new(options, Time::ZERO);
    let mut out = Vec::new();
    for heard in records {
        while heard.at + heard.duration > agent.next_report() {
            let now = agent.next_report();
            out.extend(agent.poll(now, flows).map(|(feedback, _)| (now, feedback)));
        }
        agent.hear(heard);
    }
    out
}

fn four(ms: u64) -> Vec<Heard> {
    let mut talkers: Vec<Talker> =
        (1..=4).map(|n| Talker::down(station(n), he(if n > 2 { 1 } else { 11 }), 32)).collect();
    // Aggregates of far stations are shorter: 5.484 ms at most.
    talkers[2].frames = 16;
    talkers[3].frames = 16;
    channel(&mut talkers, Time::from_millis(ms), 1).records
}

#[test]
fn it_reports_25_times_a_second_and_grants_an_equal_part_of_the_air() {
    let records = four(2_000);
    let all = reports(&records, options(), 1);
    assert!((46..=50).contains(&all.len()), "{}", all.len());
    let mut agent = Agent::new(options(), Time::ZERO);
    records.iter().for_each(|heard| agent.hear(heard));
    let (feedback, estimate) = agent.poll(Time::from_millis(1_990), 1).expect("a report");
    assert_eq!((estimate.stations, feedback.stations), (4, 4));
    let delta = estimate.delta.expect("measured");
    let part = feedback.rate.as_f64() / delta.as_f64();
    assert!((part - 0.2).abs() < 0.001, "{part} of the air: eta/N is 0.8/4");
    assert!(!feedback.has_room && feedback.utilisation > 245);
    for pair in all.windows(2) {
        assert_eq!(pair[1].0.since(pair[0].0), Duration::from_millis(40));
        assert_eq!(pair[1].1.sequence, pair[0].1.sequence + 1);
    }
    // The same air gives the same reports.
    assert_eq!(all, reports(&records, options(), 1));
}

#[test]
fn flows_share_the_rate_of_their_station() {
    let records = four(500);
    let (one, three) = (reports(&records, options(), 1), reports(&records, options(), 3));
    for (one, three) in one.iter().zip(&three) {
        let whole = Rate::from_bps(one.1.rate.bps() / 3_000 * 1_000);
        assert_eq!(three.1.rate, whole);
    }
    assert!(reports(&records, options(), 0).is_empty());
}

#[test]
fn nothing_is_granted_before_the_own_rate_is_known() {
    let others = channel(&mut [Talker::down(station(2), he(11), 8)], Time::from_millis(500), 1);
    assert!(reports(&others.records, options(), 1).is_empty());
}

#[test]
fn foreign_air_can_be_taken_from_eta() {
    let mut foreign = Talker::down(station(9), he(5), 16);
    (foreign.from, foreign.bssid) = (station(100), station(100));
    let mut own = Talker::down(station(1), he(5), 16);
    for talker in [&mut own, &mut foreign] {
        talker.every = Some(Duration::from_millis(2));
    }
    let heard = channel(&mut [own, foreign], Time::from_millis(1_000), 1);
    let rate = |subtract_foreign| {
        let options = AgentOptions { subtract_foreign, ..options() };
        reports(&heard.records, options, 1)[0].1.rate.as_f64()
    };
    // Of two stations on all of eta, or alone on what the other network leaves of it.
    let (whole, rest) = (rate(false) / 0.4, rate(true));
    assert!((0.3..0.6).contains(&(rest / whole)), "{rest} {whole}");
}

#[test]
fn what_the_host_received_goes_before_what_was_heard() {
    let mut talker = Talker::down(station(1), he(11), 16);
    talker.every = Some(Duration::from_millis(4));
    let heard = channel(&mut [talker.clone()], Time::from_millis(1_000), 1);
    let run = |bytes_per_ms: u64| {
        let mut agent = Agent::new(options(), Time::ZERO);
        let (mut last, mut told) = (None, Time::ZERO);
        for record in &heard.records {
            while bytes_per_ms > 0 && told < record.at {
                agent.on_received(told, bytes_per_ms);
                told += Duration::from_millis(1);
            }
            agent.hear(record);
            last = agent.poll(record.at + record.duration, 1).or(last);
        }
        last.expect("reports").0
    };
    let per_ms = talker.payload() / 4;
    let (heard, told) = (run(0).rate.as_f64(), run(per_ms).rate.as_f64());
    assert!((told / heard - 1.0).abs() < 0.05, "{told} {heard}");
    assert!(run(0).has_room);
}

/// One station whose access point sends what has come as soon as it has the air, at the rate that the
/// agent grants 20 ms before. Returns Mbit/s of payload, and MPDUs per aggregate, over the last second.
fn closed_loop(charging: Charging, kind: RuleKind) -> (f64, f64) {
    let mut options = AgentOptions { charging, ..options() };
    options.rule.kind = kind;
    let mut agent = Agent::new(options, Time::ZERO);
    let mut talker = Talker::down(station(1), he(11), 1);
    let bytes = talker.payload();
    let (mut now, mut rate, mut coming) = (Time::ZERO, Rate::from_mbps(5.0), VecDeque::new());
    let (mut arrived, mut sent, mut exchanges) = (0.0, 0_u64, 0_u64);
    let (end, from) = (Time::from_millis(6_000), Time::from_millis(5_000));
    let mut seed = 0;
    let (mut mpdus, mut count) = (0, 0);
    while now < end {
        if now >= agent.next_report()
            && let Some((feedback, _)) = agent.poll(now, 1)
        {
            coming.push_back((now + Duration::from_millis(20), feedback.rate));
        }
        while coming.front().is_some_and(|&(at, _)| at <= now) {
            rate = coming.pop_front().expect("one").1;
        }
        let backlog = (arrived as u64).saturating_sub(sent).min(64) as u16;
        let began = now;
        if backlog == 0 {
            now += Duration::from_micros(50);
        } else {
            talker.frames = backlog;
            seed += 1;
            // One exchange of the generator, moved to where it belongs.
            let mut once = [Talker { until: Time::from_nanos(1), ..talker.clone() }];
            for mut heard in channel(&mut once, Time::from_nanos(1), seed).records {
                heard.at = began + heard.at.since_start();
                agent.hear(&heard);
                now = heard.at + heard.duration;
            }
            talker.sequence = once[0].sequence;
            sent += u64::from(backlog);
            exchanges += 1;
            agent.on_received(now, u64::from(backlog) * bytes);
            if now >= from {
                mpdus += u64::from(backlog);
                count += 1;
            }
        }
        arrived += rate.as_f64() * now.since(began).as_secs_f64() / 8.0 / bytes as f64;
        arrived = arrived.min(sent as f64 + 1_000.0); // What more would come is dropped.
    }
    assert!(exchanges > 0);
    (mpdus as f64 * bytes as f64 * 8.0 / 1e6, mpdus as f64 / f64::from(count))
}

#[test]
fn charging_full_aggregates_keeps_the_rate_where_the_literal_charge_lets_it_fall() {
    // docs/design/cupid.md, "A trap": what the literal delta measures falls with the rate that it
    // grants.
    let (literal, small) = closed_loop(Charging::Literal, RuleKind::Default);
    let (paper, _) = closed_loop(Charging::Literal, RuleKind::Paper);
    let (packed, large) = closed_loop(Charging::Packed, RuleKind::Default);
    println!("literal {literal:.0} Mbit/s of {small:.1} MPDUs, by the paper's rule {paper:.0}");
    println!("packed {packed:.0} Mbit/s of {large:.1} MPDUs");
    assert!(packed > 4.0 * literal, "{packed} {literal}");
    assert!(small < 3.0 && large > 8.0, "{small} {large}");
}
