//! The mixing function of payloads and schedules.

/// 2^64 divided by the golden ratio, made odd: multiples of it are spread over all of `u64` (Knuth,
/// The Art of Computer Programming, vol. 3, 6.4).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// A random odd number, without which zero would be mixed to zero.
const SALT: u64 = 0xd6e8_feb8_6659_fd93;

/// The XOR of the upper and lower half of a 64 by 64 bit product: with one multiplication, every
/// bit of the result depends on every bit of the input.
#[inline]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// A pseudorandom number from a key and a counter.
#[inline]
pub(crate) fn mix(key: u64, counter: u64) -> u64 {
    let state = key.wrapping_add(counter.wrapping_mul(GOLDEN));
    fold(state, state ^ SALT)
}

/// A key made of several parts, each of which affects all of it.
#[inline]
pub(crate) fn key(parts: [u64; 3]) -> u64 {
    mix(mix(mix(SALT, parts[0]), parts[1]), parts[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Targets written by earlier versions must remain checkable, so these functions are part of
    /// the format.
    #[test]
    fn the_mixture_never_changes() {
        // 2^63 * 4 = 2 * 2^64; (2^64 - 1)^2 = (2^64 - 2) * 2^64 + 1.
        assert_eq!((fold(1 << 63, 4), fold(u64::MAX, u64::MAX)), (2, (u64::MAX - 1) ^ 1));
        // With counter 0 the state is the key, and a product with 1 is the other factor.
        assert_eq!((mix(0, 0), mix(1, 0)), (0, 1 ^ SALT));
        // Computed independently of this code.
        assert_eq!((mix(1, 2), key([1, 2, 3])), (0x4c3b_84ee_26ba_96d2, 0x979e_7987_9a6b_3d74));
    }

    #[test]
    fn half_of_the_bits_change_with_any_bit() {
        let mut changed = 0;
        for counter in 0..64u64 {
            let a = mix(1, counter * 7919);
            for bit in 0..64 {
                changed += (a ^ mix(1, (counter * 7919) ^ (1 << bit))).count_ones();
            }
        }
        let share = f64::from(changed) / f64::from(64 * 64 * 64);
        assert!((0.49..0.51).contains(&share), "{share}");
    }

    #[test]
    fn keys_of_neighbours_differ() {
        let keys: std::collections::HashSet<u64> =
            (0..1000).flat_map(|a| (0..100).map(move |b| key([1, a * 512, b]))).collect();
        assert_eq!(keys.len(), 100_000);
    }
}
