//! YUV4MPEG2, raw video in a stream: what `ffmpeg -f yuv4mpegpipe -`, mjpegtools and many cameras' tools
//! write.
//!
//! A line that says what the pictures are ([`Header`]), then for each a line that begins with `FRAME` and
//! its bytes ([`Reader`]). Read are progressive pictures of 4:2:0 in 8 bits; of others the error says what
//! to tell ffmpeg. (yuv4mpeg(5) of mjpegtools.)

mod header;

use std::io::Read;

use airlane_base::InputError;

pub use header::{Header, MAX_SIDE, MIN_SIDE};

/// The first bytes.
pub const MAGIC: &[u8] = b"YUV4MPEG2";
/// A line is at most so long: ffmpeg's reader takes 128 and 80 bytes.
const MAX_LINE: usize = 512;

/// Reads a stream, picture by picture. It asks for small pieces: give it a buffered one.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    header: Header,
    /// Pictures that were read.
    count: u64,
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// If it is none, or of pictures that are not read.
    pub fn new(mut from: R) -> Result<Self, InputError> {
        let header = match line(&mut from)? {
            Line::Whole(line) => Header::parse(&line)?,
            Line::End => return Err(no_header("nothing")),
            Line::Cut | Line::Long => return Err(no_header("no header")),
        };
        Ok(Self { from, header, count: 0 })
    }

    /// Header of the stream: the format of its pictures.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Takes a header behind pictures: two streams, one after the other, are one if it says the same.
    fn goes_on(&self, line: &[u8]) -> Result<(), InputError> {
        let (now, before) = (Header::parse(line)?, &self.header);
        if now == *before {
            return Ok(());
        }
        let size = |of: &Header| format!("{}x{} at {} frames/s", of.width, of.height, of.fps);
        let found = match (size(before), size(&now)) {
            (before, now) if before != now => format!("pictures change from {before} to {now}"),
            _ => "the range or the pixels of the pictures change".to_owned(),
        };
        let expected = "expected pictures of one kind: give ffmpeg -vf scale and -r";
        Err(InputError::new(found, expected))
    }

    /// Reads the next picture into `picture`, which gets its size; false at the end.
    ///
    /// # Errors
    /// If it is cut short or something else: the error names its number, from 0.
    pub fn read(&mut self, picture: &mut Vec<u8>) -> Result<bool, InputError> {
        let number = self.count;
        let wrong = |found: String| {
            InputError::new(
                format!("frame {number}: {found}"),
                "expected whole frames of YUV4MPEG2",
            )
        };
        let mut next = line(&mut self.from).map_err(|e| wrong(e.found))?;
        if let Line::Whole(again) = &next
            && again.starts_with(MAGIC)
        {
            self.goes_on(again).map_err(|e| {
                let found = format!("frame {number}: a header came in mid-stream: {}", e.found);
                InputError::new(found, e.expected)
            })?;
            next = line(&mut self.from).map_err(|e| wrong(e.found))?;
        }
        match next {
            Line::End => return Ok(false),
            Line::Whole(line) if line == b"FRAME" || line.starts_with(b"FRAME ") => {}
            Line::Whole(line) if line.starts_with(b"FRAME") && line.ends_with(b"\r") => {
                return Err(header::text_mode(&format!("frame {number}: the line in front of it")));
            }
            Line::Whole(_) | Line::Long => {
                let before = if number == 0 { "the header is" } else { "the frame before it is" };
                return Err(wrong(format!("{before} not followed by FRAME")));
            }
            Line::Cut => return Err(wrong("it ends within the line in front of it".to_owned())),
        }
        let bytes = self.header.picture_bytes();
        picture.resize(bytes, 0);
        let mut have = 0;
        while have < bytes {
            match self.from.read(&mut picture[have..]) {
                Ok(0) => return Err(wrong(format!("it ends after {have} of {bytes} bytes"))),
                Ok(n) => have += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(wrong(format!("it cannot be read: {e}"))),
            }
        }
        self.count += 1;
        Ok(true)
    }
}

/// Result of reading a line.
enum Line {
    /// All, without its end.
    Whole(Vec<u8>),
    /// Some, and then there was no more.
    Cut,
    /// More than a line may have.
    Long,
    /// There was no more.
    End,
}

fn line(from: &mut impl Read) -> Result<Line, InputError> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line.len() < MAX_LINE {
        match from.read(&mut byte) {
            Ok(0) if line.is_empty() => return Ok(Line::End),
            Ok(0) => return Ok(Line::Cut),
            Ok(_) if byte == *b"\n" => return Ok(Line::Whole(line)),
            Ok(_) => line.extend_from_slice(&byte),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => {
                let found = format!("it cannot be read: {e}");
                return Err(InputError::new(found, "expected a stream of YUV4MPEG2"));
            }
        }
    }
    Ok(Line::Long)
}

/// The error of what does not begin with a header.
fn no_header(found: &str) -> InputError {
    InputError::new(
        format!("{found} of YUV4MPEG2 in it"),
        "expected what `ffmpeg ... -pix_fmt yuv420p -f yuv4mpegpipe -` writes",
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A stream of pictures whose bytes are all their number.
    fn stream(header: &str, bytes: usize, pictures: u8) -> Vec<u8> {
        let mut out = format!("{header}\n").into_bytes();
        for n in 0..pictures {
            out.extend_from_slice(if n % 2 == 0 { b"FRAME\n" } else { b"FRAME Ip\n" });
            out.extend(std::iter::repeat_n(n, bytes));
        }
        out
    }

    /// All pictures of a stream, and how it ends.
    fn read(stream: &[u8]) -> (Vec<Vec<u8>>, Result<(), String>) {
        let mut pictures = Vec::new();
        let mut reader = match Reader::new(stream) {
            Ok(reader) => reader,
            Err(e) => return (pictures, Err(e.to_string())),
        };
        loop {
            let mut picture = Vec::new();
            match reader.read(&mut picture) {
                Ok(true) => pictures.push(picture),
                Ok(false) => return (pictures, Ok(())),
                Err(e) => return (pictures, Err(e.to_string())),
            }
        }
    }

    const SMALL: &str = "YUV4MPEG2 W16 H16 F30:1 Ip A1:1 C420jpeg XYSCSS=420JPEG";

    #[test]
    fn what_is_broken_in_the_middle_names_its_frame() {
        let whole = stream(SMALL, 384, 3);
        assert_eq!(read(&whole).0.len(), 3);
        let said = |bytes: &[u8]| read(bytes).1.unwrap_err();
        let cut = said(&whole[..whole.len() - 1]);
        assert!(cut.contains("frame 2: it ends after 383 of 384 bytes"), "{cut}");
        let line = said(&whole[..whole.len() - 386]);
        assert!(line.contains("frame 2: it ends within the line"), "{line}");
        let mut junk = stream(SMALL, 384, 2);
        junk.extend_from_slice(b"JUNK of some kind\n and more");
        let junk = said(&junk);
        assert!(junk.contains("frame 2: the frame before it is not followed by FRAME"), "{junk}");
        let endless = said(&[SMALL.as_bytes(), b"\nFRAME", &[b'x'; 4096]].concat());
        assert!(endless.contains("frame 0: the header is not followed by FRAME"), "{endless}");
    }

    #[test]
    fn a_header_in_mid_stream_is_named_unless_it_says_the_same() {
        let (one, two) = (stream(SMALL, 384, 2), stream("YUV4MPEG2 W32 H16 F30:1", 768, 2));
        let (pictures, end) = read(&[&one[..], &two].concat());
        assert_eq!(pictures.len(), 2);
        let said = end.unwrap_err();
        let words = "frame 2: a header came in mid-stream: pictures change from 16x16 at 30 frames/s to 32x16";
        assert!(said.contains(words), "{said}");
        let full = stream(&format!("{SMALL} XCOLORRANGE=FULL"), 384, 1);
        let said = read(&[&one[..], &full].concat()).1.unwrap_err();
        assert!(said.contains("mid-stream: the range or the pixels"), "{said}");
        let twice = [read(&one).0, read(&one).0].concat();
        assert_eq!(read(&[&one[..], &one].concat()), (twice, Ok(())));
        let text = String::from_utf8(stream(SMALL, 384, 1)).unwrap().replace('\n', "\r\n");
        assert!(read(text.as_bytes()).1.unwrap_err().contains("the header ends in CRLF"));
        let said = read(format!("{SMALL}\nFRAME\r\n").as_bytes()).1.unwrap_err();
        assert!(said.contains("frame 0: the line in front of it ends in CRLF"), "{said}");
    }

    #[test]
    fn what_is_no_stream_is_said() {
        for bytes in [&b""[..], b"YUV4MPEG2 W16", &[b'Y'; 4096], b"RIFF....\n"] {
            let said = read(bytes).1.unwrap_err();
            assert!(said.contains("YUV4MPEG2") && said.contains("yuv4mpegpipe"), "{said}");
        }
    }

    /// Gives a few bytes at a time, as pipes do.
    struct Dribble<'a>(&'a [u8], usize);

    impl Read for Dribble<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let n = to.len().min(self.1).min(self.0.len());
            let (now, later) = self.0.split_at(n);
            to[..n].copy_from_slice(now);
            self.0 = later;
            Ok(n)
        }
    }

    proptest! {
        #[test]
        fn pictures_are_read_as_written_however_they_come(
            (width, height) in (8u32..40, 8u32..40),
            pictures in 0u8..5,
            piece in 1usize..700,
            cut: prop::sample::Index,
        ) {
            let (width, height) = (2 * width, 2 * height);
            let bytes = (width * height * 3 / 2) as usize;
            let whole = stream(&format!("YUV4MPEG2 W{width} H{height} F30000:1001"), bytes, pictures);
            let mut reader = Reader::new(Dribble(&whole, piece)).unwrap();
            prop_assert_eq!(reader.header().picture_bytes(), bytes);
            let mut picture = Vec::new();
            for n in 0..pictures {
                prop_assert!(reader.read(&mut picture).unwrap());
                prop_assert_eq!(&picture, &vec![n; bytes]);
            }
            prop_assert!(!reader.read(&mut picture).unwrap());
            // Cut anywhere: what was whole, and an error unless it was cut between pictures.
            let at = cut.index(whole.len());
            let (read, end) = read(&whole[..at]);
            prop_assert!(pictures == 0 || read.len() < usize::from(pictures));
            prop_assert!(end.is_err() || whole[at..].starts_with(b"FRAME"));
        }

        #[test]
        fn any_bytes_are_survived(
            header in "(YUV4MPEG2)?( [WHFICAX][0-9a-z:]{0,12}){0,6}\n",
            bytes in prop::collection::vec(any::<u8>(), 0..2000),
        ) {
            let (pictures, _) = read(&[header.as_bytes(), &bytes].concat());
            prop_assert!(pictures.iter().map(Vec::len).sum::<usize>() <= bytes.len());
        }
    }
}
