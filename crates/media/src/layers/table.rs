//! Our own format, `airlane-layers`.

use airlane_base::InputError;

use super::clouds;
use super::recorded::encoding;
use super::{
    Layer, LayeredVideo, MAX_BYTES, MAX_ENCODINGS, MAX_FRAMES, MAX_LAYERS, MAX_SSIM_DB,
    QualityTable, SingleEncoding, SingleFrame, SingleLadder, TemporalTable,
};
use crate::table::json::{self, Node};

/// The value of the member `format`.
pub const FORMAT: &str = "airlane-layers";
/// The only version that is read.
pub const VERSION: u64 = 1;
/// Name of the content that errors say was expected.
pub(super) const WHAT: &str = "a table of layers";
/// Page that describes the formats.
const PAGE: &str = "docs/reference/layer-tables.md";

/// Reads a table.
pub(super) fn parse(text: &str) -> Result<LayeredVideo, InputError> {
    let value = json::parse(text, WHAT)?;
    let root = Node::root(&value, PAGE);
    let format = root.member("format")?;
    match format.text()? {
        FORMAT => {}
        clouds::FORMAT => return clouds::table::read(&Node::root(&value, clouds::table::PAGE)),
        _ => return Err(format.wrong(&format!("{FORMAT:?} or {:?}", clouds::FORMAT))),
    }
    let version = root.member("version")?;
    if version.count(u64::MAX)? != VERSION {
        return Err(version.wrong(&format!("{VERSION}, the version that this airlane reads")));
    }
    let name = root.member("video")?.text()?;
    let text = |member: &str| -> Result<Option<String>, InputError> {
        Ok(root.optional(member)?.map(|n| n.text()).transpose()?.map(str::to_owned))
    };
    let fps = root.member("fps")?.number()?;
    let quality = root.optional("quality")?.map(|node| quality(&node, fps)).transpose()?;
    let temporal = root.optional("temporal")?.map(|node| temporal(&node)).transpose()?;
    let single = root.optional("single")?.map(|node| ladder(&node, fps)).transpose()?;
    let single_quantiser =
        root.optional("single_quantiser")?.map(|node| single_encoding(&node, fps)).transpose()?;
    let single_keyed =
        root.optional("single_quantiser_gop")?.map(|node| keyed(&node, fps)).transpose()?;
    Ok(LayeredVideo {
        name: name.to_owned(),
        title: text("title")?.unwrap_or_else(|| name.to_owned()),
        source: text("source")?.unwrap_or_default(),
        fps,
        quality,
        temporal,
        single,
        single_quantiser,
        single_keyed,
        clouds: None,
        derived: false,
    })
}

/// The items of a list of 1 to `most`.
fn within<'a>(list: &Node<'a>, most: usize, what: &str) -> Result<Vec<Node<'a>>, InputError> {
    let items = list.items()?;
    if items.is_empty() || items.len() > most {
        return Err(list.wrong(&format!("1 to {most} {what}")));
    }
    Ok(items)
}

fn quality(node: &Node<'_>, fps: f64) -> Result<QualityTable, InputError> {
    let gop = gop(node)?;
    let layers = node.member("layers")?.count(MAX_LAYERS as u64)? as usize;
    let list = node.member("encodings")?;
    let encodings = within(&list, MAX_ENCODINGS, "encodings")?;
    let encodings = encodings.iter().map(|node| {
        let (bytes, ssim) = (node.member("bytes")?, node.member("ssim_db")?);
        let bytes_of = within(&bytes, MAX_FRAMES, "frames")?;
        let ssim_of = ssim.items()?;
        if ssim_of.len() != bytes_of.len() {
            return Err(ssim.wrong(&format!("a list of {} items", bytes_of.len())));
        }
        let frames = bytes_of.iter().zip(&ssim_of).map(|(bytes, ssim)| {
            let frame = pairs(bytes, ssim)?;
            if frame.len() != layers {
                return Err(bytes.wrong(&format!("a list of {layers} items")));
            }
            Ok(frame)
        });
        Ok(encoding(frames.collect::<Result<_, _>>()?, fps))
    });
    Ok(QualityTable { gop, layers, encodings: encodings.collect::<Result<_, _>>()? })
}

fn gop(node: &Node<'_>) -> Result<usize, InputError> {
    let gop = node.member("gop")?;
    match gop.count(1000)? as usize {
        0 => Err(gop.wrong("1 to 1000 frames")),
        n => Ok(n),
    }
}

/// Bytes and SSIM of the same things.
fn pairs(bytes: &Node<'_>, ssim: &Node<'_>) -> Result<Vec<Layer>, InputError> {
    let sizes = sizes(bytes)?;
    let ssim_db = ssim.numbers(0.0, MAX_SSIM_DB, "SSIM in dB")?;
    if ssim_db.len() != sizes.len() {
        return Err(ssim.wrong(&format!("a list of {} items", sizes.len())));
    }
    Ok(sizes.into_iter().zip(ssim_db).map(|(bytes, ssim_db)| Layer { bytes, ssim_db }).collect())
}

fn sizes(node: &Node<'_>) -> Result<Vec<u32>, InputError> {
    let sizes = node.sizes("the bytes of a frame or layer")?;
    let read: Option<Vec<u32>> = sizes
        .into_iter()
        .map(|n| u32::try_from(n).ok().filter(|n| u64::from(*n) <= MAX_BYTES))
        .collect();
    let read = read.ok_or_else(|| node.wrong(&format!("at most {MAX_BYTES} bytes each")))?;
    if read.is_empty() || read.len() > MAX_FRAMES {
        return Err(node.wrong(&format!("1 to {MAX_FRAMES} items")));
    }
    Ok(read)
}

fn temporal(node: &Node<'_>) -> Result<TemporalTable, InputError> {
    let frames = pairs(&node.member("bytes")?, &node.member("ssim_db")?)?;
    Ok(TemporalTable { gop: gop(node)?, frames, has_quality: true })
}

fn keyed(node: &Node<'_>, fps: f64) -> Result<SingleEncoding, InputError> {
    let frames = pairs(&node.member("bytes")?, &node.member("ssim_db")?)?;
    Ok(SingleEncoding::keyed(&frames, gop(node)?, fps, 1.0))
}

fn ladder(node: &Node<'_>, fps: f64) -> Result<SingleLadder, InputError> {
    let list = node.member("encodings")?;
    let encodings = within(&list, MAX_ENCODINGS, "encodings")?;
    let encodings: Vec<_> =
        encodings.iter().map(|node| single_encoding(node, fps)).collect::<Result<_, _>>()?;
    if !encodings.windows(2).all(|w| w[0].bps < w[1].bps) {
        return Err(list.wrong("encodings whose rates rise"));
    }
    Ok(SingleLadder { encodings })
}

fn single_encoding(node: &Node<'_>, fps: f64) -> Result<SingleEncoding, InputError> {
    let frames = pairs(&node.member("bytes")?, &node.member("ssim_db")?)?;
    let key = node.member("key_bytes")?;
    let key_bytes = sizes(&key)?;
    if key_bytes.len() != frames.len() {
        return Err(key.wrong(&format!("a list of {} items", frames.len())));
    }
    let frames = frames.into_iter().zip(key_bytes).map(|(frame, key_bytes)| SingleFrame {
        bytes: frame.bytes,
        key_bytes,
        ssim_db: frame.ssim_db,
    });
    Ok(SingleEncoding::new(frames.collect(), fps))
}
