//! The effect of FLUSH and FUA: a drive performs them, ignores them, or acknowledges them before
//! they take effect.

use simdrive::Identity;

use crate::honesty::Honesty;

/// The handling of a request to make writes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handling {
    Performed,
    Ignored,
    /// Acknowledged as if it had been performed; [`super::promises`] counts the time until it is.
    Early,
}

/// A drive's handling of FLUSH and FUA.
#[derive(Debug, Clone, Copy)]
pub(super) struct Barriers {
    flush: Handling,
    fua: Handling,
    volatile_cache: bool,
}

impl Barriers {
    pub(super) fn new(honesty: &Honesty, identity: &Identity) -> Barriers {
        let handling = |ignored| {
            if honesty.ack_early.is_some() {
                Handling::Early
            } else if ignored {
                Handling::Ignored
            } else {
                Handling::Performed
            }
        };
        Barriers {
            flush: handling(honesty.ignores_flush),
            fua: handling(honesty.ignores_fua || !identity.fua),
            volatile_cache: identity.volatile_cache,
        }
    }

    /// Returns whether a flush reaches the model. If not, it is acknowledged at once.
    #[inline]
    pub(super) fn pass_flush(self) -> bool {
        self.flush == Handling::Performed
    }

    /// Returns whether a write is forced to the medium by the model.
    #[inline]
    pub(super) fn pass_fua(self, fua: bool) -> bool {
        fua && self.fua == Handling::Performed
    }

    /// Returns whether a host may take the completion of a write for a promise that it is durable.
    #[inline]
    pub(super) const fn promise_write(self, fua: bool) -> bool {
        fua || !self.volatile_cache
    }

    /// Returns whether the model knows which writes are durable. To a model without a volatile
    /// cache every acknowledged write is, even if that is a lie.
    pub(super) fn model_knows(self) -> bool {
        self.volatile_cache || self.flush != Handling::Early
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn barriers(lies: &[&str], volatile_cache: bool, fua: bool) -> Barriers {
        let lies: Vec<_> = lies.iter().map(|lie| lie.parse().unwrap()).collect();
        let identity = Identity {
            capacity_bytes: 1 << 20,
            volatile_cache,
            fua,
            queue_depth: 1,
            rotational: false,
            switchable: false,
        };
        Barriers::new(&Honesty::of(&lies), &identity)
    }

    #[test]
    fn each_lie_stops_what_it_is_about() {
        let passed = |lies: &[&str], fua| {
            let barriers = barriers(lies, true, fua);
            (barriers.pass_flush(), barriers.pass_fua(true))
        };
        assert_eq!(passed(&[], true), (true, true));
        assert_eq!(passed(&[], false), (true, false));
        assert_eq!(passed(&["ignore-flush"], true), (false, true));
        assert_eq!(passed(&["ignore-fua"], true), (true, false));
        assert_eq!(passed(&["ack-early=1ms"], true), (false, false));
        // An early acknowledgement is fulfilled some day, so it is not ignored.
        assert_eq!(passed(&["ack-early=1ms", "ignore-flush", "ignore-fua"], true), (false, false));
        assert!(!barriers(&[], true, true).pass_fua(false));
    }

    #[test]
    fn whatever_is_lied_about_the_promise_is_the_same() {
        for lies in [&[][..], &["ignore-flush", "ignore-fua"], &["ack-early=1ms"]] {
            let cached = barriers(lies, true, true);
            assert!(cached.promise_write(true) && !cached.promise_write(false));
            assert!(barriers(lies, false, true).promise_write(false));
        }
    }

    #[test]
    fn a_model_without_a_cache_does_not_know_of_early_promises() {
        assert!(barriers(&["ack-early=1ms"], true, true).model_knows());
        assert!(!barriers(&["ack-early=1ms"], false, true).model_knows());
        assert!(barriers(&["ignore-flush"], false, true).model_knows());
    }
}
