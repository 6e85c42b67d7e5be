//! Limits how far a lane may run ahead of what was recorded. A lease is an upper bound of what can
//! exist on a drive. It is durable in the journal before the lane gets it, so no record is found
//! that is impossible according to the journal.

use crate::frontier::Frontier;

/// Operations that a lane may be ahead: at a million per second, a round trip may take 30 ms before
/// a lane has to wait.
pub(crate) const AHEAD: u64 = 1 << 16;

/// The lanes that need a new lease, and the new leases. `leases` holds the present ones.
pub(crate) fn due(frontiers: &[(u16, Frontier)], leases: &[u64]) -> Vec<(u16, u64)> {
    frontiers
        .iter()
        .filter(|(lane, frontier)| {
            leases
                .get(usize::from(*lane))
                .is_some_and(|&lease| frontier.completed + AHEAD / 2 > lease)
        })
        .map(|(lane, frontier)| (*lane, frontier.completed + AHEAD))
        .collect()
}

pub(crate) fn first(lanes: u16) -> Vec<(u16, u64)> {
    (0..lanes).map(|lane| (lane, AHEAD)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_gets_a_new_lease_when_half_is_used_up() {
        let at = |completed| [(1, Frontier { completed, durable: 0 })];
        assert_eq!(due(&at(AHEAD / 2), &[0, AHEAD]), []);
        assert_eq!(due(&at(AHEAD / 2 + 1), &[0, AHEAD]), [(1, AHEAD / 2 + 1 + AHEAD)]);
        assert_eq!(first(2), [(0, AHEAD), (1, AHEAD)]);
        assert_eq!(due(&[(9, Frontier::default())], &[0, AHEAD]), [], "no such lane");
    }
}
