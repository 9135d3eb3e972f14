//! SDP offers of clients: bounded, and without what an ICE lite server has no use for (RFC 8829, RFC 8839).

use str0m::change::SdpOffer;
use str0m::media::{MediaKind, Mid};

use super::extension;
use crate::error::Refusal;

/// Bytes of an offer.
pub(crate) const MAX_OFFER_BYTES: usize = 256 << 10;
/// Media lines of an offer.
const MAX_MEDIA: usize = 128;
/// Streams that an offer may name by their SSRC, and bytes of a line: each stream takes memory.
const MAX_SSRC_LINES: usize = 256;
const MAX_LINE_BYTES: usize = 4096;

/// Media line of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MediaLine {
    pub(crate) kind: MediaKind,
    pub(crate) mid: Mid,
}

/// An offer that was read, with its lines of audio and video in their order.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) sdp: SdpOffer,
    pub(crate) lines: Vec<MediaLine>,
    /// The extension for marks of PDU Sets stands in it though the client does not offer it: the answer must not have it.
    pub(crate) adds_marks: bool,
}

impl Offer {
    /// Reads an offer. Candidates are left out: a lite agent takes the addresses that checks come from, and a list
    /// of a million would be a million pairs.
    ///
    /// Where packets are to be marked as PDU Sets, in the extension of `pdu_set_id`, video has that extension, unless the
    /// client offers it itself or has given the identifier to another that is used.
    pub(crate) fn read(text: &str, pdu_set_id: Option<u8>) -> Result<Self, Refusal> {
        if text.len() > MAX_OFFER_BYTES {
            return Err(Refusal::BodySize(MAX_OFFER_BYTES));
        }
        let wrong = |what: &str| Err(Refusal::Offer(what.to_owned()));
        let mark_line = pdu_set_id.and_then(|id| mark_line(text, id));
        let mut kept = String::with_capacity(text.len());
        let mut lines: Vec<MediaLine> = Vec::new();
        let (mut media, mut ssrc_lines) = (0, 0);
        let mut kind = None;
        for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
            if line.len() > MAX_LINE_BYTES {
                return wrong("a line is too long");
            }
            if line.starts_with("a=candidate:") || line == "a=end-of-candidates" {
                continue;
            }
            if let Some(description) = line.strip_prefix("m=") {
                media += 1;
                kind = match description.split(' ').next() {
                    Some("audio") => Some(MediaKind::Audio),
                    Some("video") => Some(MediaKind::Video),
                    _ => None,
                };
            }
            if let (Some(of), Some(mid)) = (kind, line.strip_prefix("a=mid:")) {
                if mid.is_empty() || mid.len() > 16 {
                    return wrong("a mid has 1 to 16 characters");
                }
                let mid = Mid::from(mid);
                if lines.iter().any(|line| line.mid == mid) {
                    return wrong("two media lines have one mid");
                }
                lines.push(MediaLine { kind: of, mid });
                kind = None;
                if let (MediaKind::Video, Some(marks)) = (of, &mark_line) {
                    kept.push_str(marks);
                }
            }
            if mark_line.is_some()
                && extension_of(line).is_some_and(|(id, _)| Some(id) == pdu_set_id)
            {
                continue;
            }
            ssrc_lines += usize::from(line.starts_with("a=ssrc:"));
            kept.push_str(line);
            kept.push_str("\r\n");
        }
        if media > MAX_MEDIA || ssrc_lines > MAX_SSRC_LINES {
            return wrong("there are too many streams");
        }
        let sdp = SdpOffer::from_sdp_string(&kept).map_err(|e| Refusal::Offer(e.to_string()))?;
        Ok(Self { sdp, lines, adds_marks: mark_line.is_some() })
    }
}

/// Identifier and URI of a line that maps a header extension (RFC 8285, section 5).
fn extension_of(line: &str) -> Option<(u8, &str)> {
    let (id, uri) = line.strip_prefix("a=extmap:")?.split_once(' ')?;
    let id = id.split('/').next()?.parse().ok()?;
    Some((id, uri.split(' ').next()?))
}

/// Line that maps the extension for marks; `None` where the client has one itself, or uses the identifier for another
/// that sessions take.
fn mark_line(text: &str, id: u8) -> Option<String> {
    let extensions = text.lines().filter_map(|line| extension_of(line.trim_end()));
    let mut taken = extensions.filter(|(known, uri)| {
        *uri == airlane_pdu_set::URN || (*known == id && extension::is_known(uri))
    });
    match taken.next() {
        Some((known, uri)) => {
            tracing::debug!("PDU Sets are not marked by {id}: the offer has {known} for {uri}");
            None
        }
        None => Some(format!("a=extmap:{id} {}\r\n", airlane_pdu_set::URN)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An offer of a browser, as short as it gets.
    fn offer(further: &str) -> String {
        format!(
            "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
             m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=ice-ufrag:abcd\r\n\
             a=ice-pwd:aaaaaaaaaaaaaaaaaaaaaaaa\r\na=fingerprint:sha-256 {}\r\na=setup:actpass\r\n\
             a=mid:0\r\na=sendonly\r\na=rtcp-mux\r\na=rtpmap:111 opus/48000/2\r\n{further}",
            ["00"; 32].join(":")
        )
    }

    #[test]
    fn candidates_are_left_out_however_many_there_are() {
        let candidate = "a=candidate:1 1 udp 2122260223 192.0.2.1 5000 typ host\r\n";
        let read = Offer::read(&offer(&candidate.repeat(1000)), None).unwrap();
        assert!(!read.sdp.to_sdp_string().contains("candidate"));
        assert_eq!(read.lines, [MediaLine { kind: MediaKind::Audio, mid: "0".into() }]);
        let many = offer(&candidate.repeat(10_000));
        assert_eq!(Offer::read(&many, None).unwrap_err(), Refusal::BodySize(MAX_OFFER_BYTES));
    }

    #[test]
    fn what_is_no_offer_is_refused() {
        let streams: String = (0..300).map(|n| format!("a=ssrc:{n} cname:a\r\n")).collect();
        let again = "m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:0\r\n";
        let long = format!("a=x:{}\r\n", "x".repeat(5000));
        for text in ["", "v=0", "{}", &offer(&streams), &offer(again), &offer(&long)] {
            let refused = Offer::read(text, Some(6)).unwrap_err();
            assert!(matches!(refused, Refusal::Offer(_)), "{text:.40}: {refused}");
        }
    }

    #[test]
    fn video_gets_an_extension_for_marks_unless_its_identifier_is_used() {
        let video = "m=video 9 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=mid:1\r\na=recvonly\r\n\
                     a=rtcp-mux\r\na=rtpmap:96 VP8/90000\r\n";
        let read = |lines: &str| {
            let read = Offer::read(&offer(&format!("{video}{lines}")), Some(6)).unwrap();
            let text = read.sdp.to_sdp_string();
            (read.adds_marks, text.lines().filter(|line| line.contains("a=extmap:6")).count())
        };
        let other =
            "a=extmap:6 http://www.webrtc.org/experiments/rtp-hdrext/video-content-type\r\n";
        let used = "a=extmap:6/recvonly urn:ietf:params:rtp-hdrext:sdes:mid\r\n";
        let own = "a=extmap:9 urn:3gpp:pdu-set-marking:rel-18\r\n";
        assert_eq!([read(""), read(other)], [(true, 1); 2]);
        assert_eq!([read(used), read(own)], [(false, 1), (false, 0)]);
    }
}
