//! Two processor instructions that Rust does not expose well: extracting the bits of a mask, and
//! prefetching.
#![expect(
    unsafe_code,
    reason = "inline instructions; each is used only if the processor supports it"
)]

/// Proof that this processor extracts bits (BMI2's `pext`) in one fast instruction.
///
/// Only [`Gather::here`] creates a value, after checking the processor, so the instruction is never
/// executed on a processor that lacks it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gather(());

impl Gather {
    /// `Some` if the processor extracts bits quickly.
    ///
    /// AMD's first two Zen generations (family 17h) implement `pext` in microcode that takes up to
    /// hundreds of cycles (Agner Fog's instruction tables, uops.info), so they count as not
    /// supporting it.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub(crate) fn here() -> Option<Self> {
        use std::sync::OnceLock;
        static QUICK: OnceLock<bool> = OnceLock::new();
        let quick = QUICK.get_or_init(|| {
            let vendor = core::arch::x86_64::__cpuid(0);
            let signature = core::arch::x86_64::__cpuid(1).eax;
            let family = ((signature >> 8) & 0xf) + ((signature >> 20) & 0xff);
            let amd = vendor.ebx == u32::from_le_bytes(*b"Auth");
            std::arch::is_x86_feature_detected!("bmi2") && !(amd && family == 0x17)
        });
        quick.then_some(Self(()))
    }

    /// Miri does not support inline assembly. There a Rust version replaces it, so everything built
    /// on it is checked.
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    pub(crate) fn here() -> Option<Self> {
        cfg!(miri).then_some(Self(()))
    }

    /// The bits of `word` selected by `mask`, packed at the low end in the same order.
    #[inline(always)]
    #[allow(clippy::unused_self, reason = "having it proves that the instruction is supported")]
    pub(crate) fn gather(self, word: u64, mask: u64) -> u64 {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            let gathered: u64;
            // Inline assembly instead of the intrinsic: the intrinsic is a function call if the
            // caller is compiled without BMI2, and every function of this crate is.
            // SAFETY: `self` proves that the processor has BMI2; the instruction reads and writes
            // registers only.
            unsafe {
                core::arch::asm!(
                    "pext {gathered}, {word}, {mask}",
                    gathered = lateout(reg) gathered,
                    word = in(reg) word,
                    mask = in(reg) mask,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            gathered
        }
        #[cfg(any(not(target_arch = "x86_64"), miri))]
        {
            gather_slowly(word, mask)
        }
    }
}

/// Does the same as [`Gather::gather`], bit by bit.
#[cfg(any(test, miri, not(target_arch = "x86_64")))]
fn gather_slowly(word: u64, mut mask: u64) -> u64 {
    let mut gathered = 0;
    let mut place = 0;
    while mask != 0 {
        let bit = mask.trailing_zeros();
        gathered |= ((word >> bit) & 1) << place;
        place += 1;
        mask &= mask - 1;
    }
    gathered
}

/// Prefetches the cache line of `place`, which need not be valid: the instruction never faults.
#[inline(always)]
pub(crate) fn prefetch<T>(place: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint to the cache; the program's memory is not accessed, whatever the address.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(place.cast());
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 256 }))]

        #[test]
        fn the_instruction_gathers_as_the_loop_does(word: u64, mask: u64) {
            if let Some(gather) = Gather::here() {
                prop_assert_eq!(gather.gather(word, mask), gather_slowly(word, mask));
            }
        }

        #[test]
        fn gathering_keeps_the_order_of_words_that_differ_within_the_mask(base: u64, mask: u64, a: u64, b: u64) {
            let (a, b) = ((base & !mask) | (a & mask), (base & !mask) | (b & mask));
            prop_assert_eq!(gather_slowly(a, mask).cmp(&gather_slowly(b, mask)), a.cmp(&b));
        }
    }
}
