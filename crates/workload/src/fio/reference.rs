//! Generates the page `docs/fio.md` from the table of options.

use std::fmt::Write as _;

use super::options::{ANYTHING, FioOption, OPTIONS, Role};

const OPENING: &str = "\
# fio job files and command lines

`flushmark run job.fio DIRECTORY` runs fio's job files: sections, `[global]`, comments
(`#`, `;`), `${NAME}` for environment variables, and the options below. Any other option is rejected
by name, because silently ignoring an option would change what is measured. The [plan file](plan.md)
covers everything else that flushmark can do; zones, processors, computations, exchanges of
blocks and preconditioning are options of job files only.

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

A complete fio command line goes after `--`. The options of a single test can also be mixed with
flushmark's options:

```sh
flushmark run -- fio -ioengine=libaio -direct=1 -rw=randwrite -bs=4k -fsync=1 -runtime=60 -name=x -filename=/mnt/x
flushmark run --rw randwrite --bs 4k --fsync 1 --runtime 60 --target /mnt
```

`filename` and `directory` set the target unless the command line has `--target`. A file that does
not exist is not created under that name: the test uses a temporary file in that directory instead.
A device or an existing file is only overwritten with `--destroy-data`, which goes before `--`.

Numbers take fio's suffixes: `k`, `m`, `g`, `t`, `p` are powers of 1024, and `ki`, `KiB`, `MiB` …
are powers of **1000**, as in fio unless `kb_base=1000` is set. `0x1000` is hexadecimal. Times are
in seconds, or have a unit: `us`, `ms`, `s`, `m`, `h`, `d`. A flag has no value, or 0 or 1.

## Supported options

| option | value | default | meaning in flushmark |
| --- | --- | --- | --- |
";

const ACCEPTED: &str = "
## Options that are accepted but have no effect

They describe what flushmark does anyway, or do not influence the measurement.

| option | value | in flushmark |
| --- | --- | --- |
";

const CLOSING: &str = "
## Differences from fio

- **Concurrent sections** have one result each. Their measurements start at the same time, once all
  of them are warmed up (`ramp_time`). Device counters and processor time cannot be attributed to
  one of them, so their results are not used for verdicts.
- **A run has one target.** `--target` replaces the targets of all sections; without it, sections
  with different targets are rejected, as are targets in some sections only. Several names joined by
  colons are always rejected, as are different targets of sections that run at the same time.
- **One sync method per test.** `fsync`, `fdatasync` and `sync` exclude each other.
- **A sync at depth is not a commit.** As in fio, `libaio` and `io_uring` issue a sync as one more
  operation while writes are in flight, and the sync covers none of those. A TOML plan waits for the
  writes first unless told not to. fio's `libaio` turns `fdatasync` into `fsync`; flushmark does
  what the job specifies.
- **Several files** (`nrfiles`) take turns as in fio, where a sync takes a turn, too: it covers the
  file that is next, not the one just written, and with two files and `fsync=1` one file is only
  written and the other only synced. flushmark does the same, and counts no commits. In a TOML plan
  (`files_per_job`), a sync covers the file of the last write.
- **A pause** (`thinktime`) after the last operation is left out; fio includes it in the runtime.
- **The whole run ends** (`exit_what=all`) with the group of sections that ended it: later sections
  are reported as skipped.
- **I/O priorities** take effect only if the I/O scheduler or the drive supports them, as with fio.
  The result document contains the latencies of each priority, and the notes summarise them. Before
  the measurement, each job checks that the kernel permits its priorities.
- **Processors** that do not exist, and NUMA nodes that the machine lacks, make flushmark skip the
  test with that reason; fio rejects the whole job file, or moves the job to those that do exist.
  `cpus_allowed` and `numa_cpu_nodes` exclude each other; with fio, the second one takes effect.
- **A commit has one latency**, from the submission of the first byte to the acknowledged sync. fio
  reports the latency of the write without its sync, and that of the sync separately.
- **Random blocks repeat.** fio keeps track of the blocks it has accessed and uses each once (unless
  `norandommap` is set).
- **`sprandom`** ends when each block has been written, which is after about `1 + spr_op` times the
  size; fio ends after exactly that many bytes, when a few blocks may not have been written. The
  number of blocks that a region makes stale is exact; fio draws each of them.
- **Without `size`**, a job uses a whole device or existing file and ends after one pass over it, as
  in fio. In a directory, the jobs share 1 GiB; fio rejects that.
- **A `size` with `bssplit` or `bsrange`** is converted to a number of operations by the mean block
  size; fio counts bytes.
- **`verify`** reads the data back one read at a time. These reads are not part of the results, but
  those of `verify_backlog` take part of the measured time. The first mismatch fails the test,
  unless `continue_on_error` ignores it. A section that only reads requires an earlier section that
  wrote the file; blocks that it had not written are counted in a note and not checked.
- **Jobs that overwrite each other's blocks** with `verify`, in one section or in several at the same
  time, cannot know which write is the last. Each block then has a header per 512 B, and is read back
  once all of these jobs have ended: every 512 B must be whole and in its place, whichever job wrote
  it. Damage and misdirected writes are noticed, lost writes are not, and a note says so. fio warns,
  and reports mismatches, because the seed or the number of the write is that of another job.
  `verify_write_sequence=1`, `verify_backlog` and `exitall` are rejected for such jobs, and so are
  other sections that write these blocks without the same `verify`.
- **Several files of one directory** at the same time are possible with `directory` and different
  values of `filename`, or with `--target`.
- **`trim`** issues one discard at a time; its results are reported as writes.
- **`zonemode=zbd`** writes at the write pointer of the zone that fio would choose, and resets a full
  zone before it writes it again. At most `max_open_zones` are open; a rest that is smaller than a
  block is finished. One write per zone is in flight, so writes cannot overtake each other at depth;
  fio lets a job queue several and relies on the kernel for their order. Reads stay below the write
  pointer unless `read_beyond_wp=1` is set, and a trim resets a zone. As in fio, a target without
  zones has them for the run: empty at the start, whatever the file contains, and without the cost
  of resets. A note reports the number of resets, which are not part of any latency. A drive with
  zones is written in no other way, unless all zones that a test uses are conventional.
- **`verify` with `zonemode=zbd`** resets the zones before the test and ends once they are full,
  because a reset would destroy what is to be checked; fio verifies and starts over.
- **`ioengine=libzbc`** accesses zones through the kernel, as `psync` does; fio uses SCSI commands.
- **Sizes in zones** (`8z`) require `zonesize`; fio can take it from the drive.
- **`ioengine=falloc`**: a write is a `fallocate` that extends the file, a read one that does not
  (`FALLOC_FL_KEEP_SIZE`), and a trim punches a hole; on a block device, which supports neither of
  the first two, a trim is `BLKDISCARD`. All of them are reported as writes. `rw` and `randrw`, which
  mix them, are rejected.
- **`ioengine=ftruncate`**: a write truncates or extends the file to the offset of its block, and
  has no bytes. Only files that flushmark created are truncated, so the target must be a directory.
  `fsync` with `falloc` or `ftruncate` is rejected; a TOML plan can sync such a change with `steps`.
- **`ioengine=e4defrag`**: a write exchanges the blocks of the file with those of `donorname`
  (`EXT4_IOC_MOVE_EXT`), and the data stays. The target must be a directory on ext4; otherwise, the
  test is skipped. Like any new file that is only written, the job's file has reserved space and no
  data, which costs less to exchange; `overwrite=1` writes it first. The donor cannot be the file of
  a section, and with `inplace=1` only one job can use it at a time. `fsync` is rejected. While other jobs use the file through the page
  cache, the kernel may refuse an exchange (`EBUSY`), which ends the job, as in fio;
  `ignore_error=,EBUSY` counts such errors instead.
- **`filecreate`, `filestat`, `filedelete`, `dircreate`, `dirstat`, `dirdelete`**: each of the
  `nrfiles` files or directories of a job has its turn once, in order, and each operation has a
  latency. It includes the `close` of a file that is created. Looking up counts as a read, creating
  and removing as writes, whatever `rw` is; no bytes are counted. Files that are looked up or
  removed have `filesize` bytes, and are created and synced beforehand. As in fio, options of blocks
  and data have no effect. `loops` and `time_based` are only valid with `filestat` and `dirstat`.
- **`ioengine=cpuio`** needs `runtime`, `number_ios` or `exit_on_io_done`, and no target. Each
  computation counts as an operation, and as a read without bytes; its latency is the time it took.
  Options of blocks, data and files have no effect, as in fio. A note reports the processor time that
  the jobs used, which on a busy host is less than `cpuload`. `qsort` sorts new random numbers each
  time; fio sorts the same ones in four orders.
- **`exit_on_io_done`** takes later sections into account, as in fio: it has no effect if one of them
  does I/O, or if no section does. A section that would then never end is rejected, as is one that
  starts after all I/O has ended, which fio ends before its first computation.
- **A `filename` shared by sections** is one file: a section finds it as the previous ones left it,
  unless it is too small.
- **`latency_target`**: I/Os of the search count neither as results nor towards `size`. A job that
  misses the target at depth 1 is measured there; fio fails it if `latency_percentile` is 100.
  `latency_run` is not supported.
- **`buffer_compress_percentage`** puts the zeros at the end of each 4 KiB; fio does that in each
  512 B (`buffer_compress_chunk`).
- **Random content that differs in each write** is the default; fio reuses buffers with small
  changes (`scramble_buffers`).
- **Latency under `rate_iops`** is measured from the time at which an operation was due, so a stall
  is charged to every request that it delayed.
- **An environment variable that is not set** is an error; fio substitutes an empty string.
- **`ioengine=nbd`** with `uri` is the target of that address, and `--target` replaces it: there,
  the engine means `io_uring`. A server that does not offer several connections
  (`NBD_FLAG_CAN_MULTI_CONN`) is measured with one job; fio connects all the same. `sync` sets the
  flag FUA of each write; fio ignores it. A section that overwrites data needs `--destroy-data`.
- **`ioengine=rbd`** is the target `rbd:POOL/IMAGE`, as with `ioengine=nbd`. librbd's cache is off;
  fio leaves it as Ceph's configuration has it, which is on by default. All jobs share one
  connection; fio opens the image once for each, and they take the exclusive lock from each other.
  `sync` makes no difference, because each write is durable when it is acknowledged.
- **`ioengine=rados`** is rejected: fio creates an object for each file, of any size, and measures
  objects that it has not filled. Use `--target rados:POOL`.
- **`ioengine=null`** is the target `null:`.
";

/// The page in Markdown.
pub fn reference() -> String {
    let mut page = OPENING.to_owned();
    for option in OPTIONS.iter().filter(|option| option.role == Role::Used) {
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} |",
            names(option),
            option.takes,
            option.default,
            option.meaning
        );
    }
    page += ACCEPTED;
    for option in
        OPTIONS.iter().filter(|option| matches!(option.role, Role::Accepted | Role::Noted))
    {
        let takes = if option.takes == ANYTHING { "anything" } else { option.takes };
        let _ = writeln!(page, "| {} | {takes} | {} |", names(option), option.meaning);
    }
    page += "\n## Options that are rejected with advice\n\n| option | instead |\n| --- | --- |\n";
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
        let example =
            page.split("```ini\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let plan = crate::Plan::from_fio("example.fio", example, &|_| None).unwrap();
        assert_eq!(plan.tests.len(), 2);
        assert!(page.contains(&format!("| `direct` | {FLAG} |")));
        let commands =
            page.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let pasted: Vec<&str> = commands.lines().next().unwrap().split(' ').skip(3).collect();
        let plan = crate::Plan::from_fio_command(&pasted, &|_| None).unwrap();
        assert_eq!(plan.target.as_deref(), Some("/mnt/x"));
    }
}
