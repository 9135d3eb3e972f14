//! Sealing packets, and changing keys (after RFC 9001, sections 5.3 and 6).

use std::fmt;

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk};

use crate::wire::TAG_BYTES;

/// Bytes of a secret.
pub const SECRET_BYTES: usize = 32;
const KEY_BYTES: usize = 16;
const IV_BYTES: usize = 12;

/// The tag of the laboratory's cipher, which protects nothing.
const NO_SEAL: [u8; TAG_BYTES] = *b"airlane-no-seal!";

/// Secret from which the keys of one direction are derived: of the exporter of the QUIC connection.
#[derive(Clone)]
pub struct Secret(pub [u8; SECRET_BYTES]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Protection of packets.
#[derive(Clone, Debug)]
pub enum Protection {
    /// AES-128-GCM with keys from these secrets: of what is sent, and of what comes.
    Sealed {
        /// Of what is sent.
        send: Secret,
        /// Of what comes.
        receive: Secret,
    },
    /// Not at all, in the same room. For the laboratory only.
    Null,
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// Fills `out` with what `secret` gives under a label.
fn expand(secret: &Secret, label: &str, out: &mut [u8]) {
    let label = [label.as_bytes()];
    let prk = Prk::new_less_safe(HKDF_SHA256, &secret.0);
    let filled = prk.expand(&label, Length(out.len())).and_then(|okm| okm.fill(out));
    debug_assert!(filled.is_ok(), "lengths far below the limit of HKDF");
}

/// The key of one phase.
struct Key {
    secret: Secret,
    aead: LessSafeKey,
    iv: [u8; IV_BYTES],
}

impl Key {
    fn new(secret: Secret) -> Self {
        let (mut key, mut iv) = ([0; KEY_BYTES], [0; IV_BYTES]);
        expand(&secret, "airlane messages key", &mut key);
        expand(&secret, "airlane messages iv", &mut iv);
        let key = UnboundKey::new(&AES_128_GCM, &key);
        // The length is that of the algorithm.
        let aead = LessSafeKey::new(key.unwrap_or_else(|_| unreachable!("a key of 16 bytes")));
        Self { secret, aead, iv }
    }

    fn next(&self) -> Self {
        let mut secret = [0; SECRET_BYTES];
        expand(&self.secret, "airlane messages update", &mut secret);
        Self::new(Secret(secret))
    }

    /// The packet number, in the last eight bytes of what is drawn.
    fn nonce(&self, pn: u64) -> Nonce {
        let mut nonce = self.iv;
        for (byte, number) in nonce[IV_BYTES - 8..].iter_mut().zip(pn.to_be_bytes()) {
            *byte ^= number;
        }
        Nonce::assume_unique_for_key(nonce)
    }

    /// Opens in place; the length of what was sealed.
    fn open(&self, pn: u64, clear: &[u8], sealed: &mut [u8]) -> Option<usize> {
        let opened = self.aead.open_in_place(self.nonce(pn), Aad::from(clear), sealed);
        opened.ok().map(|frame| frame.len())
    }
}

/// Seals what is sent.
pub(crate) struct Sealer {
    key: Option<Key>,
    phase: bool,
    /// The first packet of this phase.
    since: u64,
    /// Packets after which the key changes, once one of them was acknowledged.
    update_after: u64,
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("phase", &self.phase).field("since", &self.since).finish()
    }
}

impl Sealer {
    pub(crate) fn new(protection: &Protection, update_after: u64) -> Self {
        let key = match protection {
            Protection::Sealed { send, .. } => Some(Key::new(send.clone())),
            Protection::Null => None,
        };
        Self { key, phase: false, since: 0, update_after }
    }

    /// The phase of packet `pn`. `acked` is the newest packet that the peer has acknowledged: it
    /// shows whether the peer has this phase's key.
    pub(crate) fn phase(&mut self, pn: u64, acked: Option<u64>) -> bool {
        if let Some(key) = &mut self.key
            && pn - self.since >= self.update_after
            && acked.is_some_and(|acked| acked >= self.since)
        {
            *key = key.next();
            self.phase = !self.phase;
            self.since = pn;
        }
        self.phase
    }

    /// Seals what stands in `packet` from `clear` on, and puts the tag behind it.
    pub(crate) fn seal(&self, pn: u64, packet: &mut Vec<u8>, clear: usize) {
        let Some(key) = &self.key else {
            packet.extend_from_slice(&NO_SEAL);
            return;
        };
        let (aad, frame) = packet.split_at_mut(clear);
        let aad = Aad::from(&*aad);
        match key.aead.seal_in_place_separate_tag(key.nonce(pn), aad, frame) {
            Ok(tag) => packet.extend_from_slice(tag.as_ref()),
            // Only of gigabytes.
            Err(_) => packet.truncate(clear),
        }
    }
}

/// Opens what comes.
pub(crate) struct Opener {
    keys: Option<Keys>,
    phase: bool,
    /// The first packet that came in this phase, as far as is known.
    since: u64,
}

struct Keys {
    previous: Option<Key>,
    current: Key,
    next: Key,
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener").field("phase", &self.phase).field("since", &self.since).finish()
    }
}

impl Opener {
    pub(crate) fn new(protection: &Protection) -> Self {
        let keys = match protection {
            Protection::Sealed { receive, .. } => {
                let current = Key::new(receive.clone());
                Some(Keys { previous: None, next: current.next(), current })
            }
            Protection::Null => None,
        };
        Self { keys, phase: false, since: 0 }
    }

    /// Opens in place; the length of the frame, or `None` if nobody who has the key sealed it.
    pub(crate) fn open(
        &mut self,
        pn: u64,
        phase: bool,
        clear: &[u8],
        sealed: &mut [u8],
    ) -> Option<usize> {
        let Some(keys) = &mut self.keys else {
            let frame = sealed.len().checked_sub(TAG_BYTES)?;
            return (sealed[frame..] == NO_SEAL).then_some(frame);
        };
        if phase == self.phase {
            let frame = keys.current.open(pn, clear, sealed)?;
            self.since = self.since.min(pn);
            return Some(frame);
        }
        if pn < self.since {
            // A late one of the phase before.
            return keys.previous.as_ref()?.open(pn, clear, sealed);
        }
        let frame = keys.next.open(pn, clear, sealed)?;
        let next = keys.next.next();
        let current = std::mem::replace(&mut keys.next, next);
        keys.previous = Some(std::mem::replace(&mut keys.current, current));
        self.phase = phase;
        self.since = pn;
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(update_after: u64) -> (Sealer, Opener) {
        let secret = |n| Secret([n; SECRET_BYTES]);
        let ours = Protection::Sealed { send: secret(1), receive: secret(2) };
        let theirs = Protection::Sealed { send: secret(2), receive: secret(1) };
        (Sealer::new(&ours, update_after), Opener::new(&theirs))
    }

    const CLEAR: &[u8] = b"in clear";

    fn sealed(sealer: &Sealer, pn: u64) -> Vec<u8> {
        let mut packet = CLEAR.to_vec();
        packet.extend_from_slice(b"a frame");
        sealer.seal(pn, &mut packet, CLEAR.len());
        packet
    }

    fn open(opener: &mut Opener, pn: u64, phase: bool, packet: &[u8]) -> bool {
        let mut packet = packet.to_vec();
        let (clear, sealed) = packet.split_at_mut(CLEAR.len());
        opener.open(pn, phase, clear, sealed).is_some_and(|n| &sealed[..n] == b"a frame")
    }

    #[test]
    fn what_was_changed_does_not_open() {
        let (mut sealer, mut opener) = pair(u64::MAX);
        let phase = sealer.phase(7, None);
        let packet = sealed(&sealer, 7);
        assert_ne!(&packet[CLEAR.len()..][..7], b"a frame");
        assert!(open(&mut opener, 7, phase, &packet));
        assert!(!open(&mut opener, 8, phase, &packet));
        assert!(!open(&mut opener, 7, !phase, &packet));
        for bit in 0..8 * packet.len() {
            let mut forged = packet.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            assert!(!open(&mut opener, 7, phase, &forged), "bit {bit}");
        }
        assert!(!open(&mut opener, 7, phase, &packet[..CLEAR.len()]));
        assert!(open(&mut opener, 7, phase, &packet));
    }

    #[test]
    fn keys_change_and_late_packets_still_open() {
        let (mut sealer, mut opener) = pair(10);
        let mut acked = None;
        let mut late = None;
        let mut phases = 0;
        let mut last = false;
        for pn in 0..200 {
            let phase = sealer.phase(pn, acked);
            phases += u64::from(phase != last);
            last = phase;
            let packet = sealed(&sealer, pn);
            if pn % 10 == 8 {
                late = Some((pn, phase, packet));
                continue;
            }
            assert!(open(&mut opener, pn, phase, &packet), "{pn}");
            if let Some((pn, phase, packet)) = late.take_if(|(late, ..)| *late + 4 == pn) {
                assert!(open(&mut opener, pn, phase, &packet), "late {pn}");
            }
            acked = Some(pn);
        }
        assert!(phases >= 15, "{phases}");
    }

    #[test]
    fn a_key_is_not_changed_before_the_peer_has_it() {
        let (mut sealer, _) = pair(10);
        assert!(!sealer.phase(50, None));
        assert!(sealer.phase(50, Some(3)));
        // Nothing of this phase was acknowledged yet.
        assert!(sealer.phase(100, Some(49)));
        assert!(!sealer.phase(100, Some(50)));
    }
}
