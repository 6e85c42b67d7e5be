//! Keys written by people and programs (words, URLs, paths), and reads of a genome.

use std::io::Write as _;

use super::keys::Pen;
use super::random::{Random, Zipf};

/// Vocabulary of a large text.
const VOCABULARY: usize = 50_000;
/// Hosts of a crawl, distributed by Zipf's law.
const HOSTS: [&str; 12] = [
    "www.example.com", "shop.example.com", "docs.example.org", "news.example.net",
    "static.example.com", "blog.example.org", "wiki.example.net", "forum.example.com",
    "media.example.net", "api.example.org", "mail.example.com", "archive.example.org",
];
/// Directories of one level of a site or filesystem, distributed by Zipf's law.
const DIRECTORIES: usize = 40;
/// Reads that cover each letter of a genome: the usual sequencing depth.
const COVERAGE: usize = 30;
/// Length of a read in letters.
const READ: usize = 100;

pub fn words(pen: &mut Pen) {
    let vocabulary: Vec<Vec<u8>> = (0..VOCABULARY).map(|_| word(pen.random(), 2, 12)).collect();
    let zipf = Zipf::new(VOCABULARY);
    pen.each(|random, key| key.extend(&vocabulary[zipf.rank(random)]));
}

pub fn urls(pen: &mut Pen) {
    let (hosts, tree) = (Zipf::new(HOSTS.len()), Tree::new(pen.random()));
    pen.each(|random, key| {
        key.extend(b"https://");
        key.extend(HOSTS[hosts.rank(random)].as_bytes());
        let depth = random.between(4, 7);
        tree.path(random, depth, key);
        let article = random.below(100_000_000);
        write!(key, "/article-{article:08}.html").expect("writing to a vector cannot fail");
    });
}

pub fn paths(pen: &mut Pen) {
    let tree = Tree::new(pen.random());
    pen.each(|random, key| {
        key.extend(random.one_of::<[u8]>(&[
            b"/usr/share", b"/usr/lib", b"/var/lib", b"/home/user/projects", b"/opt",
        ]));
        let depth = random.between(2, 6);
        tree.path(random, depth, key);
        key.push(b'/');
        key.extend(word(random, 4, 12));
        key.extend(
            random.one_of::<[u8]>(&[
                b".rs", b".c", b".h", b".html", b".png", b".so", b".txt", b".json",
            ]),
        );
    });
}

pub fn genome(pen: &mut Pen) {
    let letters = pen.count() * READ / COVERAGE + READ;
    let genome: Vec<u8> = (0..letters).map(|_| b"ACGT"[pen.random().below(4)]).collect();
    pen.each(|random, key| {
        let start = random.below(genome.len() - READ + 1);
        key.extend(&genome[start..start + READ]);
    });
}

/// A tree of directories with different names on each level.
struct Tree {
    levels: Vec<Vec<Vec<u8>>>,
    zipf: Zipf,
}

impl Tree {
    fn new(random: &mut Random) -> Self {
        let level = |random: &mut Random| (0..DIRECTORIES).map(|_| word(random, 4, 12)).collect();
        Self { levels: (0..8).map(|_| level(random)).collect(), zipf: Zipf::new(DIRECTORIES) }
    }

    fn path(&self, random: &mut Random, depth: usize, key: &mut Vec<u8>) {
        for level in &self.levels[..depth] {
            key.push(b'/');
            key.extend(&level[self.zipf.rank(random)]);
        }
    }
}

/// Alternating consonants and vowels: words that share beginnings as those of a language do.
fn word(random: &mut Random, least: usize, most: usize) -> Vec<u8> {
    let (consonants, vowels) = (b"bcdfghklmnprstvw", b"aeiou");
    let vowel_first = random.below(2);
    (0..random.between(least, most))
        .map(|place| {
            if place % 2 == vowel_first {
                consonants[random.below(consonants.len())]
            } else {
                vowels[random.below(vowels.len())]
            }
        })
        .collect()
}
