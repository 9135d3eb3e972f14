//! What constant rates could have reached in a mix.

use std::sync::Arc;

use airlane_base::IP_UDP_HEADER_BYTES;
use airlane_minerva::{RateCurve, fixed_rate_bound, fixed_rate_optimum};
use airlane_origin::PACKET_OVERHEAD_BYTES;

use super::super::{Cache, ContentDraws, Viewer, Viewers, metric_unit};
use airlane_scenario::Capacity;
use airlane_sim::plan::Plan;
use airlane_sim::workload::{Caches, traffic_of};

/// Lowest QoE at the fixed-rate optimum of a mix and at its bound, of the viewers under the scheme:
/// on what other traffic leaves of the link, and of that on an even share per viewer where others
/// watch beside them. No number where the link is not constant or shared with traffic that takes as
/// much as there is, where viewers come and go, where their QoE has several units, or where nothing
/// is known of a video.
pub(super) fn of_mix(plan: &Plan, caches: &Caches, case: usize) -> (f64, f64) {
    let scenario = &plan.scenario;
    let traffic = Viewers::of(scenario);
    let (Some(watched), Some(cache)) = (ContentDraws::in_case(plan, case), Cache::of(caches))
    else {
        return (f64::NAN, f64::NAN);
    };
    let all = traffic.viewers.iter().zip(&watched.videos);
    let own: Vec<_> = all.filter(|(viewer, _)| viewer.control.is_none()).collect();
    let unit = |viewer: &Viewer| metric_unit(traffic.metric_of(viewer));
    let curve = |(viewer, video): &(&Viewer, &Arc<airlane_media::Video>)| {
        cache.curve(traffic, viewer, &video.name)
    };
    let curves: Option<Vec<&RateCurve>> = own.iter().map(curve).collect();
    let comparable = own.windows(2).all(|pair| unit(pair[0].0) == unit(pair[1].0));
    // Who takes as much as there is leaves nothing that is known beforehand.
    let others: Option<f64> =
        traffic_of(scenario).filter(|c| !c.adapts()).map(|c| c.offered_bps()).sum();
    let steady = others.is_some() && traffic.arrivals.is_none() && comparable;
    let capacity = scenario.network.bottleneck().map(|way| &way.capacity);
    let (Some(curves), Some(Capacity::Constant(rate)), true) = (curves, capacity, steady) else {
        return (f64::NAN, f64::NAN);
    };
    let payload = scenario.transport.payload_bytes;
    let body = payload.saturating_sub(PACKET_OVERHEAD_BYTES) as f64;
    let packet = payload + u64::from(IP_UDP_HEADER_BYTES);
    let bodies = rate.bps() as f64 * body / packet as f64 - others.unwrap_or_default();
    let share = own.len() as f64 / traffic.viewers.len().max(1) as f64;
    if curves.is_empty() || bodies <= 0.0 {
        return (f64::NAN, f64::NAN);
    }
    let optimum = fixed_rate_optimum(&curves, share * bodies).worst_qoe;
    (optimum, fixed_rate_bound(&curves, share * bodies).worst_qoe)
}
