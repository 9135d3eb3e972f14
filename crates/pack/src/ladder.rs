//! Which rungs a source gets.

use airlane_base::{InputError, Rate};
use serde::{Deserialize, Serialize};

use crate::codec::Codec;

/// The rungs of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ladder {
    /// By the source: see [`default_ladder`].
    #[default]
    BySource,
    /// These, in rising order of their rates.
    Rungs(Vec<RungRequest>),
}

impl Ladder {
    /// Reads rungs such as `360p:800k,720p:2500k` or `1080p:5.5M`.
    ///
    /// # Errors
    /// A rung that is no height and rate, fewer than two or more than 20 rungs, rates that do not
    /// rise.
    pub fn parse(text: &str) -> Result<Self, InputError> {
        let rungs = text.split(',').map(|rung| {
            let expected = "expected a height and a rate, such as 360p:800k or 1080p:5.5M";
            let wrong = || InputError::new(format!("{:?}", rung.trim()), expected).at_key("rungs");
            let (height, rate) = rung.trim().split_once(':').ok_or_else(wrong)?;
            let height = height.strip_suffix('p').unwrap_or(height).parse().map_err(|_| wrong())?;
            let rate = parse_rate(rate).map_err(|_| wrong())?;
            Ok(RungRequest { height, rate })
        });
        let ladder = Self::Rungs(rungs.collect::<Result<_, InputError>>()?);
        ladder.check()?;
        Ok(ladder)
    }

    /// Checks what does not depend on the source.
    pub(crate) fn check(&self) -> Result<(), InputError> {
        let Self::Rungs(rungs) = self else { return Ok(()) };
        let wrong = |found: String, expected: &str| {
            Err(InputError::new(found, format!("expected {expected}")).at_key("rungs"))
        };
        if !(2..=20).contains(&rungs.len()) {
            return wrong(format!("{} rungs", rungs.len()), "2 to 20");
        }
        for rung in rungs {
            if !(16..=8640).contains(&rung.height) {
                return wrong(format!("{}p", rung.height), "a height from 16p to 8640p");
            }
            if !(10_000..=1_000_000_000).contains(&rung.rate.bps()) {
                return wrong(rung.rate.to_string(), "a rate from 10k to 1000M");
            }
        }
        match rungs.windows(2).find(|w| w[1].rate <= w[0].rate) {
            Some(w) => wrong(format!("{} after {}", w[1].rate, w[0].rate), "rates that rise"),
            None => Ok(()),
        }
    }
}

/// Reads a rate such as `800k` or `2.5M`.
///
/// # Errors
/// If it is none.
pub fn parse_rate(text: &str) -> Result<Rate, InputError> {
    let (number, factor) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1e3),
        None => text.strip_suffix(['m', 'M']).map_or((text, 1.0), |n| (n, 1e6)),
    };
    let number: Option<f64> = number.parse().ok().filter(|n: &f64| *n > 0.0 && n.is_finite());
    let wrong = || InputError::new(format!("{text:?}"), "expected a rate, such as 800k or 2.5M");
    number.map(|number| Rate::from_bps_f64(number * factor)).ok_or_else(wrong)
}

/// A rung that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RungRequest {
    /// Its class, such as 720 for 720p: the height of the 16:9 picture that is as wide or as high.
    pub height: u32,
    /// The rate of the pictures.
    pub rate: Rate,
}

/// A rung as it is encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rung {
    /// Its name, such as `720p`, or `720p-2500k` where several have one size.
    pub name: String,
    /// Width in pixels, even.
    pub width: u32,
    /// Height in pixels, even.
    pub height: u32,
    /// The mean rate that the encoder is asked for.
    pub rate: Rate,
}

/// Properties of a source from which its ladder is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Width of the source in square pixels.
    pub width: u32,
    /// Height of the source in square pixels.
    pub height: u32,
    /// Frames per second.
    pub fps: f64,
    /// Rate of the source's pictures, if known.
    pub rate: Option<Rate>,
}

/// Heights of 16:9 pictures and what H.264 gets for them at up to 30 frames/s, bit/s: the middle of
/// what the large services and Apple's authoring guide use.
const CLASSES: [(u32, f64); 8] = [
    (144, 110e3),
    (240, 280e3),
    (360, 650e3),
    (480, 1_200e3),
    (720, 2_800e3),
    (1080, 5_000e3),
    (1440, 9_500e3),
    (2160, 17_000e3),
];

/// The least step between two rates of a ladder that is worth a rung.
const STEP: f64 = 1.3;
/// A source is not encoded at more than this times its own rate.
const OVER_SOURCE: f64 = 1.2;

impl Size {
    /// The class of the source: the height of the smallest 16:9 picture, lying or standing, that it
    /// fits into.
    pub fn class(&self) -> u32 {
        let (long, short) = (self.width.max(self.height), self.width.min(self.height));
        // As wide as 1920 counts as 1080 although the picture is lower.
        short.max((f64::from(long) * 9.0 / 16.0).round() as u32)
    }

    /// Width and height at a class: the aspect ratio stays, both are even, nothing grows.
    pub fn scaled(&self, class: u32) -> (u32, u32) {
        let scale = (f64::from(class) / f64::from(self.class())).min(1.0);
        let even = |n: u32| {
            let n_scaled = (f64::from(n) * scale / 2.0).round() as u32 * 2;
            n_scaled.clamp(2, (n & !1).max(2))
        };
        (even(self.width), even(self.height))
    }

    /// The rate that pictures of a size get by default: by their pixels on the line through the
    /// classes (logarithms of both), half as much again above 30 frames/s.
    pub fn default_rate(&self, width: u32, height: u32, codec: Codec) -> Rate {
        let pixels = |class: u32| f64::from(class) * f64::from(class) * 16.0 / 9.0;
        let at = f64::from(width) * f64::from(height);
        let upper = CLASSES.iter().position(|(class, _)| pixels(*class) >= at);
        let upper = upper.unwrap_or(CLASSES.len() - 1).max(1);
        let [(a, rate_a), (b, rate_b)] = [CLASSES[upper - 1], CLASSES[upper]];
        let slope = (rate_b / rate_a).ln() / (pixels(b) / pixels(a)).ln();
        let rate = rate_a * (at / pixels(a)).powf(slope);
        let codec = match codec {
            Codec::H264 => 1.0,
            Codec::Vp9 => 0.65,
            Codec::Av1 => 0.55,
        };
        let motion = if self.fps > 32.0 { 1.5 } else { 1.0 };
        rounded(rate * codec * motion)
    }
}

/// To two digits, at least 20 kbit/s.
fn rounded(bps: f64) -> Rate {
    let bps = bps.max(20e3);
    let unit = 10_f64.powf(bps.log10().floor() - 1.0);
    Rate::from_bps_f64((bps / unit).round() * unit)
}

/// The default rungs of a source: the classes up to its own, from 240p on if it is 480p or more and
/// from 144p on else; its own size on top if no class is within a tenth of it. None has more than 1.2
/// times the source's own rate; of rungs that are less than 1.3 times apart the source's own size
/// stays, or else the smaller one. A source that leaves fewer than two gets its own size at two
/// rates.
pub fn default_ladder(size: &Size, codec: Codec) -> Vec<Rung> {
    let class = size.class();
    let least = if class >= 480 { 240 } else { 144 };
    let mut classes: Vec<u32> =
        CLASSES.iter().map(|c| c.0).filter(|c| (least..=class).contains(c)).collect();
    match classes.last_mut() {
        Some(top) if f64::from(class) <= f64::from(*top) * 1.1 => *top = class,
        _ => classes.push(class),
    }
    let cap = size.rate.map_or(f64::INFINITY, |r| r.as_f64() * OVER_SOURCE);
    let mut rungs: Vec<Rung> = Vec::new();
    let top = classes.last().copied();
    for class in classes {
        let (width, height) = size.scaled(class);
        let wanted = size.default_rate(width, height, codec);
        let rate = if wanted.as_f64() > cap { rounded(cap) } else { wanted };
        let close = |below: &Rung| rate.as_f64() < below.rate.as_f64() * STEP;
        // Where the source's own rate ends the ladder, its own size is the best use of it.
        while Some(class) == top && rungs.last().is_some_and(close) {
            rungs.pop();
        }
        if !rungs.last().is_some_and(close) {
            rungs.push(Rung { name: format!("{class}p"), width, height, rate });
        }
    }
    if let [only] = &rungs[..] {
        let mut below = only.clone();
        below.rate = rounded(only.rate.as_f64() / 2.0);
        if below.rate == only.rate {
            rungs[0].rate = only.rate.scale(2.0);
        }
        rungs.insert(0, below);
    }
    named(rungs)
}

/// The rungs of a request.
///
/// # Errors
/// A rung above the source.
pub fn rungs(ladder: &Ladder, size: &Size, codec: Codec) -> Result<Vec<Rung>, InputError> {
    let Ladder::Rungs(wanted) = ladder else { return Ok(default_ladder(size, codec)) };
    ladder.check()?;
    let class = size.class();
    let mut rungs = Vec::new();
    for RungRequest { height, rate } in wanted {
        // A source of 1078 lines is called 1080p.
        if f64::from(*height) > f64::from(class) * 1.05 {
            return Err(InputError::new(
                format!("{height}p"),
                format!("the source has {class}p, and nothing is made larger than it is"),
            )
            .at_key("rungs"));
        }
        let (width, height_px) = size.scaled(*height);
        rungs.push(Rung { name: format!("{height}p"), width, height: height_px, rate: *rate });
    }
    Ok(named(rungs))
}

/// Adds the rate to names that occur more than once.
fn named(mut rungs: Vec<Rung>) -> Vec<Rung> {
    let names: Vec<String> = rungs.iter().map(|r| r.name.clone()).collect();
    for rung in &mut rungs {
        if names.iter().filter(|n| **n == rung.name).count() > 1 {
            rung.name = format!("{}-{}k", rung.name, rung.rate.as_f64() / 1e3);
        }
    }
    rungs
}
