//! The page `docs/fio.md`, made from the table of options.

use std::fmt::Write as _;

use super::options::{ANYTHING, FioOption, OPTIONS, Role};

const OPENING: &str = "\
# fio job files and command lines

`flushmark run job.fio --target DIRECTORY` reads fio's job files: sections, `[global]`, comments (`#`, `;`), `${NAME}` for
environment variables, and the options below. Any other option is refused by name, because an option that is dropped in
silence changes what is measured. [The plan file](plan.md) has everything that flushmark can do.

```ini
[global]
ioengine=libaio
direct=1
size=1g
runtime=15
time_based
stonewall

[journal]
rw=randwrite
bs=4k
fsync=1

[read]
rw=randread
bs=4k
iodepth=32
```

A command line for fio goes behind `--`, as it is; a single test's options may also stand among flushmark's own:

```sh
flushmark run -- fio -ioengine=libaio -direct=1 -rw=randwrite -bs=4k -fsync=1 -runtime=60 -name=x -filename=/mnt/x
flushmark run --rw randwrite --bs 4k --fsync 1 --runtime 60 --target /mnt
```

`filename` and `directory` are the target where the command line names none with `--target`. A file that does not exist is
not made under its name: the test uses a file of flushmark's own in that directory, and removes it. A device, or a file that
exists, is only overwritten with `--destroy-data`, which goes before `--`.

Numbers take fio's suffixes: `k`, `m`, `g`, `t`, `p` are powers of 1024, and `ki`, `KiB`, `MiB` … are powers of **1000**, as
in fio unless `kb_base=1000` is set. `0x1000` is hexadecimal. Times are seconds, or take `us`, `ms`, `s`, `m`, `h`, `d`. A
flag stands alone or takes 0 or 1.

## Options that shape the test

| option | takes | left out | meaning here |
| --- | --- | --- | --- |
";

const ACCEPTED: &str = "
## Options that are accepted

They describe what happens anyway, or have no influence on what is measured.

| option | takes | what holds here |
| --- | --- | --- |
";

const CLOSING: &str = "
## What differs from fio

- **Sections at the same time** have a result each, and begin to be measured at the same moment: when all of them are warm
  (`ramp_time`). The counters of the device and the processor time cannot be told apart between them, and nothing is judged by
  their results.
- **A run has one target.** Sections that name different ones, or some that name one and some that do not, are refused; so
  are several names joined by colons.
- **One sync method a test.** `fsync`, `fdatasync` and `sync` are refused together.
- **A sync at depth is no commit.** As in fio, `libaio` and `io_uring` take a sync as one operation more while writes are in
  flight, and it covers none of those. A plan in TOML waits for the writes first, unless it says otherwise. fio's `libaio`
  makes an `fsync` of `fdatasync`; flushmark asks for what the job says.
- **The commit is one latency**, from the first byte submitted to the durability confirmed. fio reports the write without
  its sync, and the sync apart.
- **Random blocks repeat.** fio remembers which blocks it has touched and takes each once (unless `norandommap` is set).
- **Without `size`**, a job works on all of a device or an existing file and ends after one pass over it, as in fio. In a
  directory the jobs have 1 GiB together; fio refuses that.
- **A `size` with `bssplit` or `bsrange`** is as many operations as blocks of the mean size would need; fio counts bytes.
- **`verify`** reads back with one read at a time, after the measured time, and keeps these reads out of the figures. A block
  that differs fails the test.
- **`trim`** makes one discard at a time; its figures are in the place of those of writes.
- **Random content that differs in each write** is the default; fio repeats buffers that it changes a little
  (`scramble_buffers`).
- **Latency under `rate_iops`** counts from when an operation was due, so that a stall is charged to each request that it
  delayed. A mixed pattern with `rate_iops` is refused: fio holds reads and writes to the rate each.
- **An environment variable that is not set** is an error; fio takes an empty text.
- **`ioengine=null`** is the target `null:`.
";

/// The page, in Markdown.
pub fn reference() -> String {
    let mut page = OPENING.to_owned();
    for option in OPTIONS.iter().filter(|option| option.role == Role::Used) {
        let _ = writeln!(page, "| {} | {} | {} | {} |", names(option), option.takes, option.default, option.meaning);
    }
    page += ACCEPTED;
    for option in OPTIONS.iter().filter(|option| matches!(option.role, Role::Accepted | Role::Noted)) {
        let takes = if option.takes == ANYTHING { "anything" } else { option.takes };
        let _ = writeln!(page, "| {} | {takes} | {} |", names(option), option.meaning);
    }
    page += "\n## Options that are refused with advice\n\n| option | instead |\n| --- | --- |\n";
    for option in OPTIONS.iter().filter(|option| option.role == Role::Refused) {
        let _ = writeln!(page, "| {} | {} |", names(option), option.meaning);
    }
    page + CLOSING
}

fn names(option: &FioOption) -> String {
    let names: Vec<String> = option.names().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::options::FLAG;
    use super::*;

    #[test]
    fn the_example_is_read_and_flags_are_called_so() {
        let page = reference();
        let example = page.split("```ini\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let plan = crate::Plan::from_fio("example.fio", example, &|_| None).unwrap();
        assert_eq!(plan.tests.len(), 2);
        assert!(page.contains(&format!("| `direct` | {FLAG} |")));
        let commands = page.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let pasted: Vec<&str> = commands.lines().next().unwrap().split(' ').skip(3).collect();
        let plan = crate::Plan::from_fio_command(&pasted, &|_| None).unwrap();
        assert_eq!(plan.target.as_deref(), Some("/mnt/x"));
    }
}
