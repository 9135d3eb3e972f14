//! Our own format, `airlane-chunks`.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::{InputError, Rate};
use serde_json::{Value, json};

use super::json::Node;
use super::{Table, Traps};
use crate::name;
use crate::video::{MAX_CHUNKS, MAX_NOMINAL_BPS, Metric, Rung, Video};

/// The value of the member `format`.
pub const FORMAT: &str = "airlane-chunks";
/// The version that is written, and the only one that is read.
pub const VERSION: u64 = 1;

const MEMBERS: &[&str] = &[
    "format",
    "version",
    "video",
    "title",
    "character",
    "source",
    "chunk_s",
    "fps",
    "distinct_chunks",
    "rungs",
    "made",
];
const RUNG_MEMBERS: &[&str] = &["name", "width", "height", "nominal_bps", "size_bytes", "quality"];

pub(super) fn read(root: &Node<'_>) -> Result<Table, InputError> {
    let format = root.member("format")?;
    if format.text()? != FORMAT {
        return Err(format.wrong(&format!("{FORMAT:?}")));
    }
    let version = root.member("version")?;
    if version.count(u64::MAX)? != VERSION {
        return Err(version.wrong(&format!("{VERSION}, the version that this airlane reads")));
    }
    let mut traps = Traps { unknown_keys: root.unknown(MEMBERS)?, ..Traps::default() };
    let mut rungs = Vec::new();
    for node in root.member("rungs")?.items()? {
        rungs.push(read_rung(&node, &mut traps)?);
    }
    let text = |member: &str| -> Result<Option<String>, InputError> {
        Ok(root.optional(member)?.map(|n| n.text()).transpose()?.map(str::to_owned))
    };
    // Names that had no letter in ASCII were written as underscores.
    let name = match (root.member("video")?.text()?, text("title")?) {
        (lost, Some(title)) if !lost.is_empty() && lost.bytes().all(|b| b == b'_') => {
            name::named(&title)
        }
        (name, _) => name.to_owned(),
    };
    let chunks = rungs.first().map_or(0, |r: &Rung| r.size_bytes.len());
    let fps = root.optional("fps")?;
    let fps = fps.map(|n| {
        let fps = n.number()?;
        (fps > 0.0 && fps <= 1000.0).then_some(fps).ok_or_else(|| n.wrong("frames per second"))
    });
    let distinct = root.optional("distinct_chunks")?;
    let distinct = distinct.map(|n| n.count(MAX_CHUNKS as u64)).transpose()?;
    let video = Video {
        title: text("title")?.unwrap_or_else(|| name.clone()),
        name,
        character: text("character")?.unwrap_or_default(),
        source: text("source")?.unwrap_or_default(),
        fps: fps.transpose()?,
        chunk: chunk_length(&root.member("chunk_s")?)?,
        distinct_chunks: distinct.map_or(chunks, |d| d as usize),
        rungs,
    };
    video.check()?;
    Ok(Table { video, traps })
}

/// The length of a chunk; its limits are checked with the whole video.
pub(super) fn chunk_length(node: &Node<'_>) -> Result<Duration, InputError> {
    Duration::try_from_secs_f64(node.number()?)
        .map_err(|_| node.wrong("the seconds of a chunk, such as 4.0"))
}

fn read_rung(node: &Node<'_>, traps: &mut Traps) -> Result<Rung, InputError> {
    traps.unknown_keys.extend(node.unknown(RUNG_MEMBERS)?);
    let size = |member: &str| node.member(member)?.count(u64::from(u16::MAX));
    let mut quality = BTreeMap::new();
    let measured = node.member("quality")?;
    traps.unknown_keys.extend(measured.unknown(&Metric::ALL.map(Metric::name))?);
    for metric in Metric::ALL {
        let Some(list) = measured.optional(metric.name())? else { continue };
        let mut values = Vec::new();
        for (i, value) in list.qualities(metric)?.into_iter().enumerate() {
            let missing = || {
                InputError::new("NaN or null", "expected a number: our tables have no gaps")
                    .at_key(format!("{}[{i}]", list.path()))
            };
            values.push(value.ok_or_else(missing)?);
        }
        quality.insert(metric, values);
    }
    Ok(Rung {
        name: node.member("name")?.text()?.to_owned(),
        width: size("width")? as u32,
        height: size("height")? as u32,
        nominal: Rate::from_bps(node.member("nominal_bps")?.count(MAX_NOMINAL_BPS)?),
        size_bytes: node.member("size_bytes")?.sizes("the bytes of a chunk")?,
        quality,
    })
}

/// The table of a video as JSON text, one rung per line. [`super::parse`] gives the same video
/// back, bit for bit.
pub fn to_json(video: &Video) -> String {
    to_json_with(video, &Value::Null)
}

/// As [`to_json`], with how the table was made in the member `made`, which readers leave alone.
pub fn to_json_with(video: &Video, made: &Value) -> String {
    let head = [
        ("format", json!(FORMAT)),
        ("version", json!(VERSION)),
        ("video", json!(video.name)),
        ("title", json!(video.title)),
        ("character", json!(video.character)),
        ("source", json!(video.source)),
        ("chunk_s", json!(video.chunk_s())),
        ("fps", json!(video.fps)),
        ("distinct_chunks", json!(video.distinct_chunks)),
        ("made", made.clone()),
    ];
    let mut out = String::from("{\n");
    for (member, value) in head.iter().filter(|(_, v)| !v.is_null()) {
        out.push_str(&format!("\"{member}\": {value},\n"));
    }
    let rungs: Vec<String> = video.rungs.iter().map(rung_json).collect();
    out.push_str(&format!("\"rungs\": [\n{}\n]\n}}\n", rungs.join(",\n")));
    out
}

fn rung_json(rung: &Rung) -> String {
    let quality: serde_json::Map<String, Value> =
        rung.quality.iter().map(|(m, values)| (m.name().to_owned(), json!(values))).collect();
    format!(
        "{{\"name\": {}, \"width\": {}, \"height\": {}, \"nominal_bps\": {}, \"size_bytes\": {}, \
         \"quality\": {}}}",
        json!(rung.name),
        rung.width,
        rung.height,
        rung.nominal.bps(),
        json!(rung.size_bytes),
        Value::Object(quality)
    )
}
