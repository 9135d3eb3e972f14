//! What people see in the terminal.

use airlane_capture::{AirSummary, LinkType, Precision};

use super::figures::{Share, granted, inferred, malformed, shares, shares_of_span};
use super::gather::Gathered;
use airlane_judge::reporting::{aligned, words};

/// From this confidence on rates are granted without a warning.
const SURE: f64 = 0.8;

/// Lines of stations that are shown unless all are asked for.
const LINES: usize = 20;

/// The air, its stations, and what there is to be said of the capture.
pub(super) fn table(gathered: &Gathered, all: bool) -> String {
    let mut out = String::new();
    for (name, value) in facts(gathered) {
        out += &format!("{name:<16}{value}\n");
    }
    let shares = shares(gathered);
    if !shares.is_empty() {
        let most = if all { shares.len() } else { LINES };
        let head = HEAD.map(str::to_owned).to_vec();
        let lines = shares.iter().take(most).map(|share| cells(gathered, share));
        out += "\n";
        out += &aligned(&std::iter::once(head).chain(lines).collect::<Vec<_>>());
        let more = shares.len().saturating_sub(most);
        if more > 0 {
            out += &format!("{}: see --all\n", words::plural(more, "more line"));
        }
    }
    for note in notes(gathered) {
        out += &format!("\n{note}\n");
    }
    out
}

/// Headings of the table of stations.
pub(super) const HEAD: [&str; 11] = [
    "station",
    "way",
    "air %",
    "inferred %",
    "attempts",
    "unanswered %",
    "retries %",
    "Mbit/s",
    "MB",
    "dBm",
    "grant",
];

/// A line of it.
pub(super) fn cells(gathered: &Gathered, share: &Share<'_>) -> Vec<String> {
    let used = share.used;
    let percent = |part: f64| format!("{:.1}", 100.0 * part);
    let dash = || "-".to_owned();
    let is_point = share.station.is_some_and(|s| s.is_access_point);
    let bytes = (used.bytes + used.inferred_bytes) as f64 / 1e6;
    vec![
        if is_point { format!("{} (AP)", share.who) } else { share.who.clone() },
        share.direction.to_owned(),
        gathered
            .summary
            .share(&used.air)
            .map_or_else(dash, |share| format!("{:.2}", 100.0 * share)),
        percent(inferred(&used.air)),
        used.attempts.to_string(),
        percent(used.unanswered as f64 / used.attempts.max(1) as f64),
        used.retry_share().map_or_else(dash, percent),
        used.rate_bps().map_or_else(dash, |rate| format!("{:.1}", rate / 1e6)),
        format!("{bytes:.2}"),
        share.station.and_then(|s| s.signal_dbm).map_or_else(dash, |dbm| format!("{dbm:.0}")),
        granted(gathered, share)
            .map_or_else(dash, |grant| format!("{:.1}", grant.median(|kept| kept.rate_bps) / 1e6)),
    ]
}

/// Text that compares the time in the air with the time captured.
fn excess(air: &AirSummary) -> String {
    let (bare, span) = (air.air.without_contention().as_secs_f64(), air.span.as_secs_f64());
    format!("{bare:.4} s in the air of {span:.4} s captured")
}

/// Reason for which more was in the air than there was time; `None` if it was not.
fn of_excess(gathered: &Gathered) -> Option<String> {
    let air = &gathered.summary;
    if !air.is_impossible() {
        return None;
    }
    let why = if gathered.counts.channels.len() > 1 || air.interfaces > 1 {
        "the capture has several channels or interfaces, of which each has the time to itself"
    } else if air.rate_assumed > 0 {
        "rates are not told, and the lowest is taken"
    } else if gathered.timing == Some(Precision::Exact) {
        "stations sent at the same time"
    } else {
        "stations sent at the same time, or the times of the capture are not those of its frames"
    };
    Some(format!("No shares can be said, as one channel has no room for {}: {why}.", excess(air)))
}

/// Facts that stand above the table.
pub(super) fn facts(gathered: &Gathered) -> Vec<(&'static str, String)> {
    let air = &gathered.summary;
    let utilisation = match shares_of_span(air) {
        Some(parts) => {
            let parts = parts.map(|(name, share)| format!("{name} {:.1} %", 100.0 * share));
            format!("{:.1} %: {}", 100.0 * air.utilisation, parts.join(", "))
        }
        None if air.is_impossible() => format!("unknown: {}", excess(air)),
        None => "unknown: nothing was captured".to_owned(),
    };
    let counts = &gathered.counts;
    let mut facts = vec![
        ("captured", format!("{:.1} s", air.span.as_secs_f64())),
        (
            "frames",
            format!(
                "{} in {} transmissions; {} damaged, {} malformed",
                counts.undamaged(),
                air.transmissions,
                counts.damaged,
                malformed(gathered)
            ),
        ),
        ("utilisation", utilisation),
        (
            "active stations",
            format!("{:.1} on average, {} at most", air.mean_active, air.max_active),
        ),
    ];
    let mut channels: Vec<(u16, u64)> = counts.channels.iter().map(|(c, n)| (*c, *n)).collect();
    channels.sort_by_key(|(_, packets)| std::cmp::Reverse(*packets));
    if !channels.is_empty() {
        let list: Vec<String> = channels.iter().take(6).map(|(c, _)| format!("{c} MHz")).collect();
        let more = if channels.len() > 6 { ", ..." } else { "" };
        facts.push(("channel", format!("{}{more}", list.join(", "))));
    }
    facts
}

/// Notes on the capture that one needs to judge the figures.
pub(super) fn notes(gathered: &Gathered) -> Vec<String> {
    let (air, counts) = (&gathered.summary, &gathered.counts);
    let mut notes: Vec<String> = of_excess(gathered).into_iter().collect();
    let share = inferred(&air.air);
    if share > 0.005 {
        notes.push(format!(
            "{:.0} % of the air in use was not heard but inferred: {:.0} % is announced by duration \
             fields or lies between frames that were heard, {:.0} % follows from acknowledgements, at \
             the sender's last rate.",
            100.0 * share,
            100.0 * air.air.announced.as_secs_f64() / air.air.without_contention().as_secs_f64(),
            100.0 * air.air.answered.as_secs_f64() / air.air.without_contention().as_secs_f64()
        ));
    }
    if gathered.file.is_cut {
        notes.push(format!(
            "The file is cut short or damaged behind record {}: what is before that counts.",
            gathered.file.records
        ));
    }
    if gathered.file.foreign > 0 {
        let kind = gathered
            .file
            .foreign_link
            .map_or_else(String::new, |number| format!(" ({})", LinkType::name(number)));
        notes.push(format!("{} packets are not of 802.11: left out{kind}.", gathered.file.foreign));
    }
    if malformed(gathered) > 0 {
        notes.push(format!(
            "Skipped: {} records with a malformed radiotap header, {} undamaged frames with a malformed \
             MAC header, {} that the file's format does not allow.",
            counts.bad_radiotap, counts.bad_header, gathered.file.malformed
        ));
    }
    if counts.damaged > 0 {
        notes.push(format!(
            "{} frames came damaged (frame check sequence): their air counts, their addresses do not.",
            counts.damaged
        ));
    }
    if air.rate_assumed > 0 {
        notes.push(format!(
            "{} of {} transmissions do not say at which rate they were sent: they are taken for sent at 6 \
             Mbit/s, so their air is an estimate.",
            air.rate_assumed, air.transmissions
        ));
    }
    if gathered.timing == Some(Precision::Machine) {
        notes.push(
            "Some packets have no time by the receiver's clock: what belongs together is found by order."
                .to_owned(),
        );
    }
    if counts.clock_unusable > 0 {
        notes.push(format!(
            "The receiver's clock stood still, read zero or ran at a wrong speed for {} transmissions: their \
             times are those of the machine that captured.",
            counts.clock_unusable
        ));
    }
    if counts.jumps > 0 {
        let jumps = words::plural(usize::try_from(counts.jumps).unwrap_or(usize::MAX), "time");
        notes.push(format!("Clocks jumped {jumps}: time goes on from where it was."));
    }
    if air.interfaces > 1 {
        notes.push(format!(
            "{} interfaces heard this: what two of them heard of one channel counts twice.",
            air.interfaces
        ));
    }
    if counts.channels.len() > 1 {
        notes.push(
            "Several channels are in this capture: the figures are of all of them together, and \
             utilisation is of none."
                .to_owned(),
        );
    }
    notes.extend(of_grants(gathered));
    if let Some(why) = &gathered.broke {
        notes.push(format!("Listening ended early: {why}."));
    }
    if gathered.dropped > 0 {
        notes.push(format!(
            "The kernel dropped {} packets before they were read.",
            gathered.dropped
        ));
    }
    notes
}

/// Note on the rates that Cupid would grant.
fn of_grants(gathered: &Gathered) -> Option<String> {
    let (air, grants) = (&gathered.summary, &gathered.grants);
    if air.transmissions == 0 {
        return None;
    }
    if grants.is_empty() {
        let receives = air.stations.iter().any(|station| station.down.bytes > 0);
        return Some(match receives {
            true => {
                "What Cupid would grant cannot be said: no station received data of more than 200 \
                     bytes for as long as a report takes (40 ms)."
                    .to_owned()
            }
            false => {
                "What Cupid would grant cannot be said: no data from an access point to a station \
                      were made out."
                    .to_owned()
            }
        });
    }
    let mut note = "grant: Mbit/s that Cupid would grant a station that receives data and hears what is in \
                    this capture, the median of its reports, 25 per second; a dash where no data to it \
                    were made out."
        .to_owned();
    let mut confidences: Vec<f64> =
        grants.all().map(|grant| grant.median(|kept| kept.confidence)).collect();
    confidences.sort_by(f64::total_cmp);
    let confidence = confidences[confidences.len() / 2];
    if confidence < SURE {
        note += &format!(
            " Only {:.0} % of the air that these rates follow from was heard, the rest is inferred: take \
             them for an estimate.",
            100.0 * confidence
        );
    }
    if gathered.timing == Some(Precision::Machine) || air.rate_assumed > 0 {
        note += " Times or rates of frames are not known exactly, and so neither are these.";
    }
    if gathered.counts.channels.len() > 1 {
        note += " They are of several channels taken for one.";
    }
    if grants.is_crowded {
        note += " There were more stations at once than are looked at: some have a dash though they \
                 received data.";
    }
    Some(note)
}

/// The final line.
pub(super) fn line(label: &str, gathered: &Gathered) -> String {
    let air = &gathered.summary;
    if air.transmissions == 0 {
        return format!("{label}: no frames.");
    }
    let active = format!("{:.1} stations active on average.", air.mean_active);
    if air.is_impossible() {
        return format!("{label}: utilisation unknown, {}; {active}", excess(air));
    }
    let busiest = air.stations.iter().find(|s| !s.is_access_point);
    let busiest = busiest.and_then(|station| Some((station, air.share(&station.air())?)));
    let busiest = busiest.map_or_else(String::new, |(station, share)| {
        format!(", most of it by {} ({:.1} %)", station.address, 100.0 * share)
    });
    format!(
        "{label}: {:.1} % of {:.1} s of air used{busiest}; {active}",
        100.0 * air.utilisation,
        air.span.as_secs_f64(),
    )
}
