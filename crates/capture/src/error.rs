//! Why a capture cannot be read, listened to or written.

use std::io;

/// Error of a capture that cannot be read, listened to or written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The disk or the kernel refuses.
    #[error("cannot {doing}: {error}")]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The reason.
        error: io::Error,
    },
    /// The file is none of the formats that are read.
    #[error("this is no capture; expected pcap or pcapng, plain or gzipped ({found})")]
    NotACapture {
        /// Bytes that were found.
        found: String,
    },
    /// The packets are none of 802.11.
    #[error("{found}; expected link type 127 (802.11 with radiotap) or 105 (802.11 without)")]
    LinkType {
        /// Link types that were found.
        found: String,
    },
    /// There is no such network interface.
    #[error(
        "no file and no network interface is called {name:?}; expected a capture, or a monitor interface"
    )]
    NoInterface {
        /// The name.
        name: String,
    },
    /// The interface hears no frames of others.
    #[error(
        "{name} is {found}; expected one in monitor mode: iw dev wlan0 interface add mon0 type \
         monitor && ip link set mon0 up"
    )]
    NotMonitor {
        /// The interface.
        name: String,
        /// The value.
        found: String,
    },
    /// The interface is not up.
    #[error("{name} is down; expected one that is up: ip link set {name} up")]
    Down {
        /// The interface.
        name: String,
    },
    /// Packet sockets are for the privileged.
    #[error(
        "no permission to listen on {name}; expected root or the capability CAP_NET_RAW: sudo, or \
         setcap cap_net_raw+ep on the program"
    )]
    Permission {
        /// The interface.
        name: String,
    },
    /// The system has no packet sockets.
    #[error("listening on an interface takes Linux; expected a file")]
    Unsupported,
    /// A record that the standard cannot express.
    #[error("a record cannot be written: {0}")]
    Unwritable(&'static str),
}

impl CaptureError {
    /// Errors of the disk.
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { doing, error }
    }
}
