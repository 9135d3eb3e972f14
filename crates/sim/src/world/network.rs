//! The network of a run: an ideal core, the accesses of the scenario around it, and hosts.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use airlane_base::{InputError, Seed};
use airlane_net::air::{Air, StationId};
use airlane_net::link::Supply;
use airlane_net::{
    AccessId, Carrier, CellAccess, Direction, HalfDuplexAccess, HostId, LinkAccess, Network,
    SendJitter, Topology,
};
use rand::RngExt;

use super::wifi;
use crate::plan::{Plan, RunKey};
use airlane_scenario::{Access, AccessKind, Capacity, Queue, supply_of_steps};

/// The addresses of a client and its server.
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    /// The server's.
    pub(super) server: IpAddr,
    /// The client's: one per access, in the order of its place.
    pub(super) client: Vec<IpAddr>,
    /// The air that the client is on by its first access, if that is a WiFi, and which station it is.
    pub(super) air: Option<(Air, StationId)>,
}

/// Measurement point of one direction of an access.
#[derive(Clone, Debug)]
pub(super) struct MeasuredDirection {
    /// The access.
    pub(super) access: String,
    /// Link in the network that carries it.
    pub(super) carrier: Carrier,
    /// True if both directions of the access share one capacity.
    pub(super) is_half_duplex: bool,
    /// The air that it is on, if it is one of a WiFi.
    pub(super) on_air: Option<OnAirDirection>,
}

/// A way that crosses the air of a WiFi.
#[derive(Clone, Debug)]
pub(super) struct OnAirDirection {
    /// The air.
    pub(super) air: Air,
    /// The access that is the access point.
    pub(super) access: String,
    /// The number of the place whose host the station is, over all workloads.
    pub(super) place: usize,
}

/// A network that stands.
#[derive(Debug)]
pub(super) struct BuiltNetwork {
    /// It, ready to run.
    pub(super) network: Network,
    /// Of each place, in order.
    pub(super) hosts: Vec<Addresses>,
    /// Every direction of every access, in the order of the scenario, down before up.
    pub(super) ways: Vec<MeasuredDirection>,
}

/// Builds the network of a run with a server and a client for each place of each workload.
pub(super) fn build(plan: &Plan, key: RunKey, seed: Seed) -> Result<BuiltNetwork, InputError> {
    let scenario = &plan.scenario;
    let jitter = scenario.host.send_jitter_packets;
    let jitter = if jitter > 0.0 { SendJitter::Services(jitter) } else { SendJitter::Off };
    let root = seed.split("network");
    let mut topology = Topology::new(jitter, root);
    let accesses = &scenario.network.accesses;
    let mut built: Vec<Option<AccessId>> = vec![None; accesses.len()];
    for i in 0..accesses.len() {
        add_access(plan, key, seed, i, &mut topology, &mut built)?;
    }
    // Each of them was added.
    let built: Vec<AccessId> = built.into_iter().flatten().collect();
    let mut pairs = Vec::new();
    let mut shared: BTreeMap<String, HostId> = BTreeMap::new();
    for place in scenario.participants.iter().flat_map(|traffic| traffic.places()) {
        let server = match place.server {
            None => topology.add_server(),
            Some(name) => *shared.entry(name).or_insert_with(|| topology.add_server()),
        };
        let at: Vec<AccessId> = place.at.iter().map(|i| built[*i]).collect();
        let client = topology.add_client(&at);
        topology.connect(server, &client, place.rtt.unwrap_or(scenario.network.rtt));
        pairs.push((server, client));
    }
    let ways = accesses.iter().zip(&built).flat_map(|(access, id)| {
        let point = access.behind.filter(|_| matches!(access.kind, AccessKind::Station { .. }));
        let point = point.map_or(access, |outer| &accesses[outer]);
        let measured = |carrier: Carrier| {
            let clients = pairs.iter().map(|(_, client)| client).enumerate();
            let on_air = clients
                .flat_map(|(place, client)| client.addresses.iter().map(move |at| (place, at)))
                .filter(|(_, (at, _))| at == id)
                .find_map(|(place, (at, address))| {
                    let (air, station) = topology.station(*at, *address)?;
                    let port = Air::port(station, carrier.direction);
                    (port == carrier.port).then(|| OnAirDirection {
                        air,
                        access: point.name.clone(),
                        place,
                    })
                });
            let is_half_duplex = access.is_half_duplex();
            let access = match carrier.user {
                0 => access.name.clone(),
                user => format!("{}.{}", access.name, user + 1),
            };
            MeasuredDirection { access, carrier, is_half_duplex, on_air }
        };
        topology.carriers(*id).into_iter().map(measured).collect::<Vec<_>>()
    });
    let ways = ways.collect();
    let airs: Vec<Option<(Air, StationId)>> = pairs
        .iter()
        .map(|(_, client)| {
            let (access, address) = *client.addresses.first()?;
            topology.station(access, address)
        })
        .collect();
    let network = topology.finish();
    let hosts = pairs.into_iter().zip(airs).map(|((server, client), air)| Addresses {
        server: network.addresses(server)[0],
        client: client.addresses.iter().map(|(_, address)| *address).collect(),
        air,
    });
    Ok(BuiltNetwork { hosts: hosts.collect(), network, ways })
}

/// Adds an access, and before it those between it and the core, unless they are there.
fn add_access(
    plan: &Plan,
    key: RunKey,
    seed: Seed,
    number: usize,
    topology: &mut Topology,
    built: &mut [Option<AccessId>],
) -> Result<AccessId, InputError> {
    if let Some(id) = built[number] {
        return Ok(id);
    }
    let access = &plan.scenario.network.accesses[number];
    let behind = match access.behind {
        Some(outer) => Some(add_access(plan, key, seed, outer, topology, built)?),
        None => None,
    };
    let link = || -> Result<LinkAccess, InputError> {
        let way = |direction| way(plan, key, seed, (number, access), direction);
        Ok(LinkAccess { down: way(Direction::Down)?, up: way(Direction::Up)? })
    };
    let root = seed.split("network");
    let own = match access.is_short_form {
        true => root,
        false => root.split("access").split(&access.name),
    };
    let kind = match &access.kind {
        AccessKind::Link(_) => airlane_net::Access::Link(link()?),
        AccessKind::Cell(_) => airlane_net::Access::Cell(CellAccess { user: link()? }),
        AccessKind::HalfDuplex { per_host, .. } => {
            let link = half_duplex(plan, key, seed, (number, access))?;
            airlane_net::Access::HalfDuplex(Box::new(HalfDuplexAccess {
                per_host: *per_host,
                ..link
            }))
        }
        AccessKind::Wifi(wifi) => {
            let down = &queue_of(plan, key, (number, access), Direction::Down);
            let rtt = plan.scenario.network.rtt_at(number);
            airlane_net::Access::Wifi(Box::new(wifi::access(wifi, down, rtt)))
        }
        AccessKind::Station { station, link } => {
            let rtt = plan.scenario.network.rtt_at(number);
            airlane_net::Access::Station(Box::new(wifi::station(station, &link.up.queue, rtt)))
        }
    };
    let id = topology.add_access(&access.name, &kind, behind, own);
    built[number] = Some(id);
    Ok(id)
}

/// A direction of an access as the network has it.
fn way(
    plan: &Plan,
    key: RunKey,
    seed: Seed,
    (number, access): (usize, &Access),
    direction: Direction,
) -> Result<airlane_net::Way, InputError> {
    let supply = supply(plan, key, seed, (number, access), direction)?;
    let queue = queue_of(plan, key, (number, access), direction);
    let rtt = plan.scenario.network.rtt_at(number);
    Ok(access.way(direction).realised(queue, supply, rtt))
}

/// A half-duplex access as the network has it, shared by all of its hosts.
fn half_duplex(
    plan: &Plan,
    key: RunKey,
    seed: Seed,
    (number, access): (usize, &Access),
) -> Result<HalfDuplexAccess, InputError> {
    let (supply, offset) = supply(plan, key, seed, (number, access), Direction::Down)?;
    let (mean, rtt) = (supply.mean(), plan.scenario.network.rtt_at(number));
    let way = |direction| {
        let queue = queue_of(plan, key, (number, access), direction);
        access.way(direction).realised_in_turns(queue, mean, rtt)
    };
    let (down, up) = (way(Direction::Down), way(Direction::Up));
    Ok(HalfDuplexAccess { offset, ..HalfDuplexAccess::new(supply, down, up) })
}

/// The queue of a way under a scheme.
fn queue_of<'a>(
    plan: &'a Plan,
    key: RunKey,
    (number, access): (usize, &'a Access),
    direction: Direction,
) -> &'a Queue {
    let other = plan.scenario.schemes[key.scheme].queue.as_ref();
    let other = other.filter(|q| q.access == number && direction == Direction::Down);
    other.map_or(&access.way(direction).queue, |q| &q.queue)
}

/// Supply of a way, and the position in a recording at which the run starts.
pub(super) fn supply(
    plan: &Plan,
    key: RunKey,
    seed: Seed,
    (number, access): (usize, &Access),
    direction: Direction,
) -> Result<(Supply, Duration), InputError> {
    let at = |key: &str| match access.is_short_form {
        true => format!("link.{key}"),
        false if access.is_half_duplex() => format!("access.{number}.{key}"),
        false => format!("access.{number}.{}.{key}", direction.name()),
    };
    match &access.way(direction).capacity {
        Capacity::Constant(rate) => Ok((Supply::Constant(*rate), Duration::ZERO)),
        Capacity::Steps(steps) => {
            let supply = supply_of_steps(steps).map_err(|e| e.at_key(at("steps")))?;
            Ok((supply, Duration::ZERO))
        }
        Capacity::Air => {
            let found =
                format!("the air of \"{}\" is no capacity that is known beforehand", access.name);
            Err(InputError::new(found, "expected a link or a cell"))
        }
        Capacity::Shared => {
            let found = format!("\"{}\" has no capacity of its own upwards", access.name);
            Err(InputError::new(found, "expected its way down, whose capacity is that of both"))
        }
        Capacity::Trace(source) => {
            let Some(trace) = plan.cases[key.case].traces.get(&(number, direction)) else {
                return Err(InputError::new("the trace was not read", "name it with --trace"));
            };
            let supply = trace.supply().scaled(source.scale);
            let supply = supply.map_err(|e| e.at_key(at("trace_scale")))?;
            let length = trace.length().as_secs_f64();
            // The same offset under every scheme: it depends on the case and the seed alone.
            let drawn = || {
                let seed = of_way(seed.split("trace offset"), access, direction);
                Duration::from_secs_f64(seed.rng().random_range(0.0..length))
            };
            let fixed = plan.cases[key.case].offsets.get(&(number, direction)).copied();
            Ok((supply, fixed.or(source.offset).unwrap_or_else(drawn)))
        }
    }
}

/// The part of a seed that belongs to a way. That of the way down of a link in its short form is all
/// of it.
pub fn of_way(seed: Seed, access: &Access, direction: Direction) -> Seed {
    match (access.is_short_form, direction) {
        (true, Direction::Down) => seed,
        _ => seed.split(&access.name).split(direction.name()),
    }
}
