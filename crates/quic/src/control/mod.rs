//! The controller adapter: runs Airlane's congestion controllers inside noq, and lets other tasks
//! reach a connection's controller while it runs.
//!
//! noq expects an object of its own trait per path. Airlane's controllers have another interface, a
//! pacer of their own and counts that outlive a path. The adapter translates:
//!
//! ```text
//! noq --(sent, acknowledged, lost, marked)--> Adapter --> Core --> SendState --> Controller, Pacer
//! noq <-------(window: two atomics)---------- Shared <--publish-----'
//! role --(weight, rate, statistics)--> ControlHandle --> Core
//! driver --(begin and end of a turn, wake-up time)--> Shared
//! ```
//!
//! - `Factory` makes an `Adapter` for every path that noq opens. Each adapter reports to one path
//!   of the connection's [`SendState`](airlane_congestion::SendState).
//! - `Shared` exists once per connection. It holds the `Core` under a lock, and atomics with what
//!   noq asks for several times per packet: the window, and until when the pacer holds packets.
//! - `Core` is the `SendState`, the path that noq sends on now, and the qlog. Events that the
//!   log records pass through it.
//! - [`ControlHandle`] reads statistics and sends signals (weight, rate) to the controller. It
//!   holds the connection weakly: it does not keep it open, and its counts stay readable
//!   afterwards.
//!
//! Invariants:
//!
//! - The lock is taken once per packet sent, acknowledged or lost, and once per frame, turn or
//!   signal. Reading the window takes none, unless the pacer holds the packet, which is noted in
//!   the state.
//! - Whatever may change window or pacer ends in `Shared::publish`; else noq would act on an old
//!   window. Acknowledgements publish once, at the end of their frame.
//! - Only 1-RTT packets that are not MTU probes reach the controller.
//! - A connection always has one path at least: the last one stays after noq has dropped its
//!   adapter, with its counts.
//! - A panic in a controller ends its connection and no other, and no controller of that connection
//!   is called again.
//!
//! `noq.rs` lists what noq 1.4.0 makes necessary, point by point; `docs/design/quic.md` has the
//! reasons.

mod core;
mod handle;
mod noq;

pub use handle::{ControlHandle, ControlProgress, ControlStats};
pub(crate) use noq::{ControlledLink, Factory, Shared};
