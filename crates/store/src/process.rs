//! The process that measures a run, and whether it is alive.
//!
//! A process is identified by the boot and the PID namespace that its number belongs to, by the
//! number, and by its start time, because numbers are reused.

use std::fs;

/// The identity of this process, as one text.
pub fn this() -> String {
    let pid = std::process::id();
    format!("{}/{}/{pid}/{}", boot(), namespace(), began(pid).unwrap_or_default())
}

/// Returns whether the process with this identity is alive. One in another namespace of this
/// machine (a container) cannot be looked up and counts as alive.
pub fn lives(writer: &str) -> bool {
    let mut parts = writer.split('/');
    let (Some(boot_then), Some(namespace_then), Some(pid), Some(began_then)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    if boot_then != boot() {
        return false;
    }
    namespace_then != namespace()
        || pid.parse().ok().and_then(began).is_some_and(|began| began == began_then)
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

/// The link reads `pid:[4026531836]`.
fn namespace() -> String {
    fs::read_link("/proc/self/ns/pid")
        .map(|link| link.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Start time in ticks since boot: field 22 of proc_pid_stat(5). `None` if the process is gone or a
/// zombie.
fn began(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    fields.nth(18).filter(|_| !matches!(state, "Z" | "X")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_and_the_namespace_have_names() {
        assert_eq!(boot().len(), "01234567-89ab-cdef-0123-456789abcdef".len(), "{}", boot());
        assert!(namespace().starts_with("pid:["), "{}", namespace());
    }

    #[test]
    fn this_one_lives_and_a_dead_one_does_not() {
        assert!(lives(&this()));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let text = format!(
            "{}/{}/{}/{}",
            boot(),
            namespace(),
            child.id(),
            began(child.id()).unwrap_or_default()
        );
        child.wait().unwrap();
        assert!(!lives(&text));
        let reused = this().rsplit_once('/').map(|(rest, _)| format!("{rest}/1")).unwrap();
        assert!(!lives(&reused), "a reused number");
        assert!(!lives(&this().replacen(&boot(), "another-boot", 1)));
        assert!(lives(&this().replacen(&namespace(), "pid:[1]", 1)), "in a container");
        assert!(!lives("") && !lives("nonsense"));
    }
}
