//! Tunnels over loopback, through a proxy that can take radios away.

mod air;
mod ends;
mod figures;
mod keys;
mod limits;
mod load;
mod radio_terms;
mod socks;
mod strangers;
mod transfers;
