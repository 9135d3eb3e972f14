//! Keys of the network: accesses, which is behind which, who is on which.

use std::time::Duration;

use super::super::bounds::Word;
use super::super::reader::{NONE, Reader};
use super::super::suggest;
use super::super::types::*;
use super::link::{DOWN_LIMIT, link, links};
use super::queue::queue;
use super::wifi::{self, StationKeys};
use super::{RTT, half_duplex};
use crate::words;

#[derive(Clone, Copy, PartialEq)]
enum AccessWord {
    Link,
    Cell,
    HalfDuplex,
    Wifi,
    Station,
}

words! {
    AccessWord: "link" => Self::Link, "cell" => Self::Cell,
        "half_duplex" => Self::HalfDuplex, "wifi" => Self::Wifi, "station" => Self::Station;
}

/// The name of the access that `[link]` is short for.
const LINK: &str = "link";

/// The network: `[link]`, or `[core]` and `[[access]]`.
pub(super) fn network(r: &mut Reader<'_>) -> Network {
    let several = r.has("access");
    let mut network = Network { rtt: Duration::ZERO, accesses: Vec::new() };
    const SHORT: &str = "The short form of a network of one access, named \"link\".";
    if several {
        let short = r.table("link", NONE, SHORT, link);
        if short.is_some() {
            r.fail("link", "found beside [[access]]", "expected one of the two");
        }
    } else {
        let (rtt, link) = r.section("link", SHORT, link);
        let kind = AccessKind::Link(link);
        network.rtt = rtt;
        let name = LINK.to_owned();
        network.accesses.push(Access { name, behind: None, kind, is_short_form: true });
    }
    let core = r.table("core", NONE, "The core, beside `[[access]]`.", |r| {
        r.time("rtt_s", RTT, 0.02, "Round trip of propagation in the core, half of it each way.")
    });
    let (mut behind, mut stations) = (Vec::new(), Vec::new());
    let accesses = r.list(
        "access",
        "The last mile of some hosts: an access around an ideal core \
         ([network model](../design/network-model.md)).",
        |r| {
            let (access, outer, station) = access(r);
            behind.push(outer);
            stations.push(station);
            access
        },
    );
    if several {
        network.rtt = core.unwrap_or(Duration::from_millis(20));
        network.accesses = accesses;
        chain(r, &mut network.accesses, &behind);
        wifi::take_streams(&mut network.accesses, &stations);
        wifi::check(r, &network.accesses);
    } else if core.is_some() && r.has("core") {
        r.fail("core", "found without [[access]]", "expected `link.rtt_s`");
    }
    network
}

/// Puts each access behind the one that it names.
fn chain(r: &Reader<'_>, accesses: &mut [Access], behind: &[Option<String>]) {
    let names: Vec<String> = accesses.iter().map(|a| a.name.clone()).collect();
    if names.is_empty() {
        r.fail("access", "found no access", "expected at least one [[access]] table, or [link]");
    }
    if let Some(twice) = super::duplicate(&names) {
        r.fail("access", format!("found \"{twice}\" twice"), "expected distinct names");
    }
    for (i, outer) in behind.iter().enumerate() {
        let Some(outer) = outer else { continue };
        match names.iter().position(|name| name == outer) {
            Some(outer) => accesses[i].behind = Some(outer),
            None => {
                let found = format!("found no access \"{outer}\"");
                r.fail_in("access", i, "behind", found, one_of(outer, &names));
            }
        }
    }
    for i in 0..accesses.len() {
        let mut way = vec![i];
        while let Some(outer) = accesses[way[way.len() - 1]].behind {
            way.push(outer);
            if outer == i {
                let names: Vec<&str> = way.iter().map(|i| names[*i].as_str()).collect();
                let found = format!("found a circle: {}", names.join(" behind "));
                r.fail_in("access", i, "behind", found, "expected a chain that ends at the core");
                accesses[i].behind = None;
                break;
            }
            if way.len() > accesses.len() {
                // It leads into a circle that it is no part of.
                break;
            }
        }
    }
}

const WIFI: &str = "The access point of a WiFi: of an access of kind \"wifi\".";
const STATION: &str = "What each host on it is: of an access of kind \"station\".";

/// The message for a name that does not exist.
fn one_of(word: &str, names: &[String]) -> String {
    let known = names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    match suggest::nearest(word, names.iter().map(String::as_str)) {
        Some(near) => format!("expected one of {known}: did you mean \"{near}\"?"),
        None => format!("expected one of {known}"),
    }
}

/// The numbers of the accesses that a client is on: at most `most`.
pub fn at(r: &mut Reader<'_>, network: &Network, most: usize) -> Vec<usize> {
    const DEFAULT: &str = "the only access";
    let given = match most {
        1 => r.name_or_none("at", DEFAULT, "The access that it is on.").map(|name| vec![name]),
        _ => r.names_or_none(
            "at",
            DEFAULT,
            "The access that it is on, or several: it has a connection of its own over each.",
        ),
    };
    let names: Vec<String> = network.accesses.iter().map(|a| a.name.clone()).collect();
    let Some(given) = given else {
        if names.len() > 1 && !r.has("at") {
            r.fail("at", "missing", one_of("", &names));
        }
        return vec![0];
    };
    if let Some(twice) = super::duplicate(&given) {
        r.fail("at", format!("found \"{twice}\" twice"), "expected distinct accesses");
    }
    if given.is_empty() {
        r.fail("at", "found no access", one_of("", &names));
    }
    access_numbers(r, "at", &given, &names)
}

fn access_numbers(r: &Reader<'_>, key: &str, given: &[String], names: &[String]) -> Vec<usize> {
    let number = |name: &String| {
        names.iter().position(|known| known == name).unwrap_or_else(|| {
            r.fail(key, format!("found no access \"{name}\""), one_of(name, names));
            0
        })
    };
    given.iter().map(number).collect()
}

/// The queue of a scheme, which names its access if there are several.
pub(super) fn scheme_queue(r: &mut Reader<'_>, network: &Network) -> SchemeQueue {
    let name = r.name_or_none("access", "the only access", "The access whose way down has it.");
    let names: Vec<String> = network.accesses.iter().map(|a| a.name.clone()).collect();
    if name.is_none() && names.len() > 1 && !r.has("access") {
        r.fail("access", "missing", one_of("", &names));
    }
    let access = name.map_or(0, |name| access_numbers(r, "access", &[name], &names)[0]);
    SchemeQueue { access, queue: queue(r, DOWN_LIMIT) }
}

/// An access, the name of the one that it is behind, and what its stations are, if it is of that kind.
fn access(r: &mut Reader<'_>) -> (Access, Option<String>, Option<StationKeys>) {
    let name = r.name_or_none("name", "required", "Name of rows and of `at`.");
    if !r.has("name") {
        r.fail("name", "missing", "expected a name, such as \"home\"");
    }
    let doc = "What it is: a link whose directions share nothing; a cell in which each host has such a \
               link with a queue of its own; a half-duplex link, whose directions take turns on one \
               capacity; a WiFi, on which each host is a station; or stations of \
               another kind of the WiFi that it is behind ([the air](../design/air.md)).";
    let word = r.word("kind", AccessWord::Link, doc);
    let behind =
        r.name_or_none("behind", NONE, "The access that lies between this one and the core.");
    let (wifi, station) = match word {
        AccessWord::Wifi => (Some(r.section("wifi", WIFI, wifi::wifi)), None),
        AccessWord::Station => (None, Some(r.section("station", STATION, wifi::station))),
        _ if r.is_listing() => {
            half_duplex::own_keys(r, None);
            (
                r.table("wifi", NONE, WIFI, wifi::wifi),
                r.table("station", NONE, STATION, wifi::station),
            )
        }
        AccessWord::Link | AccessWord::Cell | AccessWord::HalfDuplex => (None, None),
    };
    if word != AccessWord::HalfDuplex {
        half_duplex::refuse_own_keys(r, word.word());
    }
    let kind = match (word, wifi, &station) {
        (AccessWord::Wifi, Some(wifi), _) => AccessKind::Wifi(Box::new(wifi)),
        (AccessWord::Station, _, Some(keys)) => {
            // The queue at the access point is the access point's.
            let link = Box::new(wifi::link_of(keys.queue.clone(), keys.queue.clone()));
            AccessKind::Station { station: keys.with_streams(1), link }
        }
        (AccessWord::Cell, ..) => AccessKind::Cell(links(r)),
        (AccessWord::HalfDuplex, ..) => half_duplex::half_duplex(r),
        _ => AccessKind::Link(links(r)),
    };
    let name = name.unwrap_or_default();
    (Access { name, behind: None, kind, is_short_form: false }, behind, station)
}
