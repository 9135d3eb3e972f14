//! One-dimensional search.

/// Inverse of the golden ratio.
const GOLDEN: f64 = 0.618_033_988_749_894_8;

/// Maximum of a concave function within a bracket: the place and the value, to a width of `precision`
/// times the upper end.
pub(super) fn maximum(
    (low, high): (f64, f64),
    precision: f64,
    mut value: impl FnMut(f64) -> f64,
) -> (f64, f64) {
    let (mut low, mut high) = (low, high);
    let width = (precision * high.abs()).max(f64::MIN_POSITIVE);
    let mut best = (low, value(low));
    let mut consider = |at: f64| {
        let found = value(at);
        if found > best.1 {
            best = (at, found);
        }
        found
    };
    consider(high);
    let (mut left, mut right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut at_left, mut at_right) = (consider(left), consider(right));
    while high - low > width && low < left && left < right && right < high {
        if at_left >= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - GOLDEN * (high - low);
            at_left = consider(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + GOLDEN * (high - low);
            at_right = consider(right);
        }
    }
    best
}

/// Bracket around a place where a concave function on `[0, end]` may have its maximum: it grows from
/// a width of `width` until the function falls on both sides.
pub(super) fn bracket(
    around: f64,
    width: f64,
    end: f64,
    mut value: impl FnMut(f64) -> f64,
) -> (f64, f64) {
    let middle = around.clamp(0.0, end);
    let at_middle = value(middle);
    let mut side = |sign: f64| {
        let (mut step, mut before) = (width, at_middle);
        loop {
            let place = (middle + sign * step).clamp(0.0, end);
            let found = value(place);
            if found < before || place == 0.0 || place == end {
                return place;
            }
            before = found;
            step *= 16.0;
        }
    };
    (side(-1.0), side(1.0))
}
