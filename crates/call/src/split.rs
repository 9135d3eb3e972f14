//! Division of a downlink over the sources that it carries.

/// Divides `budget` over sources of these rates, max-min fair: none gets more than it has, and what one does
/// not need goes to the others. All are in the same unit; the result is in their order.
pub fn max_min(budget: f64, rates: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..rates.len()).collect();
    order.sort_by(|a, b| rates[*a].total_cmp(&rates[*b]));
    let mut left = budget.max(0.0);
    let mut shares = vec![0.0; rates.len()];
    for (served, i) in order.iter().enumerate() {
        let fair = left / (rates.len() - served) as f64;
        shares[*i] = rates[*i].max(0.0).min(fair);
        left -= shares[*i];
    }
    shares
}

/// Divides `budget` over sources of these rates and tiers: max-min fair among those of the lowest tier, then, with
/// what they leave, among those of the next one.
pub fn max_min_by_tier(budget: f64, sources: &[(f64, u8)]) -> Vec<f64> {
    let mut tiers: Vec<u8> = sources.iter().map(|(_, tier)| *tier).collect();
    tiers.sort_unstable();
    tiers.dedup();
    let mut shares = vec![0.0; sources.len()];
    let mut left = budget;
    for tier in tiers {
        let of_tier: Vec<_> = (0..sources.len()).filter(|i| sources[*i].1 == tier).collect();
        let rates: Vec<_> = of_tier.iter().map(|i| sources[*i].0).collect();
        for (i, share) in of_tier.into_iter().zip(max_min(left, &rates)) {
            shares[i] = share;
        }
        left = budget - shares.iter().sum::<f64>();
    }
    shares
}
