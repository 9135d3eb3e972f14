//! Messages of a call, version 1 (`docs/reference/wire/calls.md`).
//!
//! Each frame of media is a unidirectional stream: a header of [`HEADER_BYTES`], then the payload. Everything
//! else is on one bidirectional stream that the participant opens: messages with a length in front of each.

use std::time::Duration;

use airlane_base::Rate;
use airlane_plum::{Epoch, MalformedNotice, NOTICE_BYTES, Notice};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use thiserror::Error;

use crate::layers::{InvalidLayers, LayerTable};

/// Version of the format.
pub const VERSION: u8 = 2;
/// Length of the header of a frame in bytes.
pub const HEADER_BYTES: usize = 20 + NOTICE_BYTES;
/// Largest payload of a frame in bytes.
pub const MAX_FRAME_BYTES: u32 = 1 << 20;
/// Longest name of a participant in bytes.
pub const MAX_NAME_BYTES: usize = 64;
/// Longest message on the control stream in bytes, its length left out.
const MAX_MESSAGE_BYTES: usize = 128;

const KEY_FRAME: u8 = 0x80;
const HAS_EPOCH: u8 = 0x40;
/// Bits of the temporal layer of video, and of audio whether there is speech in it.
const LAYER_SHIFT: u8 = 4;
const LAYER_MASK: u8 = 0x30;
/// Bits of the length of a payload; above them is the distance to the reference less one.
const LENGTH_BITS: u32 = 24;

/// Number of a participant in a call, given by the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParticipantId(pub u16);

/// Track of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Track {
    /// Audio.
    Audio,
    /// Video of a camera.
    Camera,
    /// Video of a shared screen.
    Screen,
    /// Bytes that mean nothing: a server sends them to find out how much a downlink carries.
    Padding,
}

impl Track {
    /// All tracks.
    pub const ALL: [Self; 4] = [Self::Audio, Self::Camera, Self::Screen, Self::Padding];
    /// Tracks of video.
    pub const VIDEOS: [Self; 2] = [Self::Camera, Self::Screen];

    /// True for a track of video.
    pub fn is_video(self) -> bool {
        Self::VIDEOS.contains(&self)
    }

    fn code(self) -> u8 {
        match self {
            Self::Audio => 0,
            Self::Camera => 1,
            Self::Screen => 2,
            Self::Padding => 3,
        }
    }

    fn of(code: u8) -> Result<Self, WireError> {
        Self::ALL.into_iter().find(|t| t.code() == code).ok_or(WireError::Track(code))
    }
}

/// Bytes that are no message of a call.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum WireError {
    /// Another version.
    #[error("version {0}: expected {VERSION}")]
    Version(u8),
    /// A track that does not exist.
    #[error("track {0}: expected 0 (audio), 1 (camera), 2 (screen) or 3 (padding)")]
    Track(u8),
    /// A track that is no video.
    #[error("track {0}: expected 1 (camera) or 2 (screen)")]
    Video(u8),
    /// A type of message that does not exist.
    #[error("message type {0}")]
    Type(u8),
    /// A frame that is too large.
    #[error("a frame of {0} bytes: at most {MAX_FRAME_BYTES} are allowed")]
    FrameBytes(u32),
    /// A length that does not fit the message.
    #[error("a message of {0} bytes that should have another length")]
    Length(usize),
    /// A name that is empty, too long or no text.
    #[error("a name that is not 1 to {MAX_NAME_BYTES} bytes of UTF-8")]
    Name,
    /// A target bitrate that is none.
    #[error(transparent)]
    Notice(#[from] MalformedNotice),
    /// Layers that are none.
    #[error(transparent)]
    Layers(#[from] InvalidLayers),
    /// An estimate that is no rate.
    #[error("an estimate of {0} kbit/s")]
    Estimate(f32),
}

/// Header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaHeader {
    /// Track of the frame.
    pub track: Track,
    /// True if it can be decoded without the frames before it.
    pub is_key: bool,
    /// Temporal layer of video, 0 to 3: no frame of a lower layer is predicted from it.
    pub temporal_layer: u8,
    /// Distance to the frame that it is predicted from, 1 to 255; 1 if it is a key frame.
    pub reference_distance: u8,
    /// True for audio in which somebody speaks.
    pub has_speech: bool,
    /// Participant whose frame it is; towards the server it is not read.
    pub source: ParticipantId,
    /// Number in its track, from 0.
    pub frame: u32,
    /// Time of capture on the clock of its source, in microseconds.
    pub captured: Duration,
    /// Length of the payload in bytes.
    pub payload_bytes: u32,
}

/// A participant's report of its uplink, in the header of each frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UplinkReport {
    /// Newest notice that it follows; `None` before the first.
    pub epoch: Option<Epoch>,
    /// Bandwidth that its controller estimates; `None` before there is one.
    pub estimate: Option<Rate>,
}

impl UplinkReport {
    fn encode(&self, to: &mut impl BufMut) {
        to.put_u32(self.epoch.unwrap_or_default().0);
        to.put_f32(self.estimate.map_or(0.0, kbps));
    }

    fn decode(from: &mut impl Buf, has_epoch: bool) -> Result<Self, WireError> {
        let epoch = Some(Epoch(from.get_u32())).filter(|_| has_epoch);
        let estimate = rate(from.get_f32())?;
        Ok(Self { epoch, estimate: Some(estimate).filter(|rate| *rate > Rate::ZERO) })
    }
}

fn kbps(rate: Rate) -> f32 {
    (rate.as_f64() / 1000.0) as f32
}

/// The rate of so many kbit/s.
fn rate(kbps: f32) -> Result<Rate, WireError> {
    match (0.0..=1e9).contains(&kbps) {
        true => Ok(Rate::from_bps_f64(f64::from(kbps) * 1000.0)),
        false => Err(WireError::Estimate(kbps)),
    }
}

impl MediaHeader {
    /// Encodes the header of a frame towards the server.
    pub fn encode_up(&self, report: &UplinkReport) -> Bytes {
        let mut to = self.encode_common(if report.epoch.is_some() { HAS_EPOCH } else { 0 });
        report.encode(&mut to);
        to.freeze()
    }

    /// Encodes the header of a frame towards a participant.
    pub fn encode_down(&self, notice: &Notice) -> Bytes {
        let mut to = self.encode_common(0);
        to.put_slice(&notice.encode());
        to.freeze()
    }

    fn encode_common(&self, flags: u8) -> BytesMut {
        let mut to = BytesMut::with_capacity(HEADER_BYTES);
        to.put_u8(VERSION);
        let layer = match self.track {
            Track::Audio => u8::from(self.has_speech),
            _ => self.temporal_layer,
        };
        let layer = (layer << LAYER_SHIFT) & LAYER_MASK;
        to.put_u8(self.track.code() | layer | flags | if self.is_key { KEY_FRAME } else { 0 });
        to.put_u16(self.source.0);
        to.put_u32(self.frame);
        to.put_u64(u64::try_from(self.captured.as_micros()).unwrap_or(u64::MAX));
        let distance = u32::from(self.reference_distance.saturating_sub(1));
        to.put_u32(distance << LENGTH_BITS | self.payload_bytes);
        to
    }

    /// Decodes the header of a frame from a participant.
    ///
    /// # Errors
    /// If it is of another version, or something in it is out of range.
    pub fn decode_up(bytes: [u8; HEADER_BYTES]) -> Result<(Self, UplinkReport), WireError> {
        let mut from = &bytes[..];
        let (header, flags) = Self::decode_common(&mut from)?;
        Ok((header, UplinkReport::decode(&mut from, flags & HAS_EPOCH != 0)?))
    }

    /// Decodes the header of a frame from the server.
    ///
    /// # Errors
    /// As [`Self::decode_up`].
    pub fn decode_down(bytes: [u8; HEADER_BYTES]) -> Result<(Self, Notice), WireError> {
        let mut from = &bytes[..];
        let (header, _) = Self::decode_common(&mut from)?;
        Ok((header, decode_notice(&mut from)?))
    }

    fn decode_common(from: &mut impl Buf) -> Result<(Self, u8), WireError> {
        let version = from.get_u8();
        if version != VERSION {
            return Err(WireError::Version(version));
        }
        let flags = from.get_u8();
        let track = Track::of(flags & !(KEY_FRAME | HAS_EPOCH | LAYER_MASK))?;
        let layer = (flags & LAYER_MASK) >> LAYER_SHIFT;
        let (source, frame) = (ParticipantId(from.get_u16()), from.get_u32());
        let captured = Duration::from_micros(from.get_u64());
        let length = from.get_u32();
        let header = Self {
            track,
            is_key: flags & KEY_FRAME != 0,
            temporal_layer: if track.is_video() { layer } else { 0 },
            reference_distance: ((length >> LENGTH_BITS) as u8).saturating_add(1),
            has_speech: track == Track::Audio && layer == 1,
            source,
            frame,
            captured,
            payload_bytes: length & ((1 << LENGTH_BITS) - 1),
        };
        match header.payload_bytes > MAX_FRAME_BYTES {
            true => Err(WireError::FrameBytes(header.payload_bytes)),
            false => Ok((header, flags)),
        }
    }
}

fn decode_notice(from: &mut impl Buf) -> Result<Notice, WireError> {
    let mut bytes = [0; NOTICE_BYTES];
    from.copy_to_slice(&mut bytes);
    Ok(Notice::decode(bytes)?)
}

/// Message of a participant on the control stream.
#[derive(Clone, Debug, PartialEq)]
pub enum FromParticipant {
    /// Its first message: it wants to take part under this name.
    Join(String),
    /// State of its uplink, for when no media tells it.
    Report(UplinkReport),
    /// A track of another participant cannot be decoded: a key frame is wanted.
    RequestKeyFrame(ParticipantId, Track),
    /// It sends this track of video from now on, with these layers. At first it is taken to send its camera in one
    /// layer.
    Publish(Track, LayerTable),
    /// It sends this track no more for now: it is muted.
    Mute(Track),
    /// Capacity of its channel in IP bytes, both directions together, as its radio finds it.
    Channel(Rate),
}

/// Message of the server on the control stream.
#[derive(Clone, Debug, PartialEq)]
pub enum FromServer {
    /// The participant takes part, under this number.
    Welcome(ParticipantId),
    /// Another one takes part.
    Joined(ParticipantId, String),
    /// Another one does no more.
    Left(ParticipantId),
    /// Notice on the uplink, for when no media tells it.
    Notice(Notice),
    /// A key frame of this track is wanted.
    RequestKeyFrame(Track),
    /// True if the participant's video is wanted.
    Pause(bool),
    /// Another one sends this track of video from now on, or not.
    Sends(ParticipantId, Track, bool),
}

/// Takes the first message off a buffer; `None` while it is not whole.
fn take_message(buffer: &mut BytesMut) -> Result<Option<(u8, BytesMut)>, WireError> {
    let Some(head) = buffer.first_chunk::<2>() else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes(*head));
    if !(1..=MAX_MESSAGE_BYTES).contains(&length) {
        return Err(WireError::Length(length));
    }
    if buffer.len() < 2 + length {
        return Ok(None);
    }
    buffer.advance(2);
    let mut body = buffer.split_to(length);
    let kind = body.get_u8();
    Ok(Some((kind, body)))
}

fn put_message(kind: u8, body: &[u8], to: &mut BytesMut) {
    to.put_u16(body.len() as u16 + 1);
    to.put_u8(kind);
    to.put_slice(body);
}

fn name(bytes: &[u8]) -> Result<String, WireError> {
    let is_fit = (1..=MAX_NAME_BYTES).contains(&bytes.len());
    match std::str::from_utf8(bytes) {
        Ok(name) if is_fit => Ok(name.to_owned()),
        _ => Err(WireError::Name),
    }
}

/// A track of video.
fn video(code: u8) -> Result<Track, WireError> {
    Track::of(code).ok().filter(|track| track.is_video()).ok_or(WireError::Video(code))
}

/// Body of a message whose length is known.
fn exactly<const N: usize>(body: &BytesMut) -> Result<[u8; N], WireError> {
    <[u8; N]>::try_from(&body[..]).map_err(|_| WireError::Length(body.len()))
}

impl FromParticipant {
    /// Encodes the message with its length. A name is cut at [`MAX_NAME_BYTES`].
    pub fn encode(&self, to: &mut BytesMut) {
        match self {
            Self::Join(name) => {
                let mut body = vec![VERSION];
                let end = name.floor_char_boundary(MAX_NAME_BYTES);
                body.extend_from_slice(&name.as_bytes()[..end]);
                put_message(1, &body, to);
            }
            Self::Report(report) => {
                let mut body = vec![u8::from(report.epoch.is_some())];
                report.encode(&mut body);
                put_message(2, &body, to);
            }
            Self::RequestKeyFrame(id, track) => {
                let [high, low] = id.0.to_be_bytes();
                put_message(3, &[high, low, track.code()], to);
            }
            Self::Publish(track, layers) => {
                let mut body = vec![track.code(), layers.temporal_layers()];
                body.extend(layers.units().iter().flat_map(|share| share.to_be_bytes()));
                put_message(4, &body, to);
            }
            Self::Mute(track) => put_message(5, &[track.code()], to),
            Self::Channel(capacity) => put_message(6, &kbps(*capacity).to_be_bytes(), to),
        }
    }

    /// Takes the first message off a buffer; `None` while it is not whole.
    ///
    /// # Errors
    /// If the bytes are no message.
    pub fn decode(buffer: &mut BytesMut) -> Result<Option<Self>, WireError> {
        let Some((kind, body)) = take_message(buffer)? else { return Ok(None) };
        Ok(Some(match kind {
            1 => match body.split_first() {
                Some((&VERSION, rest)) => Self::Join(name(rest)?),
                Some((other, _)) => return Err(WireError::Version(*other)),
                None => return Err(WireError::Length(0)),
            },
            2 => {
                let body = exactly::<9>(&body)?;
                Self::Report(UplinkReport::decode(&mut &body[1..], body[0] != 0)?)
            }
            3 => {
                let [high, low, track] = exactly(&body)?;
                let id = ParticipantId(u16::from_be_bytes([high, low]));
                Self::RequestKeyFrame(id, Track::of(track)?)
            }
            4 => match body.split_first_chunk::<2>() {
                Some(([track, temporal_layers], shares)) if shares.len() % 2 == 0 => {
                    let shares = shares.chunks_exact(2).map(|c| u16::from_be_bytes([c[0], c[1]]));
                    let layers = LayerTable::from_units(shares.collect(), *temporal_layers)?;
                    Self::Publish(video(*track)?, layers)
                }
                _ => return Err(WireError::Length(body.len())),
            },
            5 => {
                let [track] = exactly(&body)?;
                Self::Mute(video(track)?)
            }
            6 => Self::Channel(rate(f32::from_be_bytes(exactly(&body)?))?),
            other => return Err(WireError::Type(other)),
        }))
    }
}

impl FromServer {
    /// Encodes the message with its length.
    pub fn encode(&self, to: &mut BytesMut) {
        match self {
            Self::Welcome(id) => put_message(1, &id.0.to_be_bytes(), to),
            Self::Joined(id, name) => {
                let mut body = id.0.to_be_bytes().to_vec();
                body.extend_from_slice(name.as_bytes());
                put_message(2, &body, to);
            }
            Self::Left(id) => put_message(3, &id.0.to_be_bytes(), to),
            Self::Notice(notice) => put_message(4, &notice.encode(), to),
            Self::RequestKeyFrame(track) => put_message(5, &[track.code()], to),
            Self::Pause(is_paused) => put_message(6, &[u8::from(*is_paused)], to),
            Self::Sends(id, track, is_sent) => {
                let [high, low] = id.0.to_be_bytes();
                put_message(7, &[high, low, track.code(), u8::from(*is_sent)], to);
            }
        }
    }

    /// Takes the first message off a buffer; `None` while it is not whole.
    ///
    /// # Errors
    /// If the bytes are no message.
    pub fn decode(buffer: &mut BytesMut) -> Result<Option<Self>, WireError> {
        let Some((kind, body)) = take_message(buffer)? else { return Ok(None) };
        let id = |bytes: [u8; 2]| ParticipantId(u16::from_be_bytes(bytes));
        Ok(Some(match kind {
            1 => Self::Welcome(id(exactly(&body)?)),
            2 => match body.split_first_chunk::<2>() {
                Some((number, rest)) => Self::Joined(id(*number), name(rest)?),
                None => return Err(WireError::Length(body.len())),
            },
            3 => Self::Left(id(exactly(&body)?)),
            4 => Self::Notice(Notice::decode(exactly(&body)?)?),
            5 => {
                let [track] = exactly(&body)?;
                Self::RequestKeyFrame(Track::of(track)?)
            }
            6 => {
                let [is_paused] = exactly(&body)?;
                Self::Pause(is_paused != 0)
            }
            7 => {
                let [high, low, track, is_sent] = exactly(&body)?;
                Self::Sends(id([high, low]), video(track)?, is_sent != 0)
            }
            other => return Err(WireError::Type(other)),
        }))
    }
}
