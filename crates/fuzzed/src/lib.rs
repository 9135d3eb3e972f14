//! What is checked of every parser and every protocol on any bytes, one function per fuzz target: no
//! input may make one of them panic, hang, or break what it promises.
//!
//! Two callers run them. libFuzzer does, from `fuzz/fuzz_targets/`, where each target is one line that
//! calls its function here; and this crate's tests do, on every run of the test suite: on what was
//! found before (`fuzz/regressions/`), on damaged valid inputs, and on random bytes.
//!
//! A new target is a module with two functions and a line in [`TARGETS`], a file in
//! `fuzz/fuzz_targets/` and an entry in `fuzz/Cargo.toml`. The tests tell which of them is missing.

mod air;
mod call;
mod capture;
mod clip;
mod cmcd;
mod control_frames;
mod curve;
mod fbdt;
mod feedback;
mod frames;
mod heads;
mod http3_messages;
mod mac_header;
mod manifest;
mod messages;
mod mptcp;
mod normalisation;
mod octopus;
mod packed;
mod pdu_set;
mod popularity;
mod radiotap;
mod reports;
mod request;
mod rtp;
mod scenario;
mod segment;
mod session;
mod socks;
mod subflow;
mod table;
mod tcp_frames;
mod tiles;
mod trace;
mod y4m;

pub use air::air;
pub use call::call;
pub use capture::capture;
pub use clip::clip;
pub use cmcd::cmcd;
pub use control_frames::control_frames;
pub use curve::curve;
pub use fbdt::fbdt;
pub use feedback::feedback;
pub use heads::heads;
pub use http3_messages::http3_messages;
pub use mac_header::mac_header;
pub use manifest::manifest;
pub use messages::messages;
pub use mptcp::mptcp;
pub use normalisation::normalisation;
pub use octopus::octopus;
pub use packed::packed;
pub use pdu_set::pdu_set;
pub use popularity::popularity;
pub use radiotap::radiotap;
pub use reports::reports;
pub use request::request;
pub use rtp::rtp;
pub use scenario::scenario;
pub use segment::segment;
pub use session::session;
pub use socks::socks;
pub use subflow::subflow;
pub use table::table;
pub use tcp_frames::tcp_frames;
pub use tiles::tiles;
pub use trace::trace;
pub use y4m::y4m;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of its function here, of its file in `fuzz/fuzz_targets/`, and of its folder in
    /// `fuzz/regressions/` if there is one.
    pub name: &'static str,
    /// Checks one input. It panics if a promise is broken, and only then.
    pub check: fn(&[u8]),
    /// Valid inputs, which mutations begin from: random bytes alone would not get past the first
    /// field of most formats. Those of protocols are written by the protocol's own encoder.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// The target whose module has this name.
macro_rules! target {
    ($name:ident) => {
        Target { name: stringify!($name), check: $name::$name, seeds: $name::seeds }
    };
}

/// All targets, by name.
pub const TARGETS: &[Target] = &[
    target!(air),
    target!(call),
    target!(capture),
    target!(clip),
    target!(cmcd),
    target!(control_frames),
    target!(curve),
    target!(fbdt),
    target!(feedback),
    target!(heads),
    target!(http3_messages),
    target!(mac_header),
    target!(manifest),
    target!(messages),
    target!(mptcp),
    target!(normalisation),
    target!(octopus),
    target!(packed),
    target!(pdu_set),
    target!(popularity),
    target!(radiotap),
    target!(reports),
    target!(request),
    target!(rtp),
    target!(scenario),
    target!(segment),
    target!(session),
    target!(socks),
    target!(subflow),
    target!(table),
    target!(tcp_frames),
    target!(tiles),
    target!(trace),
    target!(y4m),
];

/// Seeds that are text.
fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
