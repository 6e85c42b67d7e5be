//! Keys without meaning: random bytes, repetitions, shared prefixes.

use super::keys::Pen;
use super::random::Random;

/// Printable characters without common field separators.
const PRINTABLE: std::ops::RangeInclusive<usize> = 0x21..=0x7e;
/// The common prefix of `prefix-48`.
pub const PREFIX: &[u8; 48] = b"warehouse/eu-central-1/production/orders/line/2/";
/// The key that `equal` repeats.
pub const EQUAL: &[u8; 32] = b"the same key in every single row";
/// The key that `trailing-zeros` pads.
pub const STEM: &[u8; 8] = b"stem\0key";

pub fn eight(pen: &mut Pen) {
    pen.each(|random, key| key.extend(random.bytes::<8>()));
}

pub fn sixteen(pen: &mut Pen) {
    pen.each(|random, key| key.extend(random.bytes::<16>()));
}

pub fn short(pen: &mut Pen) {
    pen.each(|random, key| {
        let length = random.between(0, 3);
        key.extend(&random.bytes::<3>()[..length]);
    });
}

pub fn ascii(pen: &mut Pen) {
    pen.each(|random, key| {
        for _ in 0..random.between(10, 40) {
            key.push(random.between(*PRINTABLE.start(), *PRINTABLE.end()) as u8);
        }
    });
}

pub fn equal(pen: &mut Pen) {
    pen.each(|_, key| key.extend(EQUAL));
}

pub fn prefix(pen: &mut Pen) {
    pen.each(common);
}

pub fn prefix_with_strays(pen: &mut Pen) {
    pen.each(|random, key| {
        let start = key.len();
        common(random, key);
        if random.below(100) == 0 {
            // Any byte except the first one of the common prefix.
            key[start] = key[start].wrapping_add(random.between(1, 255) as u8);
        }
    });
}

fn common(random: &mut Random, key: &mut Vec<u8>) {
    key.extend(PREFIX);
    key.extend(random.bytes::<16>());
}

pub fn clusters(pen: &mut Pen) {
    let prefixes: Vec<[u8; 40]> = (0..1000).map(|_| pen.random().bytes()).collect();
    pen.each(|random, key| {
        key.extend(prefixes[random.below(prefixes.len())]);
        key.extend(random.bytes::<8>());
    });
}

pub fn runs_of_a(pen: &mut Pen) {
    pen.each(|random, key| key.resize(key.len() + random.between(0, 1000), b'a'));
}

pub fn trailing_zeros(pen: &mut Pen) {
    pen.each(|random, key| {
        key.extend(STEM);
        key.resize(key.len() + random.between(0, 100), 0);
    });
}
