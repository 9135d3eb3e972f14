//! Boxes and the numbers in them.

use airlane_base::InputError;

/// The head of a box: its type and how many bytes it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The type, four bytes that are letters as a rule.
    pub kind: [u8; 4],
    /// Bytes of the head.
    pub head_bytes: u64,
    /// Bytes of the box with its head; `None`: up to the end of the file.
    pub bytes: Option<u64>,
}

/// Reads the head of a box (ISO/IEC 14496-12, section 4.2). `None` if more bytes are needed; 16
/// are always enough.
///
/// # Errors
/// A size that is less than the head.
pub fn header(bytes: &[u8]) -> Result<Option<Header>, InputError> {
    let Some((size, rest)) = bytes.split_first_chunk() else { return Ok(None) };
    let Some((kind, rest)) = rest.split_first_chunk() else { return Ok(None) };
    let (head_bytes, size) = match u32::from_be_bytes(*size) {
        0 => return Ok(Some(Header { kind: *kind, head_bytes: 8, bytes: None })),
        1 => match rest.first_chunk() {
            Some(large) => (16, u64::from_be_bytes(*large)),
            None => return Ok(None),
        },
        size => (8, u64::from(size)),
    };
    if size < head_bytes {
        return Err(InputError::new(
            format!("a box of {size} bytes"),
            format!("expected at least the {head_bytes} bytes of its head"),
        )
        .at_key(name(*kind)));
    }
    Ok(Some(Header { kind: *kind, head_bytes, bytes: Some(size) }))
}

/// A type as text.
pub(super) fn name(kind: [u8; 4]) -> String {
    kind.iter().map(|b| char::from(*b)).flat_map(char::escape_default).collect()
}

/// Calls `each` with every box in `bytes`, in their order: its type, its body, and how many bytes
/// of `bytes` are before the body.
pub(super) fn walk<'a>(
    bytes: &'a [u8],
    mut each: impl FnMut([u8; 4], &'a [u8], u64) -> Result<(), InputError>,
) -> Result<(), InputError> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let short = |kind: &str| {
            InputError::new("the file ends within a box", "expected a whole file").at_key(kind)
        };
        let head = header(rest)?.ok_or_else(|| short("box"))?;
        let size = head.bytes.map_or(Some(rest.len()), |b| usize::try_from(b).ok());
        let (whole, after) = size
            .and_then(|size| rest.split_at_checked(size))
            .ok_or_else(|| short(&name(head.kind)))?;
        // The head was read from these bytes, so they are there.
        let body = &whole[head.head_bytes as usize..];
        each(head.kind, body, (bytes.len() - after.len() - body.len()) as u64)?;
        rest = after;
    }
    Ok(())
}

/// The body of the first box of that type in `bytes`.
pub(super) fn find<'a>(bytes: &'a [u8], kind: &[u8; 4]) -> Result<Option<&'a [u8]>, InputError> {
    let mut found = None;
    walk(bytes, |k, body, _| {
        if k == *kind && found.is_none() {
            found = Some(body);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Numbers out of the body of a box, most significant byte first.
pub(super) struct Fields<'a> {
    kind: &'static str,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(kind: &'static str, rest: &'a [u8]) -> Self {
        Self { kind, rest }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn take(&mut self, bytes: usize) -> Result<&'a [u8], InputError> {
        let (head, rest) = self.rest.split_at_checked(bytes).ok_or_else(|| {
            InputError::new("the box ends within a field", "expected a whole box").at_key(self.kind)
        })?;
        self.rest = rest;
        Ok(head)
    }

    /// A number of at most eight bytes.
    pub(super) fn number(&mut self, bytes: usize) -> Result<u64, InputError> {
        Ok(self.take(bytes)?.iter().fold(0, |n, b| n << 8 | u64::from(*b)))
    }

    pub(super) fn u8(&mut self) -> Result<u8, InputError> {
        Ok(self.number(1)? as u8)
    }

    pub(super) fn u16(&mut self) -> Result<u16, InputError> {
        Ok(self.number(2)? as u16)
    }

    pub(super) fn u32(&mut self) -> Result<u32, InputError> {
        Ok(self.number(4)? as u32)
    }

    /// Version and flags of a full box.
    pub(super) fn version(&mut self) -> Result<(u8, u32), InputError> {
        Ok((self.u8()?, self.number(3)? as u32))
    }

    /// A number of four bytes in version 0 and of eight in the others.
    pub(super) fn wide(&mut self, version: u8) -> Result<u64, InputError> {
        self.number(if version == 0 { 4 } else { 8 })
    }
}
