//! The text files that the authors of Octopus recorded (`docs/reference/layer-tables.md`).

use airlane_base::InputError;

use super::{
    Layer, MAX_BYTES, MAX_ENCODINGS, MAX_FRAMES, MAX_LAYERS, MAX_SSIM_DB, QualityEncoding,
    QualityTable, TemporalTable, mean_bps,
};

/// The clips were recorded at so many frames a second.
pub(super) const FPS: f64 = 30.0;
/// In a file whose mean is below this the SSIM is not one: one recorded file has 2.8 dB throughout.
const MIN_MEAN_SSIM_DB: f64 = 5.0;

/// Table that a file holds.
pub(super) enum Recorded {
    Quality(QualityTable),
    Temporal(TemporalTable),
}

/// Reads a file: its first line tells what it is.
pub(super) fn parse(text: &str) -> Result<Recorded, InputError> {
    let mut lines = (1..).zip(text.lines());
    let head = lines.next().map_or("", |(_, line)| line);
    let numbers: Vec<Option<usize>> = head.split_whitespace().map(|n| n.parse().ok()).collect();
    match numbers[..] {
        [Some(gop @ 1..=1000), Some(layers @ 1..=MAX_LAYERS)] => {
            quality(lines, gop, layers).map(Recorded::Quality)
        }
        [Some(gop @ 1..=1000)] => temporal(lines, gop).map(Recorded::Temporal),
        _ => Err(at(1, format!("found {head:?}"), "expected the frames of a GoP, and the layers")),
    }
}

fn at(line: usize, found: String, expected: &str) -> InputError {
    InputError::new(found, expected).at_line(line)
}

/// The numbers of a line, as many as there should be.
pub(crate) fn numbers<const N: usize>(
    line: usize,
    text: &str,
    what: &str,
) -> Result<[f64; N], InputError> {
    let read: Option<Vec<f64>> = text
        .split_whitespace()
        .map(|n| n.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0))
        .collect();
    read.and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(|| at(line, format!("found {text:?}"), what))
}

fn layer(line: usize, bytes: f64, ssim_db: f64) -> Result<Layer, InputError> {
    if !(1.0..=MAX_BYTES as f64).contains(&bytes) || ssim_db > MAX_SSIM_DB {
        let found = format!("found {bytes} bytes and {ssim_db} dB");
        return Err(at(line, found, "expected 1 to 16777216 bytes and at most 100 dB"));
    }
    Ok(Layer { bytes: bytes as u32, ssim_db })
}

fn quality<'a>(
    lines: impl Iterator<Item = (usize, &'a str)>,
    gop: usize,
    layers: usize,
) -> Result<QualityTable, InputError> {
    // By target rate, in the order of the file.
    let mut encodings: Vec<(f64, Vec<Vec<Layer>>)> = Vec::new();
    let mut last = 1;
    for (line, text) in lines {
        last = line;
        let what = "expected rate, frame, layer, bytes, cumulative rate and SSIM";
        let [target, frame, number, bytes, _, ssim_db] = numbers(line, text, what)?;
        if encodings.last().is_none_or(|(t, _)| *t != target) {
            if encodings.len() == MAX_ENCODINGS {
                return Err(at(line, "another encoding".to_owned(), "expected at most 64"));
            }
            encodings.push((target, Vec::new()));
        }
        let frames = encodings.last_mut().map(|(_, frames)| frames).expect("it was pushed");
        if number == 0.0 {
            frames.push(Vec::with_capacity(layers));
        }
        let count = frames.len();
        let place = frames.last_mut().filter(|layers| layers.len() as f64 == number);
        let Some(place) = place.filter(|_| frame + 1.0 == count as f64 && count <= MAX_FRAMES)
        else {
            let found = format!("found frame {frame}, layer {number}");
            return Err(at(line, found, "expected the next layer, or the next frame"));
        };
        place.push(layer(line, bytes, ssim_db)?);
    }
    let whole = |(_, frames): &(f64, Vec<Vec<Layer>>)| frames.iter().all(|f| f.len() == layers);
    if encodings.is_empty() || !encodings.iter().all(whole) {
        let found = "the file ends, or a frame does".to_owned();
        return Err(at(last, found, "expected all layers of every frame"));
    }
    let mut encodings: Vec<_> =
        encodings.into_iter().map(|(_, frames)| encoding(frames, FPS)).collect();
    mend_repeated(&mut encodings, layers);
    Ok(QualityTable { gop, layers, encodings })
}

/// Replaces the SSIM of a layer that an encoding has from another one: two of the recorded files have
/// such columns. Of the two the one that lies further from what the encodings around it say is taken to
/// be wrong, and gets what these say, frame by frame.
fn mend_repeated(encodings: &mut [QualityEncoding], layers: usize) {
    for layer in 0..layers {
        for a in 0..encodings.len() {
            for b in a + 1..encodings.len() {
                let of = |e: &QualityEncoding| -> Vec<f64> {
                    e.frames.iter().map(|frame| frame[layer].ssim_db).collect()
                };
                if of(&encodings[a]) != of(&encodings[b]) {
                    continue;
                }
                let off = |i: usize| {
                    let from = between(encodings, i, layer);
                    let frames = encodings[i].frames.iter().zip(from);
                    frames.map(|(frame, from)| frame[layer].ssim_db - from).sum::<f64>().abs()
                };
                let wrong = if off(a) > off(b) { a } else { b };
                let mended = between(encodings, wrong, layer);
                for (frame, ssim_db) in encodings[wrong].frames.iter_mut().zip(mended) {
                    frame[layer].ssim_db = ssim_db;
                }
            }
        }
    }
}

/// SSIM of a layer of encoding `i`, frame by frame: interpolated between the encodings just below
/// and above, by the logarithm of the rate; of the lowest and highest that of the next one.
fn between(encodings: &[QualityEncoding], i: usize, layer: usize) -> Vec<f64> {
    let column = |i: usize| encodings[i].frames.iter().map(move |frame| frame[layer].ssim_db);
    let rate = |i: usize| encodings[i].layer_bps[layer].max(1.0).ln();
    let last = encodings.len() - 1;
    let (low, high) = match i {
        0 => (1.min(last), 1.min(last)),
        i if i == last => (i - 1, i - 1),
        i => (i - 1, i + 1),
    };
    let span = rate(high) - rate(low);
    let share = if span > 0.0 { ((rate(i) - rate(low)) / span).clamp(0.0, 1.0) } else { 0.0 };
    column(low).zip(column(high)).map(|(low, high)| low + share * (high - low)).collect()
}

/// An encoding with the rates that its frames have.
pub(super) fn encoding(frames: Vec<Vec<Layer>>, fps: f64) -> QualityEncoding {
    let layers = frames.first().map_or(0, Vec::len);
    let of = |most: usize| {
        let bytes = |f: &Vec<Layer>| f[..=most].iter().map(|l| u64::from(l.bytes)).sum();
        mean_bps(frames.iter().map(bytes), fps)
    };
    QualityEncoding { layer_bps: (0..layers).map(of).collect(), frames }
}

fn temporal<'a>(
    lines: impl Iterator<Item = (usize, &'a str)>,
    gop: usize,
) -> Result<TemporalTable, InputError> {
    let mut frames = Vec::new();
    let mut last = 1;
    for (line, text) in lines {
        last = line;
        let [frame, bytes, ssim_db] = numbers(line, text, "expected frame, bytes and SSIM")?;
        if frame != frames.len() as f64 || frames.len() >= MAX_FRAMES {
            let expected = format!("expected frame {}", frames.len());
            return Err(at(line, format!("found frame {frame}"), &expected));
        }
        frames.push(layer(line, bytes, ssim_db)?);
    }
    if frames.is_empty() {
        return Err(at(last, "the file ends".to_owned(), "expected frames"));
    }
    let mean = frames.iter().map(|f| f.ssim_db).sum::<f64>() / frames.len() as f64;
    Ok(TemporalTable { gop, has_quality: mean >= MIN_MEAN_SSIM_DB, frames })
}
