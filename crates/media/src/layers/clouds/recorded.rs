//! The text files that the authors of Octopus recorded (`docs/reference/cloud-tables.md`): of two
//! front cells and the two behind, each in five layers.

use airlane_base::InputError;

use super::{CloudFrame, CloudPair, CloudTable};
use crate::layers::{MAX_BYTES, MAX_FRAMES, numbers};

/// The clip was recorded at so many frames a second.
pub(crate) const FPS: f64 = 20.0;
/// Columns of cells, and layers of each, of front cells and of those behind together.
const FRONTS: usize = 2;
const LAYERS: usize = 5;
/// Ratio of the size of a cell in layers to that of a whole one (Octopus, section 6.3: 10 to 12 %).
const LAYERED_OVERHEAD: f64 = 1.11;
/// SSIM of a part of the picture by layers of its front cell, then of the one behind. The recording has
/// no pictures: these are means over both parts of the three clips that come with Airlane.
const SSIM: [[f64; LAYERS + 1]; LAYERS + 1] = [
    [0.083, 0.165, 0.191, 0.207, 0.219, 0.230],
    [0.362, 0.385, 0.400, 0.409, 0.418, 0.423],
    [0.488, 0.505, 0.526, 0.539, 0.551, 0.556],
    [0.593, 0.608, 0.632, 0.648, 0.663, 0.668],
    [0.735, 0.768, 0.795, 0.814, 0.833, 0.840],
    [0.831, 0.850, 0.878, 0.897, 0.918, 0.924],
];

/// Reads a file.
pub(crate) fn parse(text: &str) -> Result<CloudTable, InputError> {
    let at =
        |line: usize, found: String, expected: &str| InputError::new(found, expected).at_line(line);
    let mut lines = (1..).zip(text.lines());
    let head = lines.next().map_or("", |(_, line)| line);
    let [layers, columns, count] = numbers(1, head, "expected layers, cells and frames")?;
    let expected = "expected 10 layers of 2 cells, and 1 to 100000 frames";
    let is_known = (layers, columns) == (2.0 * LAYERS as f64, FRONTS as f64);
    if !is_known || !(1.0..=MAX_FRAMES as f64).contains(&count) || count.fract() != 0.0 {
        return Err(at(1, format!("found {head:?}"), expected));
    }
    let mut frames: Vec<CloudFrame> = Vec::new();
    let per_frame = 2 * LAYERS * FRONTS;
    let (mut place, mut last) = (0, 1);
    for (line, text) in lines {
        last = line;
        let what = "expected frame, layer, cell, bytes and cumulative rate";
        let [frame, layer, cell, bytes, _] = numbers(line, text, what)?;
        let within = place % per_frame;
        let next = [place / per_frame, within / FRONTS, within % FRONTS];
        if [frame, layer, cell] != next.map(|n| n as f64) || next[0] as f64 >= count {
            let found = format!("found frame {frame}, layer {layer}, cell {cell}");
            let expected =
                format!("expected frame {}, layer {}, cell {}", next[0], next[1], next[2]);
            return Err(at(line, found, &expected));
        }
        if !(1.0..=MAX_BYTES as f64).contains(&bytes) || bytes.fract() != 0.0 {
            return Err(at(line, format!("found {bytes} bytes"), "expected 1 to 16777216 bytes"));
        }
        if within == 0 {
            let empty = vec![Vec::new(); 2 * FRONTS];
            frames.push(CloudFrame { layer_bytes: empty.clone(), whole_bytes: empty });
        }
        // The upper layers are those of the cells behind.
        let of = next[1] / LAYERS * FRONTS + next[2];
        if let Some(frame) = frames.last_mut() {
            frame.layer_bytes[of].push(bytes as u32);
        }
        place += 1;
    }
    if place as f64 != count * per_frame as f64 {
        return Err(at(last, "the file ends".to_owned(), "expected all layers of every frame"));
    }
    for frame in &mut frames {
        frame.whole_bytes = frame.layer_bytes.iter().map(|layers| whole(layers)).collect();
    }
    let pair =
        CloudPair { share: 1.0 / FRONTS as f64, ssim: SSIM.map(|row| row.to_vec()).to_vec() };
    Ok(CloudTable { layers: LAYERS, pairs: vec![pair; FRONTS], frames, derived: true })
}

/// Bytes of a cell encoded whole at each density: those of its layers together, less what layers
/// cost more. A cell of one layer is the same either way.
fn whole(layers: &[u32]) -> Vec<u32> {
    let mut sum = 0.0;
    let densities = layers.iter().enumerate().map(|(i, bytes)| {
        sum += f64::from(*bytes);
        if i == 0 { *bytes } else { ((sum / LAYERED_OVERHEAD).round() as u32).max(1) }
    });
    densities.collect()
}
