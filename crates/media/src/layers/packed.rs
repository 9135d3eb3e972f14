//! A packed layered video: a table of layers, and the bytes that it is of
//! (`docs/reference/layer-tables.md`).

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use airlane_base::InputError;
use parking_lot::Mutex;

use super::{LayeredVideo, QualityTable, table};

/// Magic number at the beginning of the file.
const MAGIC: [u8; 4] = *b"ALPL";
/// The only version that is read.
const VERSION: u32 = 1;
/// Bytes of the table at most: what a table of half an hour at ten rates takes, and little enough to be
/// read at once.
pub const MAX_TABLE_BYTES: u32 = 1 << 25;
/// Bytes in front of the table.
const HEAD_BYTES: u64 = 12;

/// A packed layered video in a file that stays open: its table is in memory, its bytes are not.
#[derive(Debug)]
pub struct Packed<F = File> {
    file: Mutex<F>,
    video: LayeredVideo,
    table: QualityTable,
    /// Positions in the file of the frames of each encoding.
    frames: Vec<Vec<u64>>,
}

impl Packed {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read, or is not what it should be.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, InputError> {
        let path = path.as_ref();
        let file = File::open(path)
            .map_err(|e| InputError::io(path, "read the packed layered video", &e))?;
        Self::read(file).map_err(|e| e.at_file(path))
    }
}

impl<F: Read + Seek> Packed<F> {
    /// Reads the table, and checks that the bytes are as many as it says.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(mut file: F) -> Result<Self, InputError> {
        let (video, table, length) = head(&mut file)?;
        let mut at = HEAD_BYTES + u64::from(length);
        let frames = table.encodings.iter().map(|encoding| {
            let begin = encoding.frames.iter().map(|layers| {
                let begin = at;
                at += layers.iter().map(|layer| u64::from(layer.bytes)).sum::<u64>();
                begin
            });
            begin.collect()
        });
        let frames = frames.collect();
        let has = file.seek(SeekFrom::End(0)).map_err(|e| unreadable(&e))?;
        if has != at {
            let expected = format!("expected {at} by its table: it was cut short or changed");
            return Err(InputError::new(format!("{has} bytes"), expected));
        }
        Ok(Self { file: Mutex::new(file), video, table, frames })
    }

    /// Its table.
    pub fn video(&self) -> &LayeredVideo {
        &self.video
    }

    /// Its table alone.
    pub fn into_video(self) -> LayeredVideo {
        self.video
    }

    /// The layers of frame `n` of a stream in an encoding, the lowest first, as
    /// [`QualityTable::frame`] has them.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn frame(&self, encoding: usize, n: u32) -> io::Result<Vec<Vec<u8>>> {
        let place = self.table.place(n);
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let begin = *self.frames.get(encoding).and_then(|f| f.get(place)).ok_or_else(missing)?;
        // Of a reader that panicked only the place in the file is left, which is set anew.
        let mut file = self.file.lock();
        file.seek(SeekFrom::Start(begin))?;
        let layers = self.table.encodings[encoding].frames[place].iter().map(|layer| {
            let mut bytes = vec![0; layer.bytes as usize];
            file.read_exact(&mut bytes)?;
            Ok(bytes)
        });
        layers.collect()
    }
}

/// Reads what stands in front of the bytes: the table, and its length in the file.
fn head(file: &mut impl Read) -> Result<(LayeredVideo, QualityTable, u32), InputError> {
    let mut head = [0; HEAD_BYTES as usize];
    file.read_exact(&mut head).map_err(|_| strange())?;
    let [m0, m1, m2, m3, version @ .., l0, l1, l2, l3] = head;
    if [m0, m1, m2, m3] != MAGIC {
        return Err(strange());
    }
    let (version, length) = (u32::from_be_bytes(version), u32::from_be_bytes([l0, l1, l2, l3]));
    if version != VERSION {
        let expected = format!("expected version {VERSION}: pack the video again");
        return Err(InputError::new(format!("version {version}"), expected));
    }
    if length > MAX_TABLE_BYTES {
        let expected = format!("expected at most {MAX_TABLE_BYTES}");
        return Err(InputError::new(format!("a table of {length} bytes"), expected));
    }
    let mut text = String::new();
    file.take(length.into()).read_to_string(&mut text).map_err(|e| unreadable(&e))?;
    let video = table::parse(&text).map_err(|e| at_table(&e))?;
    let Some(quality) = video.quality.clone() else {
        let found = "its table has no layers of quality";
        return Err(InputError::new(found, "expected what airlane pack --layered makes"));
    };
    video.check()?;
    Ok((video, quality, length))
}

fn strange() -> InputError {
    InputError::new("it is no packed layered video", "expected what airlane pack --layered makes")
}

fn unreadable(error: &io::Error) -> InputError {
    InputError::new(format!("cannot read it: {error}"), "expected a packed layered video")
}

fn at_table(error: &InputError) -> InputError {
    let mut error = error.clone();
    error.found = format!("in its table: {}", error.found);
    error
}

/// Writes what stands in front of the bytes of a packed layered video; the bytes follow by encoding,
/// frame and layer.
///
/// # Errors
/// If the table is too large, or cannot be written.
pub fn write_head(to: &mut impl Write, table: &str) -> io::Result<()> {
    let length = u32::try_from(table.len()).ok().filter(|length| *length <= MAX_TABLE_BYTES);
    let length = length.ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
    to.write_all(&MAGIC)?;
    to.write_all(&VERSION.to_be_bytes())?;
    to.write_all(&length.to_be_bytes())?;
    to.write_all(table.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let table = r#"{"format":"airlane-layers","version":1,"video":"a","fps":30,"quality":{
            "gop":2,"layers":2,"encodings":[
            {"bytes":[[1,2],[3,1],[1,1]],"ssim_db":[[5,6],[5,6],[5,6]]},
            {"bytes":[[2,2],[3,3],[2,2]],"ssim_db":[[7,8],[7,8],[7,8]]}]}}"#;
        let mut file = Vec::new();
        write_head(&mut file, table).unwrap();
        file.extend_from_slice(bytes);
        file
    }

    #[test]
    fn frames_are_read_where_they_are_and_played_over_and_over() {
        let bytes: Vec<u8> = (0..23).collect();
        let video = Packed::read(Cursor::new(packed(&bytes))).unwrap();
        assert_eq!(video.frame(0, 0).unwrap(), [vec![0], vec![1, 2]]);
        assert_eq!(video.frame(1, 1).unwrap(), [vec![13, 14, 15], vec![16, 17, 18]]);
        // Its last whole GoP ends with the second frame.
        assert_eq!(video.frame(0, 3).unwrap(), [vec![3, 4, 5], vec![6]]);
        assert!(video.frame(2, 0).is_err());
        assert_eq!(video.video().quality.as_ref().unwrap().encodings.len(), 2);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let said = |file: &[u8]| Packed::read(Cursor::new(file)).unwrap_err().to_string();
        assert!(said(b"RIFF and so on").contains("no packed layered video"));
        let mut file = packed(&[0; 23]);
        assert!(said(&file[..file.len() - 1]).contains("by its table"));
        assert!(said(&file[..40]).contains("in its table"));
        file[7] = 2;
        assert!(said(&file).contains("version 2"));
        file[7] = 1;
        file[8] = 0xff;
        assert!(said(&file).contains("at most"));
    }
}
