//! The first message on a subflow each way: which session it belongs to, and how its interface is used.

use airlane_fbdt::Preference;
use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::error::MultipathError;

/// The first bytes, before the version.
const MAGIC: &[u8; 4] = b"ALTK";
/// The version of the format.
const VERSION: u8 = 2;
/// Bytes of a hello.
pub(crate) const HELLO_BYTES: usize = 4 + 1 + 16 + 1 + 1 + 4 + 8 + 8;
/// The flag of a backup.
const BACKUP: u8 = 1;
/// Bytes of the answer.
pub(crate) const WELCOME_BYTES: usize = 4 + 1 + 8;

/// Id of a session, which only its two ends know: 128 random bits.
pub type SessionId = [u8; 16];

/// The first message of a client on a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionHello {
    /// The session that the subflow belongs to.
    pub session: SessionId,
    /// The number of the interface.
    pub interface: u8,
    /// The preference of the interface.
    pub preference: Preference,
    /// Rate limit of each end on it, bit/s, above 0.
    pub max_bps: Option<u64>,
    /// Credit of the server on the subflow at first, bytes. `None`: not limited.
    pub credit: Option<u64>,
}

impl SessionHello {
    /// As bytes.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(HELLO_BYTES);
        out.put_slice(MAGIC);
        out.put_u8(VERSION);
        out.put_slice(&self.session);
        out.put_u8(self.interface);
        out.put_u8(if self.preference.is_backup { BACKUP } else { 0 });
        out.put_u32(self.preference.price);
        out.put_u64(self.max_bps.unwrap_or(0));
        out.put_u64(self.credit.unwrap_or(u64::MAX));
        out.freeze()
    }

    /// Reads what [`Self::encode`] wrote.
    ///
    /// # Errors
    /// If it is of another protocol, version or length.
    pub fn decode(mut from: &[u8]) -> Result<Self, MultipathError> {
        if from.len() != HELLO_BYTES {
            return Err(MultipathError::Protocol("a subflow's hello of another length"));
        }
        version(&mut from)?;
        let mut session = SessionId::default();
        from.copy_to_slice(&mut session);
        let interface = from.get_u8();
        let is_backup = match from.get_u8() {
            0 => false,
            BACKUP => true,
            _ => return Err(MultipathError::Protocol("a subflow's hello with unknown flags")),
        };
        let preference = Preference { is_backup, price: from.get_u32() };
        let max_bps = Some(from.get_u64()).filter(|most| *most > 0);
        let credit = Some(from.get_u64()).filter(|credit| *credit < u64::MAX);
        Ok(Self { session, interface, preference, max_bps, credit })
    }
}

/// The answer: which of the sessions that ever had this id it is, a random number of the end that
/// accepts. One that was started again knows its sessions no more.
pub(crate) fn welcome(incarnation: u64) -> Bytes {
    let mut out = BytesMut::with_capacity(WELCOME_BYTES);
    out.put_slice(MAGIC);
    out.put_u8(VERSION);
    out.put_u64(incarnation);
    out.freeze()
}

/// Reads an answer of [`WELCOME_BYTES`].
pub(crate) fn incarnation(mut from: &[u8]) -> Result<u64, MultipathError> {
    if from.len() != WELCOME_BYTES {
        return Err(MultipathError::Protocol("a subflow's welcome of another length"));
    }
    version(&mut from)?;
    Ok(from.get_u64())
}

fn version(from: &mut &[u8]) -> Result<(), MultipathError> {
    let (magic, rest) = from.split_at(MAGIC.len());
    *from = rest;
    match magic == MAGIC && from.get_u8() == VERSION {
        true => Ok(()),
        false => Err(MultipathError::Protocol("a first message of another protocol or version")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_messages_are_as_the_document_has_them() {
        let text = include_str!("../../../../docs/reference/wire/multipath.md");
        let vector = |name: &str| -> String {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.chars().filter(char::is_ascii_hexdigit).collect()
        };
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let hello = SessionHello {
            session: std::array::from_fn(|i| i as u8),
            interface: 1,
            preference: Preference { is_backup: true, price: 5 },
            max_bps: Some(20_000_000),
            credit: Some(1 << 20),
        };
        assert_eq!(hex(&hello.encode()), vector("Hello: `"));
        assert_eq!(SessionHello::decode(&hello.encode()).unwrap(), hello);
        assert_eq!(hex(&welcome(7)), vector("Welcome: `"));
        assert_eq!(incarnation(&welcome(7)).unwrap(), 7);
    }

    #[test]
    fn what_is_no_hello_is_refused() {
        let good = SessionHello {
            session: [1; 16],
            interface: 0,
            preference: Preference::default(),
            max_bps: None,
            credit: None,
        };
        assert_eq!(SessionHello::decode(&good.encode()).unwrap(), good);
        let good = good.encode();
        for cut in 0..good.len() {
            assert!(SessionHello::decode(&good[..cut]).is_err(), "{cut} bytes");
        }
        for at in (0..5).chain([22]) {
            let mut other = good.to_vec();
            other[at] ^= 2;
            assert!(SessionHello::decode(&other).is_err(), "byte {at}");
        }
    }
}
