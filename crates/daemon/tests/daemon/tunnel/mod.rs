//! Tunnels over loopback, through a proxy that can take radios away.

mod air;
mod ends;
mod figures;
mod load;
mod socks;
mod strangers;
mod transfers;
