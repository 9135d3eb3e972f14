//! Messages as their bytes come, read beside h3: h3 0.0.8 lets pass much of what makes a message
//! malformed, and says of some responses another error than the standard.
//!
//! Frames that do not belong where they are, and sections that cannot be decoded, are errors of the
//! connection. Those are h3's.

mod huffman;
mod rules;
mod section;

pub use rules::{Malformed, MessageKind};

use self::rules::Section;
use self::section::SectionError;
use super::control_frames::integer;

/// Types of frames (RFC 9114, section 7.2).
const DATA: u64 = 0;
const HEADERS: u64 = 1;
/// Bytes of a field section that are checked at most. Longer ones are cut by the bounds on requests;
/// of a response nobody needs so many.
const MAX_SECTION_BYTES: u64 = 1 << 20;

/// Reads the messages on one stream in one direction: a request, or interim responses with a final
/// one behind them.
#[derive(Debug)]
pub struct MessageReader {
    kind: MessageKind,
    frame: Frame,
    /// Bytes of an integer, or of a section, that is not whole.
    part: Vec<u8>,
    stage: Stage,
    /// Content that has come, bytes.
    content: u64,
    /// Length of the content that the head announces; `None`: none that would have to be true.
    announced: Option<u64>,
    /// The request was one whose answer has no content.
    asked_for_a_head: bool,
    /// This message has no content whatever its head says.
    has_no_content: bool,
}

#[derive(Clone, Copy, Debug)]
enum Frame {
    Type,
    Length {
        of: u64,
    },
    /// So many bytes of a section are to come, together.
    Section {
        bytes: usize,
    },
    /// So many bytes of content are to come.
    Content {
        left: u64,
    },
    /// So many bytes of a frame without a meaning here are to come.
    Skipped {
        left: u64,
    },
    /// Reading has ended: the reader ignores what follows.
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Head,
    Content,
    Trailers,
}

impl MessageReader {
    /// Reads what comes on a stream from its first byte.
    pub fn new(kind: MessageKind) -> Self {
        Self {
            kind,
            frame: Frame::Type,
            part: Vec::new(),
            stage: Stage::Head,
            content: 0,
            announced: None,
            asked_for_a_head: false,
            has_no_content: false,
        }
    }

    /// Notes what was asked: the frame with the head of the request that is answered here.
    pub fn on_request_sent(&mut self, frame: &[u8]) {
        let Some((HEADERS, n)) = integer(frame) else { return };
        let Some((_, m)) = integer(&frame[n..]) else { return };
        let mut head = Section::default();
        // It is our own: nothing is wrong with it.
        let read =
            section::read(&frame[n + m..], |line| head.take(Some(MessageKind::Request), line));
        if read.is_ok() {
            self.asked_for_a_head = head.asks_for_a_head();
        }
    }

    /// Reads the next bytes.
    ///
    /// # Errors
    /// If the message is malformed.
    pub fn read(&mut self, mut bytes: &[u8]) -> Result<(), Malformed> {
        while !bytes.is_empty() {
            match self.frame {
                Frame::Ended => return Ok(()),
                Frame::Skipped { left } => {
                    let taken = skip(&mut bytes, left);
                    self.frame = next(left - taken, |left| Frame::Skipped { left });
                }
                Frame::Content { left } => {
                    let taken = skip(&mut bytes, left);
                    self.frame = next(left - taken, |left| Frame::Content { left });
                    self.on_content(taken)?;
                }
                Frame::Section { bytes: all } => self.read_section(&mut bytes, all)?,
                Frame::Type | Frame::Length { .. } => {
                    self.part.push(bytes[0]);
                    bytes = &bytes[1..];
                    if let Some((value, _)) = integer(&self.part) {
                        self.part.clear();
                        self.on_integer(value);
                    }
                }
            }
        }
        Ok(())
    }

    /// The stream has ended.
    ///
    /// # Errors
    /// If the message is shorter than it said.
    pub fn end(&self) -> Result<(), Malformed> {
        match self.stage {
            Stage::Content => self.check_length(),
            // Too early, which is h3's; or checked before.
            Stage::Head | Stage::Trailers => Ok(()),
        }
    }

    fn on_integer(&mut self, value: u64) {
        self.frame = match self.frame {
            Frame::Length { of: HEADERS } if value > MAX_SECTION_BYTES => Frame::Ended,
            Frame::Length { of: HEADERS } => Frame::Section { bytes: value as usize },
            Frame::Length { of: DATA } if self.stage == Stage::Content => {
                next(value, |left| Frame::Content { left })
            }
            Frame::Length { .. } => next(value, |left| Frame::Skipped { left }),
            _ => Frame::Length { of: value },
        };
    }

    /// Reads a section of `all` bytes: from where it came if it came in one piece.
    fn read_section(&mut self, bytes: &mut &[u8], all: usize) -> Result<(), Malformed> {
        let taken = (all - self.part.len()).min(bytes.len());
        let (piece, rest) = bytes.split_at(taken);
        *bytes = rest;
        if taken == all {
            self.frame = Frame::Type;
            return self.on_section(piece);
        }
        self.part.extend_from_slice(piece);
        if self.part.len() == all {
            self.frame = Frame::Type;
            let section = std::mem::take(&mut self.part);
            return self.on_section(&section);
        }
        Ok(())
    }

    fn on_section(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        if self.stage == Stage::Trailers {
            self.frame = Frame::Ended;
            return Ok(());
        }
        let kind = (self.stage == Stage::Head).then_some(self.kind);
        let mut section = Section::default();
        match section::read(bytes, |line| section.take(kind, line)) {
            Ok(()) => {}
            Err(SectionError::Refused(malformed)) => return Err(malformed),
            Err(SectionError::Undecodable) => {
                self.frame = Frame::Ended;
                return Ok(());
            }
        }
        if kind.is_none() {
            self.stage = Stage::Trailers;
            self.check_length()?;
            let differs = section.length.is_some_and(|length| length != self.content);
            return if differs { Err(Malformed::LengthMismatch) } else { Ok(()) };
        }
        section.check_head(self.kind)?;
        if section.status.is_some_and(|status| status < 200) {
            // An interim response: the final one is to come.
            return Ok(());
        }
        self.stage = Stage::Content;
        if section.opens_a_tunnel() {
            self.frame = Frame::Ended;
        }
        self.has_no_content =
            self.asked_for_a_head || matches!(section.status, Some(204 | 205 | 304));
        self.announced = section.length.filter(|_| !self.has_no_content);
        Ok(())
    }

    fn on_content(&mut self, bytes: u64) -> Result<(), Malformed> {
        self.content = self.content.saturating_add(bytes);
        if self.has_no_content && self.content > 0 {
            return Err(Malformed::Content);
        }
        match self.announced {
            Some(announced) if self.content > announced => Err(Malformed::LengthMismatch),
            _ => Ok(()),
        }
    }

    fn check_length(&self) -> Result<(), Malformed> {
        match self.announced {
            Some(announced) if announced != self.content => Err(Malformed::LengthMismatch),
            _ => Ok(()),
        }
    }
}

/// Takes at most `most` bytes off. How many.
fn skip(bytes: &mut &[u8], most: u64) -> u64 {
    let taken = most.min(bytes.len() as u64);
    *bytes = &bytes[taken as usize..];
    taken
}

/// The frame that goes on with what is left, or the next one.
fn next(left: u64, frame: impl FnOnce(u64) -> Frame) -> Frame {
    if left == 0 { Frame::Type } else { frame(left) }
}

#[cfg(test)]
mod tests;
