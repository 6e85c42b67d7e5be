//! Compensates a client that sends one request at a time for lateness, and estimates its current
//! cost of the transport.

use simdrive::Ns;

use super::transport_cost::CostRange;

/// Longer delays are not compensated: the transport did not cause them.
const LATE_NS_MAX: Ns = 200_000;
/// The share of gaps that are below the estimate.
const QUANTILE: f64 = 0.4;
/// The time that a client needs at least between a reply and its next request.
const THOUGHT_NS: f64 = 3_000.0;
/// The step by which one gap moves the estimate.
const STEP_NS: f64 = 1_000.0;

/// The latest replies to one client.
///
/// The cost of the transport depends on where the scheduler puts the two sides: by a factor of
/// three on a small machine, and it may change at any time. A client that sends its next request
/// right after a reply reveals it. The gap consists of the way of the reply and that of the next
/// request, which together equal the way of a request and of its reply, plus the client's own time.
/// So the estimate is the value that most gaps exceed, minus the client's time, limited to the
/// range measured at the start.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    late_ns: Ns,
    answered_at: Option<Ns>,
    gap_ns: Option<f64>,
}

impl Pace {
    /// Records a reply sent at `now`, whose time in the model was `at`.
    #[inline]
    pub(crate) fn answered(&mut self, now: Ns, at: Ns) {
        self.late_ns = now.saturating_sub(at).min(LATE_NS_MAX);
        self.answered_at = Some(now);
    }

    /// When a request was sent that arrived at `now`, given the cost of its kind. With `is_idle`,
    /// the client had no other request in progress and waited for the latest reply, so that reply's
    /// lateness has delayed the request, too.
    #[inline]
    pub(crate) fn sent_at(
        &mut self,
        now: Ns,
        CostRange { min_ns, max_ns }: CostRange,
        is_idle: bool,
    ) -> Ns {
        let late_ns = if is_idle { self.late_ns } else { 0 };
        if let (true, Some(answered_at)) = (is_idle, self.answered_at.take()) {
            let gap_ns = (now - answered_at) as f64;
            let estimate = self.gap_ns.get_or_insert(max_ns as f64);
            *estimate +=
                if gap_ns < *estimate { -STEP_NS * (1.0 - QUANTILE) } else { STEP_NS * QUANTILE };
            *estimate = estimate.clamp(0.0, max_ns as f64 * 1.5 + THOUGHT_NS);
        }
        let cost_ns = self
            .gap_ns
            .map_or(max_ns, |gap_ns| ((gap_ns - THOUGHT_NS) as Ns).clamp(min_ns, max_ns));
        now.saturating_sub(cost_ns + late_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: CostRange = CostRange { min_ns: 10_000, max_ns: 50_000 };

    /// By how much the last of many requests is dated back, if each comes this long after the
    /// previous reply.
    fn taken_off(gap_ns: Ns) -> Ns {
        let mut pace = Pace::default();
        let (mut now, mut off) = (1_000_000, 0);
        for _ in 0..300 {
            pace.answered(now, now);
            now += gap_ns;
            off = now - pace.sent_at(now, COST, true);
            now += 1_000_000;
        }
        off
    }

    #[test]
    fn the_floor_follows_clients_that_come_back_at_once() {
        assert!(taken_off(23_000).abs_diff(20_000) <= 1_000);
        assert_eq!(taken_off(8_000), 10_000);
        // Clients with longer gaps are thinking, which is not the transport's cost.
        assert_eq!(taken_off(900_000), 50_000);
    }

    #[test]
    fn lateness_is_taken_off_the_next_request_of_a_waiting_client() {
        let mut pace = Pace::default();
        pace.answered(130_000, 100_000);
        let free = CostRange { min_ns: 0, max_ns: 0 };
        assert_eq!(Pace::sent_at(&mut pace.clone(), 1_000_000, free, true), 970_000);
        assert_eq!(pace.sent_at(1_000_000, free, false), 1_000_000);
    }
}
