//! Sessions by what a datagram shows: the name in a STUN request, or the address that it comes from.

use std::collections::BTreeMap;

use super::messages::ParticipantId;
use crate::media::remote::Remote;

/// Addresses that one client may send from: over TCP a browser has one for each of its interfaces and each address that is
/// announced.
const MAX_ADDRESSES: usize = 32;

/// Sessions by name and address. No packet makes more than two look-ups.
#[derive(Debug, Default)]
pub(crate) struct Demux {
    by_fragment: BTreeMap<String, ParticipantId>,
    by_address: BTreeMap<Remote, ParticipantId>,
    /// Addresses of each, the latest last.
    addresses: BTreeMap<ParticipantId, Vec<Remote>>,
}

impl Demux {
    pub(crate) fn add(&mut self, fragment: String, id: ParticipantId) {
        self.by_fragment.insert(fragment, id);
        self.addresses.insert(id, Vec::new());
    }

    pub(crate) fn by_fragment(&self, fragment: &str) -> Option<ParticipantId> {
        self.by_fragment.get(fragment).copied()
    }

    pub(crate) fn by_address(&self, address: Remote) -> Option<ParticipantId> {
        self.by_address.get(&address).copied()
    }

    /// Takes note that a client has proven to send from an address. Its oldest one is forgotten if it has many.
    pub(crate) fn bind(&mut self, address: Remote, id: ParticipantId) {
        if self.by_address.get(&address) == Some(&id) {
            return;
        }
        if let Some(before) = self.by_address.insert(address, id)
            && let Some(addresses) = self.addresses.get_mut(&before)
        {
            addresses.retain(|of| *of != address);
        }
        let Some(addresses) = self.addresses.get_mut(&id) else { return };
        addresses.push(address);
        if addresses.len() > MAX_ADDRESSES {
            let oldest = addresses.remove(0);
            self.by_address.remove(&oldest);
        }
    }

    /// Forgets an address; the session that it was of.
    pub(crate) fn unbind(&mut self, address: Remote) -> Option<ParticipantId> {
        let id = self.by_address.remove(&address)?;
        if let Some(addresses) = self.addresses.get_mut(&id) {
            addresses.retain(|of| *of != address);
        }
        Some(id)
    }

    pub(crate) fn remove(&mut self, fragment: &str, id: ParticipantId) {
        self.by_fragment.remove(fragment);
        for address in self.addresses.remove(&id).unwrap_or_default() {
            self.by_address.remove(&address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> Remote {
        Remote::udp(([192, 0, 2, 1], port).into())
    }

    #[test]
    fn an_address_is_of_a_session_over_one_transport() {
        let (a, b) = (ParticipantId(1), ParticipantId(2));
        let mut demux = Demux::default();
        demux.add("a".to_owned(), a);
        demux.add("b".to_owned(), b);
        let (udp, tcp) = (at(1), Remote::tcp(at(1).address));
        demux.bind(udp, a);
        assert_eq!((demux.by_address(udp), demux.by_address(tcp)), (Some(a), None));
        demux.bind(tcp, b);
        assert_eq!((demux.by_address(udp), demux.unbind(tcp)), (Some(a), Some(b)));
        assert_eq!((demux.by_address(tcp), demux.unbind(tcp)), (None, None));
    }

    #[test]
    fn a_client_has_its_last_addresses_alone() {
        let (a, b) = (ParticipantId(1), ParticipantId(2));
        let mut demux = Demux::default();
        demux.add("a".to_owned(), a);
        demux.add("b".to_owned(), b);
        for port in 1..=1000 {
            demux.bind(at(port), a);
        }
        assert_eq!(demux.by_address.len(), MAX_ADDRESSES);
        let last = 1000 - MAX_ADDRESSES as u16;
        assert_eq!((demux.by_address(at(last)), demux.by_address(at(last + 1))), (None, Some(a)));
        // An address that is another's now is no more the first one's.
        demux.bind(at(1000), b);
        demux.remove("a", a);
        assert_eq!((demux.by_address(at(999)), demux.by_address(at(1000))), (None, Some(b)));
        assert_eq!((demux.by_fragment("a"), demux.by_fragment("b")), (None, Some(b)));
        demux.remove("b", b);
        assert!(demux.by_address.is_empty() && demux.addresses.is_empty());
    }
}
