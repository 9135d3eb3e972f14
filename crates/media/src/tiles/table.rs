//! Our own format, `airlane-tiles`, and the choice between it and others.

use std::time::Duration;

use airlane_base::InputError;
use serde_json::json;

use super::{Distortion, MAX_GOPS, MAX_LEVELS, MAX_MSE, MAX_SIDE, Tile, TileLevel, TiledVideo};
use super::{model, sizes};
use crate::table::json::Node;
use crate::table::{json, text_of};

/// The value of the member `format`.
pub const FORMAT: &str = "airlane-tiles";
/// The version that is written, and the only one that is read.
pub const VERSION: u64 = 1;
/// Name of the content that errors say was expected.
const WHAT: &str = "a table of tiles";
/// Page that describes the formats.
const PAGE: &str = "docs/reference/tile-tables.md";

/// Reads the table of a 360-degree video from the bytes of a file, gzipped or not. A file of sizes
/// alone has no name in it: the video gets `name`.
///
/// # Errors
/// [`InputError`] with line or key; the caller adds the file.
pub fn parse(bytes: &[u8], name: &str) -> Result<TiledVideo, InputError> {
    let text = text_of(bytes, WHAT)?;
    let value = json::parse(&text, WHAT)?;
    let root = Node::root(&value, PAGE);
    let video = if root.optional("format")?.is_some() {
        read(&root)?
    } else if sizes::is_one(&root)? {
        model::complete(&sizes::read(&root, name)?)
    } else {
        return Err(InputError::new(
            "neither \"format\" nor a tiling such as \"8x5\" is there",
            format!("expected a table of the format {FORMAT:?} or tile sizes, see {PAGE}"),
        ));
    };
    video.check()?;
    Ok(video)
}

fn read(root: &Node<'_>) -> Result<TiledVideo, InputError> {
    let format = root.member("format")?;
    if format.text()? != FORMAT {
        return Err(format.wrong(&format!("{FORMAT:?}")));
    }
    let version = root.member("version")?;
    if version.count(u64::MAX)? != VERSION {
        return Err(version.wrong(&format!("{VERSION}, the version that this airlane reads")));
    }
    let name = root.member("video")?.text()?;
    let text = |member: &str| -> Result<Option<String>, InputError> {
        Ok(root.optional(member)?.map(|n| n.text()).transpose()?.map(str::to_owned))
    };
    let side = |member: &str| root.member(member)?.count(MAX_SIDE as u64).map(|n| n as usize);
    let (columns, rows) = (side("columns")?, side("rows")?);
    let gop = root.member("gop_s")?;
    let levels = root.member("levels")?;
    let names: Vec<String> = within(&levels, MAX_LEVELS, "levels")?
        .iter()
        .map(|level| level.text().map(str::to_owned))
        .collect::<Result<_, _>>()?;
    let gops = within(&root.member("gops")?, MAX_GOPS, "GoPs")?
        .iter()
        .map(|gop| read_gop(gop, columns * rows, names.len()))
        .collect::<Result<_, _>>()?;
    Ok(TiledVideo {
        name: name.to_owned(),
        title: text("title")?.unwrap_or_else(|| name.to_owned()),
        source: text("source")?.unwrap_or_default(),
        columns,
        rows,
        gop: Duration::try_from_secs_f64(gop.number()?)
            .map_err(|_| gop.wrong("the seconds of a GoP, such as 1"))?,
        levels: names,
        distortion: Distortion::Measured,
        gops,
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

fn read_gop(node: &Node<'_>, tiles: usize, levels: usize) -> Result<Vec<Tile>, InputError> {
    let exactly = |list: Node<'_>, length: usize, found: usize| {
        if found == length { Ok(()) } else { Err(list.wrong(&format!("a list of {length} items"))) }
    };
    let of_tiles = |member: &str| -> Result<Vec<f64>, InputError> {
        let list = node.member(member)?;
        let values = list.numbers(0.0, MAX_MSE, "a mean squared error")?;
        exactly(list, tiles, values.len())?;
        Ok(values)
    };
    let (change, grey) = (of_tiles("change_mse")?, of_tiles("grey_mse")?);
    let (bytes, mse) = (node.member("bytes")?, node.member("mse")?);
    let (bytes_of, mse_of) = (bytes.items()?, mse.items()?);
    exactly(bytes, tiles, bytes_of.len())?;
    exactly(mse, tiles, mse_of.len())?;
    let mut all = Vec::with_capacity(tiles);
    for (tile, (bytes, mse)) in bytes_of.into_iter().zip(mse_of).enumerate() {
        let sizes = bytes.sizes("the bytes of a tile")?;
        exactly(bytes, levels, sizes.len())?;
        let errors = mse.numbers(0.0, MAX_MSE, "a mean squared error")?;
        exactly(mse, levels, errors.len())?;
        let pairs = sizes.into_iter().zip(errors);
        all.push(Tile {
            levels: pairs.map(|(bytes, mse)| TileLevel { bytes, mse }).collect(),
            change_mse: change[tile],
            grey_mse: grey[tile],
        });
    }
    Ok(all)
}

/// The table of a video as JSON text, one GoP per line. [`parse`] gives the same video back, bit
/// for bit, but for the origin of distortions: what a table holds counts as measured.
pub fn to_json(video: &TiledVideo) -> String {
    let head = [
        ("format", json!(FORMAT)),
        ("version", json!(VERSION)),
        ("video", json!(video.name)),
        ("title", json!(video.title)),
        ("source", json!(video.source)),
        ("columns", json!(video.columns)),
        ("rows", json!(video.rows)),
        ("gop_s", json!(video.gop.as_secs_f64())),
        ("levels", json!(video.levels)),
    ];
    let mut out = String::from("{\n");
    for (member, value) in head {
        out.push_str(&format!("\"{member}\": {value},\n"));
    }
    let gop = |tiles: &Vec<Tile>| {
        let levels = |tile: &Tile| -> (Vec<u64>, Vec<f64>) {
            tile.levels.iter().map(|level| (level.bytes, level.mse)).unzip()
        };
        let (bytes, mse): (Vec<_>, Vec<_>) = tiles.iter().map(levels).unzip();
        let change: Vec<f64> = tiles.iter().map(|tile| tile.change_mse).collect();
        let grey: Vec<f64> = tiles.iter().map(|tile| tile.grey_mse).collect();
        json!({"bytes": bytes, "mse": mse, "change_mse": change, "grey_mse": grey}).to_string()
    };
    let gops: Vec<String> = video.gops.iter().map(gop).collect();
    out.push_str(&format!("\"gops\": [\n{}\n]\n}}\n", gops.join(",\n")));
    out
}
