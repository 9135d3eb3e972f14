//! Listens on a monitor interface: a packet socket of Linux.

#[cfg(target_os = "linux")]
mod socket;

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::error::CaptureError;
use crate::file::{LinkType, Record};

/// Interface types of the kernel (`linux/if_arp.h`): 802.11, with Prism headers, with radiotap.
const ARPHRD_IEEE80211: u32 = 801;
const ARPHRD_PRISM: u32 = 802;
const ARPHRD_RADIOTAP: u32 = 803;

/// A monitor interface that is listened to.
#[derive(Debug)]
pub struct Monitor {
    #[cfg(target_os = "linux")]
    socket: socket::PacketSocket,
    link: LinkType,
    buffer: Vec<u8>,
}

impl Monitor {
    /// True if there is a network interface of that name.
    pub fn exists(name: &str) -> bool {
        folder(name).is_some_and(|folder| folder.exists())
    }

    /// Listens on a monitor interface.
    ///
    /// # Errors
    /// If there is none of that name, it is no monitor interface, or listening is not allowed.
    pub fn open(name: &str) -> Result<Self, CaptureError> {
        let name = name.to_owned();
        let folder = folder(&name)
            .filter(|folder| folder.exists())
            .ok_or_else(|| CaptureError::NoInterface { name: name.clone() })?;
        let number = |file: &str| -> Option<u32> {
            fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
        };
        let kind = number("type").unwrap_or_default();
        let link = match kind {
            ARPHRD_RADIOTAP => LinkType::Radiotap,
            ARPHRD_IEEE80211 => LinkType::Ieee80211 { has_fcs: false },
            _ => {
                let is_wifi = folder.join("phy80211").exists();
                let found = match kind {
                    ARPHRD_PRISM => "in monitor mode with Prism headers, which are not read",
                    _ if is_wifi => "a WiFi interface, but not in monitor mode",
                    772 => "the loopback interface",
                    1 => "an Ethernet interface",
                    _ => "no WiFi interface",
                };
                return Err(CaptureError::NotMonitor { name, found: found.to_owned() });
            }
        };
        let flags = fs::read_to_string(folder.join("flags")).unwrap_or_default();
        let flags = u32::from_str_radix(flags.trim().trim_start_matches("0x"), 16).unwrap_or(1);
        if flags & 1 == 0 {
            return Err(CaptureError::Down { name });
        }
        Self::listen(&name, number("ifindex").unwrap_or_default(), link)
    }

    #[cfg(target_os = "linux")]
    fn listen(name: &str, index: u32, link: LinkType) -> Result<Self, CaptureError> {
        let socket = socket::PacketSocket::open(index).map_err(|error| {
            if error.kind() == std::io::ErrorKind::PermissionDenied {
                CaptureError::Permission { name: name.to_owned() }
            } else {
                CaptureError::Io { doing: "listen", error }
            }
        })?;
        Ok(Self { socket, link, buffer: vec![0; crate::file::MAX_RECORD] })
    }

    #[cfg(not(target_os = "linux"))]
    fn listen(_name: &str, _index: u32, _link: LinkType) -> Result<Self, CaptureError> {
        Err(CaptureError::Unsupported)
    }

    /// The next packet; `None` if none came for `timeout`, or a signal did.
    ///
    /// # Errors
    /// If the interface is gone, or the kernel refuses otherwise.
    #[cfg(target_os = "linux")]
    pub fn read(&mut self, timeout: Duration) -> Result<Option<Record<'_>>, CaptureError> {
        let received = self.socket.receive(&mut self.buffer, timeout);
        let Some(packet) = received.map_err(CaptureError::io("listen"))? else {
            return Ok(None);
        };
        Ok(Some(Record {
            nanos: packet.nanos,
            link: self.link,
            interface: 0,
            bytes: &self.buffer[..packet.captured],
            original: u32::try_from(packet.original).unwrap_or(u32::MAX),
        }))
    }

    /// The next packet.
    ///
    /// # Errors
    /// Always: it takes Linux.
    #[cfg(not(target_os = "linux"))]
    pub fn read(&mut self, _timeout: Duration) -> Result<Option<Record<'_>>, CaptureError> {
        let _ = (self.link, &mut self.buffer);
        Err(CaptureError::Unsupported)
    }

    /// Packets that the kernel dropped because they were not taken in time, since the last call.
    pub fn dropped(&self) -> u64 {
        #[cfg(target_os = "linux")]
        return self.socket.dropped();
        #[cfg(not(target_os = "linux"))]
        0
    }
}

/// A file of an interface in sysfs; `None` if there can be none of that name.
fn folder(name: &str) -> Option<std::path::PathBuf> {
    let is_name =
        !name.is_empty() && name.len() < 16 && !name.contains('/') && !name.starts_with('.');
    is_name.then(|| Path::new("/sys/class/net").join(name))
}
