//! A value curve on its way from player to server.
//!
//! A byte of version (1); varints (seven bits to a byte, low ones first) for chunk, rung, number of
//! rates, lowest and highest rate in kbit/s, number of buffers, least and greatest buffer in ms,
//! the `ahead` of lines of equal bits in ms (0: lines of equal buffer) and the step in millionths
//! of a point; then the values in steps, buffer by buffer, each as what it differs from its guess
//! by. The guess is the median of the neighbour at the rate below, the neighbour at the buffer
//! below, and their sum less the value below both (as in LOCO-I, Weinberger et al., 2000).
//! Differences are zigzag, three bits to a half byte, low ones first, and the half byte's fourth
//! bit says that more follow; a half byte that is left over is zero.
//!
//! There is one encoding of a curve, and nothing else is accepted.

use airlane_abr::MAX_RUNGS;

/// Longest curve that is read, bytes; as text a third more.
pub const MAX_BYTES: usize = 6_000;
/// Most rates and most buffers.
pub(super) const MAX_POINTS: (u32, u32) = (128, 64);

const VERSION: u8 = 1;
const MAX_CHUNKS: u32 = 1 << 20;
/// A hundred Gbit/s and an hour.
const MAX_KBPS: u32 = 100_000_000;
const MAX_MS: u32 = 3_600_000;
/// A thousand points.
const MAX_STEP: u32 = 1_000_000_000;

/// Error in the bytes of a value curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// Too many bytes.
    #[error("a value curve has at most {MAX_BYTES} bytes, not {0}")]
    Length(usize),
    /// A character that base64url does not have, or an impossible end.
    #[error("not base64url without padding")]
    Text,
    /// The bytes end too early.
    #[error("the value curve ends in the middle")]
    Truncated,
    /// Bytes or bits behind the end.
    #[error("the value curve goes on behind its end")]
    Trailing,
    /// A version that nobody here knows.
    #[error("version {0} of a value curve; expected {VERSION}")]
    Version(u8),
    /// A field out of its range.
    #[error("the value curve's {0} is out of range")]
    Field(&'static str),
}

/// A curve as it travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) next_chunk: u32,
    pub(super) rung: u32,
    pub(super) rates: u32,
    pub(super) rates_kbps: (u32, u32),
    pub(super) buffers: u32,
    pub(super) buffers_ms: (u32, u32),
    pub(super) ahead_ms: u32,
    pub(super) step_millionths: u32,
    /// In steps; rates run fastest.
    pub(super) values: Vec<i16>,
}

impl Frame {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        for field in self.fields() {
            let mut rest = field;
            while rest >= 128 {
                bytes.push((rest & 127) as u8 | 128);
                rest >>= 7;
            }
            bytes.push(rest as u8);
        }
        let mut halves = Halves { bytes, half: false };
        for i in 0..self.values.len() {
            let off = i32::from(self.values[i]) - guess(&self.values[..i], self.rates as usize);
            halves.put((off << 1 ^ off >> 31) as u32);
        }
        halves.bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        if bytes.len() > MAX_BYTES {
            return Err(WireError::Length(bytes.len()));
        }
        let mut reader = Reader { bytes, at: 0, half: false };
        let version = reader.byte()?;
        if version != VERSION {
            return Err(WireError::Version(version));
        }
        let mut frame = Self {
            next_chunk: reader.field("chunk", 1, MAX_CHUNKS)?,
            rung: reader.field("rung", 0, MAX_RUNGS as u32 - 1)?,
            rates: reader.field("number of rates", 1, MAX_POINTS.0)?,
            rates_kbps: reader.ends("rates", 1, MAX_KBPS)?,
            buffers: reader.field("number of buffers", 1, MAX_POINTS.1)?,
            buffers_ms: reader.ends("buffers", 0, MAX_MS)?,
            ahead_ms: reader.field("time ahead", 0, MAX_MS)?,
            step_millionths: reader.field("step", 1, MAX_STEP)?,
            values: Vec::new(),
        };
        // A single point of an axis is both of its ends; several need a width.
        for (what, count, ends) in
            [("rates", frame.rates, frame.rates_kbps), ("buffers", frame.buffers, frame.buffers_ms)]
        {
            if (count == 1) != (ends.0 == ends.1) {
                return Err(WireError::Field(what));
            }
        }
        let rates = frame.rates as usize;
        for _ in 0..frame.rates * frame.buffers {
            let code = reader.number()?;
            let off = (code >> 1) as i32 ^ -((code & 1) as i32);
            let value = guess(&frame.values, rates).checked_add(off);
            let value = value.and_then(|v| i16::try_from(v).ok());
            frame.values.push(value.ok_or(WireError::Field("value"))?);
        }
        reader.end()?;
        Ok(frame)
    }

    fn fields(&self) -> [u32; 10] {
        [
            self.next_chunk,
            self.rung,
            self.rates,
            self.rates_kbps.0,
            self.rates_kbps.1,
            self.buffers,
            self.buffers_ms.0,
            self.buffers_ms.1,
            self.ahead_ms,
            self.step_millionths,
        ]
    }
}

/// Prediction of the value behind `values`, from its neighbours.
fn guess(values: &[i16], rates: usize) -> i32 {
    let n = values.len();
    let left = (!n.is_multiple_of(rates)).then(|| i32::from(values[n - 1]));
    let below = n.checked_sub(rates).map(|i| i32::from(values[i]));
    match (left, below) {
        (Some(left), Some(below)) => {
            let both = i32::from(values[n - rates - 1]);
            (left + below - both).clamp(left.min(below), left.max(below))
        }
        (one, other) => one.or(other).unwrap_or(0),
    }
}

/// Writes numbers in half bytes, the low half first.
struct Halves {
    bytes: Vec<u8>,
    half: bool,
}

impl Halves {
    fn put(&mut self, mut number: u32) {
        loop {
            let more = number >= 8;
            let four = (number & 7) as u8 | u8::from(more) << 3;
            if self.half {
                if let Some(last) = self.bytes.last_mut() {
                    *last |= four << 4;
                }
            } else {
                self.bytes.push(four);
            }
            self.half = !self.half;
            if !more {
                return;
            }
            number >>= 3;
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    half: bool,
}

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8, WireError> {
        let byte = *self.bytes.get(self.at).ok_or(WireError::Truncated)?;
        self.at += 1;
        Ok(byte)
    }

    fn field(&mut self, what: &'static str, least: u32, most: u32) -> Result<u32, WireError> {
        let mut field = 0_u32;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            let seven = u32::from(byte & 127);
            // No bits beyond the 32, and no empty last byte.
            if seven << shift >> shift != seven || (byte == 0 && shift > 0) {
                break;
            }
            field |= seven << shift;
            if byte < 128 {
                let valid = (least..=most).contains(&field);
                return valid.then_some(field).ok_or(WireError::Field(what));
            }
        }
        Err(WireError::Field(what))
    }

    fn ends(&mut self, what: &'static str, least: u32, most: u32) -> Result<(u32, u32), WireError> {
        let low = self.field(what, least, most)?;
        Ok((low, self.field(what, low, most)?))
    }

    fn number(&mut self) -> Result<u32, WireError> {
        // Differences of two values of 16 bits have 17, and a sign.
        let mut number = 0_u32;
        for shift in [0, 3, 6, 9, 12, 15] {
            let byte = *self.bytes.get(self.at).ok_or(WireError::Truncated)?;
            let four = if self.half { byte >> 4 } else { byte & 15 };
            self.at += usize::from(self.half);
            self.half = !self.half;
            if four == 0 && shift > 0 {
                break;
            }
            number |= u32::from(four & 7) << shift;
            if four < 8 {
                return Ok(number);
            }
        }
        Err(WireError::Field("value"))
    }

    fn end(self) -> Result<(), WireError> {
        let rest = if self.half { self.bytes[self.at] >> 4 } else { 0 };
        let read = self.at + usize::from(self.half);
        if rest != 0 || read != self.bytes.len() { Err(WireError::Trailing) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames() -> impl Strategy<Value = Frame> {
        let axis = |most: u32, least: u32, limit: u32| {
            (1..=most, least..limit, 1..limit)
                .prop_map(move |(n, a, b)| (n, (a, if n == 1 { a } else { (a + b).min(limit) })))
        };
        let axes = (axis(9, 1, MAX_KBPS), axis(7, 0, MAX_MS));
        let rest = (1..=MAX_CHUNKS, 0..MAX_RUNGS as u32, 0..=MAX_MS, 1..=MAX_STEP);
        (axes, rest).prop_flat_map(|((r, b), (next_chunk, rung, ahead_ms, step_millionths))| {
            let values = prop_oneof![any::<i16>(), -20_i16..20];
            proptest::collection::vec(values, (r.0 * b.0) as usize).prop_map(move |values| Frame {
                next_chunk,
                rung,
                rates: r.0,
                rates_kbps: r.1,
                buffers: b.0,
                buffers_ms: b.1,
                ahead_ms,
                step_millionths,
                values,
            })
        })
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(frame in frames(), cut in any::<prop::sample::Index>(), junk in any::<u8>()) {
            let bytes = frame.encode();
            prop_assert_eq!(Frame::decode(&bytes), Ok(frame));
            prop_assert!(Frame::decode(&bytes[..cut.index(bytes.len())]).is_err());
            let longer = [&bytes[..], &[junk]].concat();
            prop_assert!(Frame::decode(&longer).is_err());
        }

        #[test]
        fn no_bytes_make_it_panic_and_there_is_one_encoding(
            frame in frames(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            noise in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let _ = Frame::decode(&noise);
            let mut bytes = frame.encode();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(read) = Frame::decode(&bytes) {
                prop_assert_eq!(read.encode(), bytes);
            }
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let frame = Frame {
            next_chunk: 5,
            rung: 2,
            rates: 2,
            rates_kbps: (100, 200),
            buffers: 1,
            buffers_ms: (4000, 4000),
            ahead_ms: 0,
            step_millionths: 250_000,
            values: vec![-3, 300],
        };
        let bytes = frame.encode();
        let with = |at: usize, byte: u8| {
            let mut b = bytes.clone();
            b[at] = byte;
            Frame::decode(&b).unwrap_err().to_string()
        };
        assert_eq!(with(0, 9), "version 9 of a value curve; expected 1");
        assert_eq!(with(1, 0), "the value curve's chunk is out of range");
        assert_eq!(with(2, 16), "the value curve's rung is out of range");
        assert_eq!(with(3, 1), "the value curve's rates is out of range");
        assert_eq!(Frame::decode(&[]), Err(WireError::Truncated));
        assert_eq!(Frame::decode(&vec![1; MAX_BYTES + 1]), Err(WireError::Length(MAX_BYTES + 1)));
        // Overlong: the chunk in two bytes, the second empty.
        let long = [&[1, 0x85, 0x00], &bytes[2..]].concat();
        assert_eq!(Frame::decode(&long), Err(WireError::Field("chunk")));
    }
}
