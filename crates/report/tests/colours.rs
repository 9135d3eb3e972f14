//! Colours of the page that have to be told apart by readers with any colour vision.

const STYLE: &str = include_str!("../../../web/report.css");

/// The least distance in CIELAB: about seven times what is just noticeable.
const APART: f64 = 17.0;

type Colour = [f64; 3];

/// What dichromats see, on linear RGB: Machado, Oliveira and Fernandes, "A Physiologically-based Model
/// for Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009, severity 1.0.
const VISIONS: [(&str, [[f64; 3]; 3]); 4] = [
    ("full", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
    ),
    (
        "deuteranopia",
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
    ),
    (
        "tritanopia",
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ),
];

/// The value of a variable in a part of the style, as linear RGB.
fn colour(part: &str, name: &str) -> Colour {
    let at = part.find(&format!("{name}: #")).unwrap_or_else(|| panic!("no {name}"));
    let hex = &part[at + name.len() + 3..][..6];
    [0, 2, 4].map(|i| {
        let value = f64::from(u8::from_str_radix(&hex[i..i + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    })
}

fn times(matrix: &[[f64; 3]; 3], of: Colour) -> Colour {
    matrix.map(|row| row.iter().zip(of).map(|(a, b)| a * b).sum())
}

/// CIELAB of linear RGB, by the white point of D65.
fn lab(rgb: Colour) -> Colour {
    const TO_XYZ: [[f64; 3]; 3] =
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]];
    let [x, y, z] = times(&TO_XYZ, rgb.map(|c| c.clamp(0.0, 1.0)));
    let f = |t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
    let [x, y, z] = [f(x / 0.9505), f(y), f(z / 1.089)];
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

fn distance(a: Colour, b: Colour) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn what_was_sent_again_in_vain_or_in_a_collision_keeps_apart_from_everything() {
    let dark = STYLE.find("@media (prefers-color-scheme: dark)").unwrap();
    let chosen = STYLE.find(":root[data-theme=\"dark\"]").unwrap();
    for (theme, part) in
        [("light", &STYLE[..dark]), ("dark", &STYLE[dark..]), ("dark, chosen", &STYLE[chosen..])]
    {
        let names = ["--again", "--vain", "--clash", "--paper"].map(str::to_owned);
        let actors = (0..8).map(|i| format!("--a{i}"));
        let all: Vec<String> = names.iter().cloned().chain(actors).collect();
        for (vision, matrix) in &VISIONS {
            let seen = |name: &str| lab(times(matrix, colour(part, name)));
            for one in &names {
                for other in all.iter().filter(|other| *other != one) {
                    let apart = distance(seen(one), seen(other));
                    assert!(apart >= APART, "{theme}, {vision}: {one} and {other}: {apart:.1}");
                }
            }
        }
    }
}
