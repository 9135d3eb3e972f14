//! Seeds are valid: a format that has changed would make a target's mutations begin from nothing.

use std::io::Cursor;
use std::path::Path;

use airlane_base::Time;
use airlane_call::wire as calls;
use airlane_call_daemon::FrameDecoder;
use airlane_call_daemon::client::{Clip, Sound};
use airlane_capture::{Header, Radiotap};
use airlane_cupid::{FEEDBACK_BYTES, Feedback};
use airlane_fuzzed::TARGETS;
use airlane_lab::workloads::vod::popularity::Popularity;
use airlane_media::layers::Packed;
use airlane_media::mp4::{Index, Init, fragments};
use airlane_media::{dash, heads, table, tiles, vp9, y4m};
use airlane_minerva::{SentCurve, StoredNormalisation};
use airlane_multipath::{SessionHello, SubflowFrame};
use airlane_net::Trace;
use airlane_octopus::HEADER_BYTES;
use airlane_origin::cmcd::Cmcd;
use airlane_quic::{ControlFrames, MessageKind, MessageReader};
use airlane_scenario::{Grid, Scenario};
use airlane_sfu::{Codec, DependencyDescriptor, RtpPacket, Source, SourceConfig};
use airlane_tiles::wire::{Begin, FromServer, Report, Request};
use airlane_tunnel::{DatagramFrame, Rule, TunnelRequest, socks};
use bytes::BytesMut;

/// Whether decoding takes `data` off to its end, in one frame or in several.
fn whole<T, E>(data: &[u8], decode: impl Fn(&mut BytesMut) -> Result<Option<T>, E>) -> bool {
    let mut bytes = BytesMut::from(data);
    while let Ok(Some(_)) = decode(&mut bytes) {}
    bytes.is_empty()
}

/// Whether a seed is a track of packets, all of which a source can read.
fn is_track(data: &[u8]) -> bool {
    let Some((first, mut rest)) = data.split_first() else { return false };
    let codec = [Codec::Vp8, Codec::Vp9, Codec::Av1, Codec::Opus][usize::from(first & 3)];
    let mut source = Source::new(SourceConfig { codec, encodings: (first >> 2 & 3) + 1 });
    for sequence in 0.. {
        let Some((head, tail)) = rest.split_first_chunk::<6>() else { break };
        let (descriptor_bytes, payload_bytes) = (usize::from(head[4]), usize::from(head[5]));
        let Some((descriptor, tail)) = tail.split_at_checked(descriptor_bytes) else { break };
        let Some((payload, tail)) = tail.split_at_checked(payload_bytes) else { break };
        rest = tail;
        let packet = RtpPacket {
            encoding: head[0] & 3,
            sequence,
            timestamp: 0,
            marker: false,
            payload,
            dependency_descriptor: (head[0] & 8 != 0).then_some(descriptor),
            arrived: Time::ZERO,
            captured: None,
            is_repeated: false,
        };
        if source.observe(&packet).is_err() {
            return false;
        }
    }
    rest.is_empty()
}

/// Whether a target understands the whole of a seed.
fn is_understood(name: &str, data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    match name {
        // Any step is a record.
        "air" => data.len() % 12 == 1,
        // They are checked as they are made.
        "capture" | "messages" => !data.is_empty(),
        "clip" => Clip::read(data).is_ok() || Sound::read(data).is_ok(),
        "cmcd" => Cmcd::parse(&text).buffer.is_some() || Cmcd::from_query(&text).is_some(),
        "control_frames" => ControlFrames::default().read(&data[2..], |_, _| {}).is_ok(),
        "curve" => SentCurve::from_bytes(data).is_ok() || SentCurve::from_text(&text).is_ok(),
        "fbdt" => whole(data, airlane_fbdt::wire::Frame::decode),
        "feedback" => {
            data.chunks(FEEDBACK_BYTES + 1).all(|step| Feedback::decode(&step[1..]).is_ok())
        }
        "heads" => heads::parse(data, "file").is_ok_and(|recordings| !recordings.is_empty()),
        "http3_messages" => {
            let kinds = [MessageKind::Request, MessageKind::Response];
            let mut reader = MessageReader::new(kinds[usize::from(data[0])]);
            reader.read(&data[1..]).is_ok() && reader.end().is_ok()
        }
        "mac_header" => Header::parse(data, 2_000).is_ok(),
        "manifest" => dash::parse(&text).is_ok(),
        "mptcp" => whole(data, airlane_mptcp::wire::Frame::decode),
        "normalisation" => StoredNormalisation::from_json(data).is_ok(),
        "octopus" => data[2..]
            .chunks(HEADER_BYTES + 2)
            .all(|step| step[0] & 3 == 0 || airlane_octopus::Header::decode(&step[2..]).is_ok()),
        "packed" => {
            Packed::read(Cursor::new(data)).is_ok() || {
                let frames = vp9::frames_of(data).unwrap_or_default();
                frames.len() == 2 && frames.iter().all(|frame| vp9::hide(frame, 1280).is_ok())
            }
        }
        "pdu_set" => {
            let (id, mut rest) = (data[0], &data[1..]);
            while let Some((&[_, length], tail)) = rest.split_first_chunk() {
                let (datagram, tail) = tail.split_at(length.into());
                if airlane_pdu_set::marked_packet(datagram, id).is_none() {
                    return false;
                }
                rest = tail;
            }
            rest.is_empty()
        }
        "popularity" => Popularity::parse(data, Path::new("seed.csv")).is_ok(),
        "radiotap" => Radiotap::parse(data).is_ok(),
        "reports" => !Cmcd::of_post(&text).is_empty(),
        "request" => {
            let mut lines = text.lines();
            lines.next().is_some_and(|length| length.parse::<u64>().is_ok())
                && lines.next().is_some_and(|path| path.starts_with('/'))
        }
        "rtp" => is_track(data) || DependencyDescriptor::decode(data, None).is_ok(),
        "scenario" => {
            let name = Path::new("seed.toml");
            Scenario::from_bytes(airlane_lab::registry().scenarios(), data, name, &[]).is_ok()
                || Grid::from_bytes(airlane_lab::registry().scenarios(), data, name, &[], &[])
                    .is_ok()
        }
        "segment" => {
            Index::read(data).is_ok()
                || Init::read(data)
                    .is_ok_and(|init| fragments(data, &init).is_ok_and(|f| f.len() == 1))
        }
        "session" => {
            whole(data, Request::decode) || whole(data, Report::decode) || {
                let mut rest = BytesMut::from(data);
                matches!(Begin::decode(&mut rest), Ok(Some(Some(_))))
                    && whole(&rest, FromServer::decode)
            }
        }
        "socks" => {
            let is_request = |mut bytes| socks::request(&mut bytes).is_ok_and(|r| r.is_some());
            let mut greeted = BytesMut::from(data);
            let is_greeting = socks::greeting(&mut greeted) == Ok(true);
            is_request(BytesMut::from(data))
                || is_greeting && is_request(greeted)
                || socks::datagram(data).is_some()
                || TunnelRequest::decode(data).is_some()
                || whole(data, DatagramFrame::decode)
                || std::str::from_utf8(data).is_ok_and(|text| text.parse::<Rule>().is_ok())
        }
        "subflow" => SessionHello::decode(data).is_ok() || whole(data, SubflowFrame::decode),
        "table" => table::parse(data).is_ok(),
        "tcp_frames" => {
            let mut decoder = FrameDecoder::default();
            decoder.push(&data[1..]);
            while let Ok(Some(_)) = decoder.next_frame() {}
            decoder.waiting_bytes() == 0
        }
        "tiles" => tiles::parse(data, "file").is_ok(),
        "trace" => Trace::parse(data, "seed").is_ok(),
        "y4m" => {
            let mut picture = Vec::new();
            y4m::Reader::new(data).is_ok_and(|mut reader| reader.read(&mut picture) == Ok(true))
        }
        "call" => {
            whole(data, calls::FromParticipant::decode)
                || whole(data, calls::FromServer::decode)
                || data.first_chunk().is_some_and(|header| {
                    calls::MediaHeader::decode_up(*header).is_ok()
                        || calls::MediaHeader::decode_down(*header).is_ok()
                })
        }
        other => panic!("nothing here says when a seed of {other} is valid"),
    }
}

#[test]
fn seeds_are_understood() {
    for target in TARGETS {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        for (n, seed) in seeds.iter().enumerate() {
            let shown = seed.escape_ascii();
            assert!(is_understood(target.name, seed), "{}, seed {n}: b\"{shown}\"", target.name);
        }
    }
}
