//! Packets that the kernel dropped before the link could read them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};

/// Source of the kernel's counts of dropped packets, by direction.
pub(crate) enum Missed {
    /// Of sockets, in a list of all of them by their numbers.
    Sockets([SocketDrops; 2]),
    /// Of devices, in files of their namespaces, by their names.
    Devices([(File, String); 2]),
}

/// Numbers of packets that the sockets of one direction missed: sockets come and go.
#[derive(Debug, Default)]
pub(crate) struct SocketDrops {
    known: BTreeMap<u64, u64>,
    gone: u64,
}

impl SocketDrops {
    fn update(&mut self, sockets: &[u64], listed: &BTreeMap<u64, u64>) -> u64 {
        let before = std::mem::take(&mut self.known);
        let drops = |s: &u64| listed.get(s).or_else(|| before.get(s)).copied().unwrap_or(0);
        self.known = sockets.iter().map(|s| (*s, drops(s))).collect();
        let left = before.iter().filter(|(s, _)| !self.known.contains_key(s));
        self.gone += left.map(|(_, drops)| drops).sum::<u64>();
        self.gone + self.known.values().sum::<u64>()
    }
}

impl Missed {
    /// For sockets.
    pub(crate) fn of_sockets() -> Self {
        Self::Sockets(Default::default())
    }

    /// Packets missed so far in each direction, of sockets with these numbers. What the kernel
    /// does not tell is zero.
    pub(crate) fn count(&mut self, sockets: &[Vec<u64>; 2]) -> [u64; 2] {
        match self {
            Self::Sockets(both) => {
                let mut listed = BTreeMap::new();
                for list in ["/proc/self/net/udp", "/proc/self/net/udp6"] {
                    let text = std::fs::read_to_string(list).unwrap_or_default();
                    listed.extend(text.lines().filter_map(socket_drops));
                }
                [0, 1].map(|i| both[i].update(&sockets[i], &listed))
            }
            Self::Devices(both) => both.each_mut().map(|(file, name)| {
                let mut text = String::new();
                let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
                let found =
                    read.ok().and_then(|_| text.lines().find_map(|line| device_drops(line, name)));
                found.unwrap_or(0)
            }),
        }
    }
}

/// Number and drops of a socket, of a line of `/proc/net/udp`.
fn socket_drops(line: &str) -> Option<(u64, u64)> {
    let mut fields = line.split_whitespace();
    let number = fields.nth(9)?.parse().ok()?;
    Some((number, fields.nth(2)?.parse().ok()?))
}

/// Packets that a device could not hand on to who reads it, of its line of `/proc/net/dev`.
fn device_drops(line: &str, name: &str) -> Option<u64> {
    let (device, counters) = line.split_once(':')?;
    if device.trim() != name {
        return None;
    }
    counters.split_whitespace().nth(11)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let line = "  431: 0100007F:1F90 00000000:0000 07 00000000:00000000 00:00000000 00000000  \
                    1000        0 5417 2 ffff8d3a 17";
        assert_eq!(socket_drops(line), Some((5_417, 17)));
        let header = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt  \
                      uid  timeout inode ref pointer drops";
        assert_eq!(socket_drops(header), None);
        let line = "  air0: 1000 10 0 1 0 0 0 0 2000 20 0 42 0 0 0 0";
        assert_eq!(device_drops(line, "air0"), Some(42));
        assert_eq!(device_drops(line, "air"), None);
        assert_eq!(device_drops("face |bytes packets", "air0"), None);
    }

    #[test]
    fn drops_of_sockets_that_are_gone_stay_counted() {
        let mut drops = SocketDrops::default();
        let listed = |all: &[(u64, u64)]| all.iter().copied().collect::<BTreeMap<_, _>>();
        assert_eq!(drops.update(&[1, 2], &listed(&[(1, 5), (2, 0), (9, 100)])), 5);
        assert_eq!(drops.update(&[2, 3], &listed(&[(2, 1)])), 6);
        assert_eq!(drops.update(&[], &listed(&[])), 6);
    }
}
