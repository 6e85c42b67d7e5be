//! Times that vary.

use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Draws from the exponential distribution with mean 1.
#[inline]
pub fn exponential(draws: &mut Xoshiro256PlusPlus) -> f64 {
    // Above zero, at most one.
    let uniform = ((draws.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    -uniform.ln()
}
