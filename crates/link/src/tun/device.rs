//! One TUN device.

use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use tun_rs::{DeviceBuilder, Layer, SyncDevice};

use super::{TunEnd, namespace};
use crate::error::LinkError;

/// Packets that the kernel keeps while the link's thread does not read: 30 ms of small packets at
/// a million per second, 120 ms of full ones at 1 Gbit/s.
const KERNEL_QUEUE_PACKETS: u32 = 10_000;

pub(crate) struct Device {
    name: String,
    device: SyncDevice,
    /// The list of the counters of all devices of its namespace.
    counters: File,
}

impl Device {
    /// Makes the device where it belongs, and takes it up.
    pub(super) fn new(end: &TunEnd, mtu: u16) -> Result<Self, LinkError> {
        namespace::within(end.namespace.as_deref(), || {
            let device = make(end, mtu);
            let device = device.map_err(LinkError::device(format!("make the device {end}")))?;
            // Of the namespace that this thread is in, also for those who read it elsewhere.
            let counters = File::open("/proc/thread-self/net/dev");
            let counters = counters.map_err(LinkError::device("read /proc/thread-self/net/dev"))?;
            Ok(Self { name: end.name.clone(), device, counters })
        })
    }

    /// Reads a packet; `None` if there is none.
    pub(super) fn read(&self, buffer: &mut [u8]) -> Result<Option<usize>, LinkError> {
        match self.device.recv(buffer) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e)
                if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) =>
            {
                Ok(None)
            }
            Err(e) => Err(LinkError::system("read from a device (was it removed?)")(e)),
        }
    }

    /// Hands a packet to the kernel.
    pub(super) fn write(&self, packet: &[u8]) -> io::Result<()> {
        self.device.send(packet).map(drop)
    }

    /// File in which the kernel counts the device's packets, and the device's name in it.
    pub(super) fn counters(&self) -> Result<(File, String), LinkError> {
        let file = self.counters.try_clone().map_err(LinkError::system("keep a file open"))?;
        Ok((file, self.name.clone()))
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

fn make(end: &TunEnd, mtu: u16) -> io::Result<SyncDevice> {
    let mut builder = DeviceBuilder::new()
        .name(&end.name)
        .layer(Layer::L3)
        .mtu(mtu)
        .tx_queue_len(KERNEL_QUEUE_PACKETS)
        .inherit_enable_state();
    let mut six = false;
    for (address, prefix) in &end.addresses {
        match address {
            IpAddr::V4(a) => builder = builder.ipv4(*a, *prefix, None),
            IpAddr::V6(a) => (builder, six) = (builder.ipv6(*a, *prefix), true),
        }
    }
    let device = builder.build_sync()?;
    if !six {
        // Else the kernel looks for routers on a link that is to carry what is measured. A kernel
        // without IPv6 has no such file and no such packets.
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", end.name), "1");
    }
    device.set_nonblocking(true)?;
    device.enabled(true)?;
    Ok(device)
}
