//! Our own format, `airlane-clouds`.

use airlane_base::InputError;

use super::{CloudFrame, CloudPair, CloudTable, MAX_FRONTS, MAX_LAYERS};
use crate::layers::{LayeredVideo, MAX_BYTES, MAX_FRAMES};
use crate::table::json::Node;

/// The value of the member `format`.
pub const FORMAT: &str = "airlane-clouds";
/// The only version that is read.
pub const VERSION: u64 = 1;
/// Page that describes the formats.
pub(crate) const PAGE: &str = "docs/reference/cloud-tables.md";
/// Greatest difference from 1 of the shares of a picture together: they are rounded.
const SHARES_OFF: f64 = 1e-3;

/// Reads a table whose format is [`FORMAT`].
pub(crate) fn read(root: &Node<'_>) -> Result<LayeredVideo, InputError> {
    let version = root.member("version")?;
    if version.count(u64::MAX)? != VERSION {
        return Err(version.wrong(&format!("{VERSION}, the version that this airlane reads")));
    }
    let name = root.member("video")?.text()?;
    let text = |member: &str| -> Result<Option<String>, InputError> {
        Ok(root.optional(member)?.map(|n| n.text()).transpose()?.map(str::to_owned))
    };
    Ok(LayeredVideo {
        name: name.to_owned(),
        title: text("title")?.unwrap_or_else(|| name.to_owned()),
        source: text("source")?.unwrap_or_default(),
        fps: root.member("fps")?.number()?,
        clouds: Some(clouds(root)?),
        ..LayeredVideo::default()
    })
}

fn clouds(root: &Node<'_>) -> Result<CloudTable, InputError> {
    let fronts = root.member("fronts")?.count(MAX_FRONTS as u64)? as usize;
    let layers = root.member("layers")?.count(MAX_LAYERS as u64)? as usize;
    let list = root.member("pairs")?;
    let pairs = counted(&list, fronts)?;
    let pairs: Vec<_> = pairs.iter().map(|node| pair(node, layers)).collect::<Result<_, _>>()?;
    let shares: f64 = pairs.iter().map(|pair| pair.share).sum();
    if (shares - 1.0).abs() > SHARES_OFF {
        return Err(list.wrong(&format!("shares that make 1 together and not {shares}")));
    }
    let (layered, whole) = (root.member("layer_bytes")?, root.member("whole_bytes")?);
    let frames = layered.items()?;
    if frames.is_empty() || frames.len() > MAX_FRAMES {
        return Err(layered.wrong(&format!("1 to {MAX_FRAMES} frames")));
    }
    let whole = counted(&whole, frames.len())?;
    let cells = |node: &Node<'_>| -> Result<Vec<Vec<u32>>, InputError> {
        counted(node, 2 * fronts)?.iter().map(|cell| sizes(cell, layers)).collect()
    };
    let frame = |(layered, whole): (&Node<'_>, &Node<'_>)| {
        Ok(CloudFrame { layer_bytes: cells(layered)?, whole_bytes: cells(whole)? })
    };
    let frames = frames.iter().zip(&whole).map(frame).collect::<Result<_, InputError>>()?;
    Ok(CloudTable { layers, pairs, frames, derived: false })
}

fn pair(node: &Node<'_>, layers: usize) -> Result<CloudPair, InputError> {
    let share = node.member("share")?;
    let part = share.number()?;
    if !(0.0..=1.0).contains(&part) {
        return Err(share.wrong("a share from 0 to 1"));
    }
    let ssim = node.member("ssim")?;
    let rows = counted(&ssim, layers + 1)?.into_iter().map(|row| {
        let values = row.numbers(-1.0, 1.0, "SSIM")?;
        if values.len() != layers + 1 {
            return Err(row.wrong(&format!("a list of {} items", layers + 1)));
        }
        Ok(values)
    });
    Ok(CloudPair { share: part, ssim: rows.collect::<Result<_, _>>()? })
}

/// The items of a list of so many.
fn counted<'a>(list: &Node<'a>, count: usize) -> Result<Vec<Node<'a>>, InputError> {
    let items = list.items()?;
    if items.len() == count {
        Ok(items)
    } else {
        Err(list.wrong(&format!("a list of {count} items")))
    }
}

fn sizes(node: &Node<'_>, layers: usize) -> Result<Vec<u32>, InputError> {
    let sizes = node.sizes("the bytes of a layer or cell")?;
    let fits = |n: &u64| *n <= MAX_BYTES;
    let read: Vec<u32> = sizes.iter().filter(|n| fits(n)).map(|n| *n as u32).collect();
    if read.len() == layers && sizes.len() == layers {
        Ok(read)
    } else {
        Err(node.wrong(&format!("a list of {layers} items of at most {MAX_BYTES} bytes")))
    }
}
