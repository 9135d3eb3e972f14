//! The TUN pair: two devices, often in namespaces of their own, and the link between them.

mod device;
pub mod ip;
mod namespace;

use std::fmt;
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::str::FromStr;

use airlane_base::{InputError, Time};

use crate::clock::Clock;
use crate::driver::{Book, Outlet, Port};
use crate::engine::{DIRECTIONS, Delivery, Engine, place};
use crate::error::LinkError;
use crate::totals::{ClientTotals, Reason};
pub(crate) use device::Device;
pub(crate) use namespace::Namespaces;

/// One end of a pair: a device, where it is and which addresses it has.
///
/// Written `NAME[@NAMESPACE][=ADDRESS/PREFIX[,ADDRESS/PREFIX]]`, such as
/// `air0@viewer=10.77.0.1/24`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunEnd {
    /// The name of the device, 1 to 15 bytes.
    pub name: String,
    /// The network namespace, by the name that `ip netns` knows; made if it is missing. `None`:
    /// the one that the link runs in.
    pub namespace: Option<String>,
    /// Addresses with the lengths of their prefixes: one of IPv4 at most, any number of IPv6.
    pub addresses: Vec<(IpAddr, u8)>,
}

impl FromStr for TunEnd {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        let (place, addresses) = text.split_once('=').unwrap_or((text, ""));
        let (name, namespace) = match place.split_once('@') {
            Some((name, namespace)) => (name, Some(namespace)),
            None => (place, None),
        };
        let addresses = addresses.split(',').filter(|a| !a.is_empty()).map(address);
        Ok(Self {
            name: checked(name, "a device's name", 15)?,
            namespace: namespace.map(|n| checked(n, "a namespace's name", 200)).transpose()?,
            addresses: addresses.collect::<Result<_, _>>()?,
        })
    }
}

impl fmt::Display for TunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "@{namespace}")?;
        }
        for (i, (address, prefix)) in self.addresses.iter().enumerate() {
            write!(f, "{}{address}/{prefix}", if i == 0 { '=' } else { ',' })?;
        }
        Ok(())
    }
}

/// A name that stands in paths and commands: a word, and no option.
fn checked(name: &str, what: &str, most: usize) -> Result<String, InputError> {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let sound = (1..=most).contains(&name.len())
        && name.chars().all(word)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if sound {
        return Ok(name.to_owned());
    }
    let expected =
        format!("expected {what}: 1 to {most} letters, digits, `_`, `-` and `.`, such as air0");
    Err(InputError::new(format!("`{name}`"), expected))
}

fn address(text: &str) -> Result<(IpAddr, u8), InputError> {
    let wrong = || {
        let expected = "expected an address and the length of its prefix, such as 10.77.0.1/24";
        InputError::new(format!("`{text}`"), expected)
    };
    let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let prefix = prefix.parse().ok().filter(|p| *p <= most).ok_or_else(wrong)?;
    Ok((address, prefix))
}

/// Configuration of a pair of devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunSpec {
    /// The end whose packets go up.
    pub near: TunEnd,
    /// The end whose packets go down.
    pub far: TunEnd,
    /// The greatest packet that the devices take, in IP bytes.
    pub mtu: u16,
}

impl TunSpec {
    /// A pair with packets of at most 1500 bytes.
    pub const fn new(near: TunEnd, far: TunEnd) -> Self {
        Self { near, far, mtu: 1_500 }
    }

    fn check(&self) -> Result<(), InputError> {
        let Self { near, far, mtu } = self;
        if near.namespace == far.namespace {
            let found = match &near.namespace {
                Some(name) => format!("both ends in the namespace {name}"),
                None => "both ends in the link's own namespace".to_owned(),
            };
            let expected = "expected one end elsewhere, such as air1@far: between addresses of one \
                            namespace the kernel takes no link";
            return Err(InputError::new(found, expected).at_key("far"));
        }
        // IPv6 does not work below.
        if *mtu < 1_280 {
            let found = format!("{mtu} is too small");
            return Err(InputError::new(found, "expected 1280 to 65535").at_key("mtu_bytes"));
        }
        for (end, key) in [(near, "near"), (far, "far")] {
            if end.addresses.iter().filter(|(a, _)| a.is_ipv4()).count() > 1 {
                let found = "several IPv4 addresses";
                return Err(InputError::new(found, "expected one at most").at_key(key));
            }
        }
        Ok(())
    }
}

/// Packets of one device that are read in one go.
const BATCH: usize = 64;

pub(crate) struct Pair {
    /// By the direction of the packets that are read from it.
    devices: [Device; 2],
    buffer: Box<[u8]>,
}

impl Pair {
    /// Makes the devices and the namespaces that are missing.
    pub(crate) fn new(spec: &TunSpec) -> Result<(Self, Namespaces), LinkError> {
        spec.check()?;
        let mut namespaces = Namespaces::default();
        let mut make = |end: &TunEnd| {
            if let Some(name) = &end.namespace {
                namespaces.ensure(name)?;
            }
            Device::new(end, spec.mtu)
        };
        let devices = [make(&spec.near)?, make(&spec.far)?];
        Ok((Self { devices, buffer: vec![0; 1 << 16].into() }, namespaces))
    }

    /// The kernel's counters of both devices.
    pub(crate) fn counters(&self) -> Result<[(File, String); 2], LinkError> {
        let [near, far] = &self.devices;
        Ok([near.counters()?, far.counters()?])
    }
}

impl Port for Pair {
    fn sources(&self) -> [BorrowedFd<'_>; 2] {
        [self.devices[0].as_fd(), self.devices[1].as_fd()]
    }

    fn receive(
        &mut self,
        ready: [bool; 2],
        clock: &Clock,
        engine: &mut Engine,
        _book: &mut Book,
    ) -> Result<(), LinkError> {
        for direction in DIRECTIONS.into_iter().filter(|d| ready[place(*d)]) {
            let device = &self.devices[place(direction)];
            for _ in 0..BATCH {
                let Some(bytes) = device.read(&mut self.buffer)? else { break };
                let packet = &self.buffer[..bytes];
                // What finds no memory is counted by the engine.
                let class = ip::traffic_class(packet);
                let _ = engine.push(clock.now(), direction, 0, class, 0, packet);
            }
        }
        Ok(())
    }

    fn send(&mut self, mut delivery: Delivery, outlet: &mut Outlet<'_>) {
        // It came from one device and goes to the other.
        let device = &self.devices[1 - place(delivery.direction)];
        let class = delivery.packet.traffic_class();
        if ip::traffic_class(&delivery.packet.payload) != class {
            ip::set_traffic_class(&mut delivery.packet.payload, class);
        }
        let sent = device.write(&delivery.packet.payload).map_err(|_| Reason::Unsent);
        outlet.done(std::iter::once(delivery), sent);
    }

    fn flush(&mut self, _outlet: &mut Outlet<'_>) {}

    fn look_after(&mut self, _now: Time) -> Option<Time> {
        None
    }

    fn clients(&self) -> ClientTotals {
        ClientTotals::default()
    }

    fn sockets(&self) -> [Vec<u64>; 2] {
        [Vec::new(), Vec::new()]
    }
}
