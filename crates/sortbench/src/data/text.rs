//! Keys that people and programs write: words, URLs, paths; and a genome's letters.

use std::io::Write as _;

use super::dice::{Dice, Zipf};
use super::keys::Pen;

/// Words that a large text knows.
const VOCABULARY: usize = 50_000;
/// Hosts of a crawl, by Zipf's law.
const HOSTS: [&str; 12] = [
    "www.example.com",
    "shop.example.com",
    "docs.example.org",
    "news.example.net",
    "static.example.com",
    "blog.example.org",
    "wiki.example.net",
    "forum.example.com",
    "media.example.net",
    "api.example.org",
    "mail.example.com",
    "archive.example.org",
];
/// Directories of one level of a site or a file system, by Zipf's law.
const DIRECTORIES: usize = 40;
/// How often each letter of a genome is read: the usual depth of sequencing.
const COVERAGE: usize = 30;
/// Letters of one read.
const READ: usize = 100;

pub fn words(pen: &mut Pen) {
    let vocabulary: Vec<Vec<u8>> = (0..VOCABULARY).map(|_| word(pen.dice(), 2, 12)).collect();
    let zipf = Zipf::new(VOCABULARY);
    pen.each(|dice, key| key.extend(&vocabulary[zipf.rank(dice)]));
}

pub fn urls(pen: &mut Pen) {
    let (hosts, tree) = (Zipf::new(HOSTS.len()), Tree::new(pen.dice()));
    pen.each(|dice, key| {
        key.extend(b"https://");
        key.extend(HOSTS[hosts.rank(dice)].as_bytes());
        let depth = dice.between(4, 7);
        tree.path(dice, depth, key);
        let article = dice.below(100_000_000);
        write!(key, "/article-{article:08}.html").expect("writing to a vector cannot fail");
    });
}

pub fn paths(pen: &mut Pen) {
    let tree = Tree::new(pen.dice());
    pen.each(|dice, key| {
        key.extend(dice.one_of::<[u8]>(&[b"/usr/share", b"/usr/lib", b"/var/lib", b"/home/user/projects", b"/opt"]));
        let depth = dice.between(2, 6);
        tree.path(dice, depth, key);
        key.push(b'/');
        key.extend(word(dice, 4, 12));
        key.extend(dice.one_of::<[u8]>(&[b".rs", b".c", b".h", b".html", b".png", b".so", b".txt", b".json"]));
    });
}

pub fn genome(pen: &mut Pen) {
    let letters = pen.count() * READ / COVERAGE + READ;
    let genome: Vec<u8> = (0..letters).map(|_| b"ACGT"[pen.dice().below(4)]).collect();
    pen.each(|dice, key| {
        let start = dice.below(genome.len() - READ + 1);
        key.extend(&genome[start..start + READ]);
    });
}

/// A tree of directories, each level with its own names.
struct Tree {
    levels: Vec<Vec<Vec<u8>>>,
    zipf: Zipf,
}

impl Tree {
    fn new(dice: &mut Dice) -> Self {
        let level = |dice: &mut Dice| (0..DIRECTORIES).map(|_| word(dice, 4, 12)).collect();
        Self { levels: (0..8).map(|_| level(dice)).collect(), zipf: Zipf::new(DIRECTORIES) }
    }

    fn path(&self, dice: &mut Dice, depth: usize, key: &mut Vec<u8>) {
        for level in &self.levels[..depth] {
            key.push(b'/');
            key.extend(&level[self.zipf.rank(dice)]);
        }
    }
}

/// Consonants and vowels in turn: words that share beginnings as those of a language do.
fn word(dice: &mut Dice, least: usize, most: usize) -> Vec<u8> {
    let (consonants, vowels) = (b"bcdfghklmnprstvw", b"aeiou");
    let vowel_first = dice.below(2);
    (0..dice.between(least, most))
        .map(|place| {
            if place % 2 == vowel_first {
                consonants[dice.below(consonants.len())]
            } else {
                vowels[dice.below(vowels.len())]
            }
        })
        .collect()
}
