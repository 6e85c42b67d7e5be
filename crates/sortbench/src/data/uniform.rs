//! Keys without meaning: random bytes, runs, shared prefixes.

use super::dice::Dice;
use super::keys::Pen;

/// Printable characters that no field separator is among.
const PRINTABLE: std::ops::RangeInclusive<usize> = 0x21..=0x7e;
/// What prefix-48 shares.
pub const PREFIX: &[u8; 48] = b"warehouse/eu-central-1/production/orders/line/2/";
/// What equal repeats.
pub const EQUAL: &[u8; 32] = b"the same key in every single row";
/// What trailing-zeros pads.
pub const STEM: &[u8; 8] = b"stem\0key";

pub fn eight(pen: &mut Pen) {
    pen.each(|dice, key| key.extend(dice.bytes::<8>()));
}

pub fn sixteen(pen: &mut Pen) {
    pen.each(|dice, key| key.extend(dice.bytes::<16>()));
}

pub fn short(pen: &mut Pen) {
    pen.each(|dice, key| {
        let length = dice.between(0, 3);
        key.extend(&dice.bytes::<3>()[..length]);
    });
}

pub fn ascii(pen: &mut Pen) {
    pen.each(|dice, key| {
        for _ in 0..dice.between(10, 40) {
            key.push(dice.between(*PRINTABLE.start(), *PRINTABLE.end()) as u8);
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
    pen.each(|dice, key| {
        let start = key.len();
        common(dice, key);
        if dice.below(100) == 0 {
            // Any byte but the one that all others begin with.
            key[start] = key[start].wrapping_add(dice.between(1, 255) as u8);
        }
    });
}

fn common(dice: &mut Dice, key: &mut Vec<u8>) {
    key.extend(PREFIX);
    key.extend(dice.bytes::<16>());
}

pub fn clusters(pen: &mut Pen) {
    let prefixes: Vec<[u8; 40]> = (0..1000).map(|_| pen.dice().bytes()).collect();
    pen.each(|dice, key| {
        key.extend(prefixes[dice.below(prefixes.len())]);
        key.extend(dice.bytes::<8>());
    });
}

pub fn runs_of_a(pen: &mut Pen) {
    pen.each(|dice, key| key.resize(key.len() + dice.between(0, 1000), b'a'));
}

pub fn trailing_zeros(pen: &mut Pen) {
    pen.each(|dice, key| {
        key.extend(STEM);
        key.resize(key.len() + dice.between(0, 100), 0);
    });
}
