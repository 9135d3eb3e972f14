//! SSIM as ffmpeg's filter `ssim` has it: of luma, over windows of 8x8, four samples apart.

use airlane_vpx::Luma;

/// Sums over a block of 4x4.
#[derive(Clone, Copy, Default)]
struct Sums {
    a: i32,
    b: i32,
    squares: i32,
    product: i32,
}

/// Compares pictures with a source of one size, and keeps the room that it needs for that.
#[derive(Default)]
pub(super) struct Ssim {
    above: Vec<Sums>,
    here: Vec<Sums>,
}

impl Ssim {
    /// The SSIM of a picture beside its source, whose rows follow each other; `None` if it has another
    /// size.
    pub(super) fn of(&mut self, source: &[u8], width: usize, shown: &Luma<'_>) -> Option<f64> {
        let height = source.len() / width.max(1);
        let (across, down) = (width / 4, height / 4);
        if (shown.width, shown.height) != (width, height) || across < 2 || down < 2 {
            return None;
        }
        let mut total = 0.0;
        for row in 0..down {
            std::mem::swap(&mut self.above, &mut self.here);
            let a = &source[row * 4 * width..];
            let b = &shown.samples[row * 4 * shown.stride..];
            sums(a, width, b, shown.stride, across, &mut self.here);
            if row > 0 {
                let pairs = self.above.windows(2).zip(self.here.windows(2));
                total += f64::from(pairs.map(|(top, bottom)| window(top, bottom)).sum::<f32>());
            }
        }
        Some(total / ((across - 1) * (down - 1)) as f64)
    }
}

fn sums(a: &[u8], a_stride: usize, b: &[u8], b_stride: usize, across: usize, out: &mut Vec<Sums>) {
    out.clear();
    out.resize(across, Sums::default());
    for y in 0..4 {
        let (a, b) = (&a[y * a_stride..][..across * 4], &b[y * b_stride..][..across * 4]);
        for ((a, b), sums) in a.chunks_exact(4).zip(b.chunks_exact(4)).zip(&mut *out) {
            for (p, q) in a.iter().zip(b) {
                let (p, q) = (i32::from(*p), i32::from(*q));
                sums.a += p;
                sums.b += q;
                sums.squares += p * p + q * q;
                sums.product += p * q;
            }
        }
    }
}

/// Of a window of four blocks.
fn window(top: &[Sums], bottom: &[Sums]) -> f32 {
    const C1: f32 = 416.0; // (0.01 * 255)^2 * 64, as whole number
    const C2: f32 = 235_963.0; // (0.03 * 255)^2 * 64 * 63, likewise
    let sum = |of: fn(&Sums) -> i32| of(&top[0]) + of(&top[1]) + of(&bottom[0]) + of(&bottom[1]);
    let (a, b) = (sum(|s| s.a), sum(|s| s.b));
    let (squares, product) = (sum(|s| s.squares), sum(|s| s.product));
    let variances = squares * 64 - a * a - b * b;
    let covariance = product * 64 - a * b;
    ((2 * a * b) as f32 + C1) * ((2 * covariance) as f32 + C2)
        / (((a * a + b * b) as f32 + C1) * (variances as f32 + C2))
}

/// In decibels, at most 100: a picture that equals its source.
pub(super) fn decibels(ssim: f64) -> f64 {
    (-10.0 * (1.0 - ssim).max(1e-10).log10()).clamp(0.0, 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_perfect_and_noise_is_not() {
        let picture: Vec<u8> = (0..64 * 32_u32).map(|n| (n * 7 % 251) as u8).collect();
        let shown = |samples| Luma { width: 64, height: 32, stride: 64, samples };
        let mut ssim = Ssim::default();
        assert!(ssim.of(&picture, 64, &shown(&picture)).unwrap() > 0.999_999);
        let other: Vec<u8> = picture.iter().rev().copied().collect();
        assert!(ssim.of(&picture, 64, &shown(&other)).unwrap() < 0.9);
        assert_eq!(ssim.of(&picture, 32, &shown(&picture)), None);
        assert_eq!(decibels(1.0), 100.0);
        assert!((decibels(0.9) - 10.0).abs() < 1e-9);
    }
}
