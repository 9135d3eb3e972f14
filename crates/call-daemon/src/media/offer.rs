//! SDP offers of clients: bounded, and without what an ICE lite server has no use for (RFC 8829, RFC 8839).

use str0m::change::SdpOffer;
use str0m::media::{MediaKind, Mid};

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
}

impl Offer {
    /// Reads an offer. Candidates are left out: a lite agent takes the addresses that checks come from, and a list
    /// of a million would be a million pairs.
    pub(crate) fn read(text: &str) -> Result<Self, Refusal> {
        if text.len() > MAX_OFFER_BYTES {
            return Err(Refusal::BodySize(MAX_OFFER_BYTES));
        }
        let wrong = |what: &str| Err(Refusal::Offer(what.to_owned()));
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
            }
            ssrc_lines += usize::from(line.starts_with("a=ssrc:"));
            kept.push_str(line);
            kept.push_str("\r\n");
        }
        if media > MAX_MEDIA || ssrc_lines > MAX_SSRC_LINES {
            return wrong("there are too many streams");
        }
        let sdp = SdpOffer::from_sdp_string(&kept).map_err(|e| Refusal::Offer(e.to_string()))?;
        Ok(Self { sdp, lines })
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
        let read = Offer::read(&offer(&candidate.repeat(1000))).unwrap();
        assert!(!read.sdp.to_sdp_string().contains("candidate"));
        assert_eq!(read.lines, [MediaLine { kind: MediaKind::Audio, mid: "0".into() }]);
        let many = offer(&candidate.repeat(10_000));
        assert_eq!(Offer::read(&many).unwrap_err(), Refusal::BodySize(MAX_OFFER_BYTES));
    }

    #[test]
    fn what_is_no_offer_is_refused() {
        let streams: String = (0..300).map(|n| format!("a=ssrc:{n} cname:a\r\n")).collect();
        let again = "m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:0\r\n";
        let long = format!("a=x:{}\r\n", "x".repeat(5000));
        for text in ["", "v=0", "{}", &offer(&streams), &offer(again), &offer(&long)] {
            let refused = Offer::read(text).unwrap_err();
            assert!(matches!(refused, Refusal::Offer(_)), "{text:.40}: {refused}");
        }
    }
}
