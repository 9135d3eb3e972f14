//! Division of one channel by a fixed share, as in the paper's estimate of what an uneven division brings (section
//! II-B, figure 4).

/// Uplink and downlink of each client, kbit/s, for channels of these capacities, where one channel is the bottleneck.
///
/// The smallest channel, of several the first, gives `up_share` of its capacity (0 to 1) to the uplink and the rest to
/// the downlink. All others are taken to be ample: their rates are infinite.
pub fn fixed_share(capacities: &[f64], up_share: f64) -> Vec<(f64, f64)> {
    let mut divided = vec![(f64::INFINITY, f64::INFINITY); capacities.len()];
    let smallest = capacities.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
    if let Some((bottleneck, total)) = smallest {
        let (total, share) = (total.max(0.0), up_share.clamp(0.0, 1.0));
        divided[bottleneck] = (share * total, (1.0 - share) * total);
    }
    divided
}
