//! The Huffman code of HPACK and QPACK (RFC 7541, section 5.2 and appendix B).

/// Length in bits of each byte's code, and of the end of a string (256).
///
/// The code is canonical: among codes of one length those of larger symbols are larger, and longer
/// codes are larger than shorter ones. So lengths tell all of it.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// Length of the longest code, bits.
const MAX_BITS: usize = 30;
/// The end of a string, which no string may contain.
const END: u16 = 256;

/// The code, by length.
struct Code {
    /// The first code of each length, and the number of codes of it.
    first: [u32; MAX_BITS + 1],
    count: [u32; MAX_BITS + 1],
    /// Index in `symbols` of the first symbol of each length.
    offset: [u32; MAX_BITS + 1],
    /// Symbols by length of code, then by value.
    symbols: [u16; 257],
}

static CODE: Code = Code::canonical();

impl Code {
    const fn canonical() -> Self {
        let mut code = Self {
            first: [0; MAX_BITS + 1],
            count: [0; MAX_BITS + 1],
            offset: [0; MAX_BITS + 1],
            symbols: [0; 257],
        };
        let (mut bits, mut next, mut placed) = (1, 0_u32, 0_usize);
        while bits <= MAX_BITS {
            next <<= 1;
            code.first[bits] = next;
            code.offset[bits] = placed as u32;
            let mut symbol = 0;
            while symbol < LENGTHS.len() {
                if LENGTHS[symbol] as usize == bits {
                    code.symbols[placed] = symbol as u16;
                    placed += 1;
                    next += 1;
                }
                symbol += 1;
            }
            code.count[bits] = placed as u32 - code.offset[bits];
            bits += 1;
        }
        code
    }
}

/// Decodes a string to the end of `into`; `None` if it is not encoded as the standard says.
pub(super) fn decode(bytes: &[u8], into: &mut Vec<u8>) -> Option<()> {
    let (mut code, mut bits) = (0_u32, 0_usize);
    for byte in bytes {
        for shift in (0..8).rev() {
            code = code << 1 | u32::from(byte >> shift & 1);
            bits += 1;
            if bits > MAX_BITS {
                return None;
            }
            let past_first = code.wrapping_sub(CODE.first[bits]);
            if past_first < CODE.count[bits] {
                let symbol = CODE.symbols[(CODE.offset[bits] + past_first) as usize];
                if symbol == END {
                    return None;
                }
                into.push(symbol as u8);
                (code, bits) = (0, 0);
            }
        }
    }
    // Padding is the beginning of the end's code, and shorter than a byte.
    (bits < 8 && code == (1 << bits) - 1).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Option<String> {
        let mut text = Vec::new();
        decode(bytes, &mut text)?;
        String::from_utf8(text).ok()
    }

    #[test]
    fn the_examples_of_rfc_7541_are_read() {
        // Appendix C.4 and C.6.
        let host = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert_eq!(decoded(&host).as_deref(), Some("www.example.com"));
        assert_eq!(decoded(&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]).as_deref(), Some("no-cache"));
        assert_eq!(decoded(&[0x64, 0x02]).as_deref(), Some("302"));
        assert_eq!(decoded(&[]).as_deref(), Some(""));
    }

    #[test]
    fn what_is_no_string_is_refused() {
        // A byte of padding too much, padding of zeros, the end within a string.
        assert_eq!(decoded(&[0x64, 0x02, 0xff]), None);
        assert_eq!(decoded(&[0x60]), None);
        assert_eq!(decoded(&[0xff; 5]), None);
    }
}
