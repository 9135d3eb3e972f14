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
