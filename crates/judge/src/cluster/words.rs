//! Lists of OSDs and commands as text.

use ceph::OsdFacts;

/// More names than this are counted instead.
const NAMES_MAX: usize = 6;

/// `osd.0`, `osd.0 and osd.1`, `osd.0, osd.1 and 12 more`.
pub(super) fn osds(osds: &[&OsdFacts]) -> String {
    list(&osds.iter().map(|osd| osd.name()).collect::<Vec<_>>())
}

pub(super) fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] if names.len() <= NAMES_MAX => {
            format!("{} and {last}", first.join(", "))
        }
        _ => {
            let (first, rest) = names.split_at(NAMES_MAX - 1);
            format!("{} and {} more", first.join(", "), rest.len())
        }
    }
}

/// `is` or `are`, and the like.
pub(super) fn verb(count: usize, one: &'static str, several: &'static str) -> &'static str {
    if count == 1 { one } else { several }
}

/// Commands in backquotes, separated by commas; at most as many as a reader wants to see.
pub(super) fn commands(commands: impl IntoIterator<Item = String>) -> String {
    let quoted: Vec<String> = commands.into_iter().map(|command| format!("`{command}`")).collect();
    list(&quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_counted() {
        let names =
            |count: u32| list(&(0..count).map(|id| format!("osd.{id}")).collect::<Vec<_>>());
        assert_eq!(names(1), "osd.0");
        assert_eq!(names(2), "osd.0 and osd.1");
        assert_eq!(names(20), "osd.0, osd.1, osd.2, osd.3, osd.4 and 15 more");
    }
}
