//! The one sentence for everything that the parser refuses.

use super::{error, error_of_test, error_of_value};

#[test]
fn a_text_that_is_no_toml() {
    insta::assert_snapshot!(error("[[test]\n"), @"plan.toml:1: unclosed array table, expected `]`");
    insta::assert_snapshot!(error("\n[[test]]\npattern = randwrite\n"), @"plan.toml:3: string values must be quoted, expected literal string");
    insta::assert_snapshot!(error("[[test]]\npattern = \"write\"\npattern = \"read\"\n"), @"plan.toml:3: duplicate key");
    insta::assert_snapshot!(error("[[test]]\nname = \"open\n"), @r#"plan.toml:2: invalid basic string, expected `"`"#);
}

#[test]
fn a_plan_without_tests() {
    insta::assert_snapshot!(error(""), @"plan.toml:1: the plan has no tests; add a [[test]]");
    insta::assert_snapshot!(error("name = \"x\"\n"), @"plan.toml:1: the plan has no tests; add a [[test]]");
    insta::assert_snapshot!(error("test = []\n"), @"plan.toml:1: the plan has no tests; add a [[test]]");
    insta::assert_snapshot!(error("test = 3\n"), @"plan.toml:1: test: 3 is invalid: expected a list of tables, each written [[test]]");
    insta::assert_snapshot!(error("\ntest = [1]\n"), @"plan.toml:2: test: 1 is invalid: expected a list of tables, each written [[test]]");
    insta::assert_snapshot!(error("[test]\npattern = \"write\"\n"), @"plan.toml:1: test: a table is invalid: expected a list of tables, each written [[test]]");
}

#[test]
fn unknown_fields() {
    insta::assert_snapshot!(error("nmae = \"x\"\n[[test]]\npattern = \"write\"\n"), @"plan.toml:1: unknown field `nmae` (did you mean `name`?); expected one of name, answers, source, table, target, defaults, published, test");
    insta::assert_snapshot!(error("block = \"4KiB\"\n"), @"plan.toml:1: unknown field `block` (it belongs in a [[test]] or in [defaults]); expected one of name, answers, source, table, target, defaults, published, test");
    insta::assert_snapshot!(error("[[test]]\n\npatern = \"write\"\n"), @"plan.toml:3: unknown field `patern` (did you mean `pattern`?); expected one of name, pattern, entries, read_percent, block, depth, jobs, sync, sync_every, drain, queue_sync, streams, direct, invalidate, layout, content, compressible_percent, size, file_size, sharing, files_per_job, file_order, file_turn, sync_next_file, offset, offset_increment, end_fsync, precondition, rest, write_cache, time, count, stop, warm_up, rate, arrivals, rate_min, think_time, think_every, flow_weight, start_delay, ends_others, seed, engine, repeat, matrix, steps, files, with_previous, sort, memory");
    insta::assert_snapshot!(error("[defaults]\nname = \"x\"\n"), @"plan.toml:2: unknown field `name` (it belongs in a [[test]]); expected one of pattern, entries, read_percent, block, depth, jobs, sync, sync_every, drain, queue_sync, streams, direct, invalidate, layout, content, compressible_percent, size, file_size, sharing, files_per_job, file_order, file_turn, sync_next_file, offset, offset_increment, end_fsync, precondition, rest, write_cache, time, count, stop, warm_up, rate, arrivals, rate_min, think_time, think_every, flow_weight, start_delay, ends_others, seed, engine, repeat, sort, memory");
    insta::assert_snapshot!(error("[defaults]\nsteps = []\n"), @"plan.toml:2: unknown field `steps` (it belongs in a [[test]]); expected one of pattern, entries, read_percent, block, depth, jobs, sync, sync_every, drain, queue_sync, streams, direct, invalidate, layout, content, compressible_percent, size, file_size, sharing, files_per_job, file_order, file_turn, sync_next_file, offset, offset_increment, end_fsync, precondition, rest, write_cache, time, count, stop, warm_up, rate, arrivals, rate_min, think_time, think_every, flow_weight, start_delay, ends_others, seed, engine, repeat, sort, memory");
    insta::assert_snapshot!(error("[defaults]\nanswers = \"x\"\n"), @"plan.toml:2: unknown field `answers` (it belongs at the top of the file, before any [section]); expected one of pattern, entries, read_percent, block, depth, jobs, sync, sync_every, drain, queue_sync, streams, direct, invalidate, layout, content, compressible_percent, size, file_size, sharing, files_per_job, file_order, file_turn, sync_next_file, offset, offset_increment, end_fsync, precondition, rest, write_cache, time, count, stop, warm_up, rate, arrivals, rate_min, think_time, think_every, flow_weight, start_delay, ends_others, seed, engine, repeat, sort, memory");
    insta::assert_snapshot!(error("[[test]]\nverify = true\n"), @"plan.toml:2: unknown field `verify`; expected one of name, pattern, entries, read_percent, block, depth, jobs, sync, sync_every, drain, queue_sync, streams, direct, invalidate, layout, content, compressible_percent, size, file_size, sharing, files_per_job, file_order, file_turn, sync_next_file, offset, offset_increment, end_fsync, precondition, rest, write_cache, time, count, stop, warm_up, rate, arrivals, rate_min, think_time, think_every, flow_weight, start_delay, ends_others, seed, engine, repeat, matrix, steps, files, with_previous, sort, memory");
    insta::assert_snapshot!(error("[[test]]\npattern = \"write\"\nmatrix = \
                                   { size = [512], open = [\"o_sync\"] }\n"), @"plan.toml:3: unknown field `open` (it belongs in a file of a step program, such as files = { log = { ... } }); expected one of pattern, entries, read_percent, block, depth, jobs, sync, sync_every, drain, queue_sync, streams, direct, invalidate, layout, content, compressible_percent, size, file_size, sharing, files_per_job, file_order, file_turn, sync_next_file, offset, offset_increment, end_fsync, precondition, rest, write_cache, time, count, stop, warm_up, rate, arrivals, rate_min, think_time, think_every, flow_weight, start_delay, ends_others, seed, engine, repeat, sort, memory");
    insta::assert_snapshot!(error("[[test]]\nsteps = [\"sync-dir\"]\n[test.files.log]\nsize \
                                   = \"1MiB\"\nblock = 512\n"), @"plan.toml:5: unknown field `block` (it belongs in a [[test]] or in [defaults]); expected one of size, layout, direct, open");
}

#[test]
fn the_top_of_a_plan() {
    insta::assert_snapshot!(error("name = 3\n[[test]]\npattern = \"write\"\n"), @"plan.toml:1: name: 3 is invalid: expected text in quotes");
    insta::assert_snapshot!(error("table = \"none\"\n[[test]]\npattern = \"write\"\n"), @r#"plan.toml:1: table: "none" is invalid: expected one of tests, slog, fsync-study, wal, commits, ceph-disk, write-cache, read-scaling, probe, sort-spill"#);
    insta::assert_snapshot!(error("defaults = 3\n"), @"plan.toml:1: defaults: 3 is invalid: expected a table of fields of tests, such as [defaults]");
    insta::assert_snapshot!(error("[[defaults]]\ndepth = 1\n[[test]]\npattern = \"write\"\n"), @"plan.toml:1: defaults: a list is invalid: expected a table of fields of tests, such as [defaults]");
}

#[test]
fn names_of_tests() {
    insta::assert_snapshot!(error("[[test]]\npattern = \"write\"\n[[test]]\npattern \
                                   = \"write\"\n"), @r#"plan.toml:3: name: duplicate test name "write 4 KiB, depth 1, jobs 1"; give this test a different name"#);
    insta::assert_snapshot!(error("[[test]]\nname = \"a\"\npattern = \"write\"\n\n[[test]]\nname \
                                   = \"a\"\npattern = \"read\"\n"), @r#"plan.toml:5: name: duplicate test name "a"; give this test a different name"#);
    insta::assert_snapshot!(error("[[test]]\nname = 3\npattern = \"write\"\n"), @"plan.toml:2: name: 3 is invalid: expected text in quotes");
    insta::assert_snapshot!(error("[[test]]\nname = \"a\"\npattern = \"write\"\nmatrix = \
                                   { depth = [1, 1] }\n"), @r#"plan.toml:1: name: duplicate test name "a, depth 1"; give this test a different name"#);
}

#[test]
fn words() {
    insta::assert_snapshot!(error_of_value(r#"pattern = "writes""#), @r#"plan.toml:3: pattern: "writes" is invalid: expected one of read, write, randread, randwrite, rw, randrw, trim, randtrim, allocate, randallocate, reserve, randreserve, truncate, randtruncate, create, stat, remove, mkdir, statdir, rmdir"#);
    insta::assert_snapshot!(error_of_value(r#"pattern = "compute""#), @r#"plan.toml:3: pattern: "compute" is invalid: expected one of read, write, randread, randwrite, rw, randrw, trim, randtrim, allocate, randallocate, reserve, randreserve, truncate, randtruncate, create, stat, remove, mkdir, statdir, rmdir"#);
    insta::assert_snapshot!(error_of_value("pattern = 3"), @"plan.toml:3: pattern: 3 is invalid: expected one of read, write, randread, randwrite, rw, randrw, trim, randtrim, allocate, randallocate, reserve, randreserve, truncate, randtruncate, create, stat, remove, mkdir, statdir, rmdir");
    insta::assert_snapshot!(error_of_value(r#"sync = "fsnyc""#), @r#"plan.toml:3: sync: "fsnyc" is invalid: expected one of none, fsync, fdatasync, o_sync, o_dsync, rwf_dsync, linked_fsync, linked_fdatasync"#);
    insta::assert_snapshot!(error_of_value(r#"layout = "sparse""#), @r#"plan.toml:3: layout: "sparse" is invalid: expected one of overwrite, append, preallocated, preallocated-once, empty"#);
    insta::assert_snapshot!(error_of_value(r#"content = "text""#), @r#"plan.toml:3: content: "text" is invalid: expected one of random, zero, compressible"#);
    insta::assert_snapshot!(error_of_value(r#"stop = "never""#), @r#"plan.toml:3: stop: "never" is invalid: expected one of first, both"#);
    insta::assert_snapshot!(error_of_value(r#"arrivals = "bursts""#), @r#"plan.toml:3: arrivals: "bursts" is invalid: expected one of constant, poisson"#);
    insta::assert_snapshot!(error_of_value(r#"engine = "posixaio""#), @r#"plan.toml:3: engine: "posixaio" is invalid: expected one of auto, psync, io_uring, libaio"#);
}

#[test]
fn sizes() {
    insta::assert_snapshot!(error_of_value(r#"block = "511B""#), @r#"plan.toml:3: block: "511B" is invalid: expected a size from 512 B to 64 MiB, such as "4KiB""#);
    insta::assert_snapshot!(error_of_value(r#"block = "65MiB""#), @r#"plan.toml:3: block: "65MiB" is invalid: expected a size from 512 B to 64 MiB, such as "4KiB""#);
    insta::assert_snapshot!(error_of_value("block = 4096.0"), @r#"plan.toml:3: block: 4096.0 is invalid: expected a size from 512 B to 64 MiB, such as "4KiB""#);
    insta::assert_snapshot!(error_of_value(r#"block = "4 XiB""#), @r#"plan.toml:3: block: "4 XiB" is invalid: expected a size from 512 B to 64 MiB, such as "4KiB""#);
    insta::assert_snapshot!(error_of_value(r#"block = """#), @r#"plan.toml:3: block: "" is invalid: expected a size from 512 B to 64 MiB, such as "4KiB""#);
    insta::assert_snapshot!(error_of_value("block = -1"), @r#"plan.toml:3: block: -1 is invalid: expected a size from 512 B to 64 MiB, such as "4KiB""#);
    insta::assert_snapshot!(error_of_value(r#"size = "16EiB""#), @r#"plan.toml:3: size: "16EiB" is invalid: expected a size of at least 512 B, such as "4KiB", or a share of the target, such as "50%""#);
    insta::assert_snapshot!(error_of_value("size = true"), @r#"plan.toml:3: size: true is invalid: expected a size of at least 512 B, such as "4KiB", or a share of the target, such as "50%""#);
}

#[test]
fn numbers() {
    insta::assert_snapshot!(error_of_value("depth = 0"), @"plan.toml:3: depth: 0 is invalid: expected a whole number from 1 to 1024");
    insta::assert_snapshot!(error_of_value("depth = 1025"), @"plan.toml:3: depth: 1025 is invalid: expected a whole number from 1 to 1024");
    insta::assert_snapshot!(error_of_value(r#"depth = "1""#), @r#"plan.toml:3: depth: "1" is invalid: expected a whole number from 1 to 1024"#);
    insta::assert_snapshot!(error_of_value("depth = 1.5"), @"plan.toml:3: depth: 1.5 is invalid: expected a whole number from 1 to 1024");
    insta::assert_snapshot!(error_of_value("depth = -1"), @"plan.toml:3: depth: -1 is invalid: expected a whole number from 1 to 1024");
    insta::assert_snapshot!(error_of_value("jobs = 257"), @"plan.toml:3: jobs: 257 is invalid: expected a whole number from 1 to 256");
    insta::assert_snapshot!(error_of_value("read_percent = 100"), @"plan.toml:3: read_percent: 100 is invalid: expected a whole number from 1 to 99");
    insta::assert_snapshot!(error_of_value("sync_every = 1000001"), @"plan.toml:3: sync_every: 1000001 is invalid: expected a whole number from 1 to 1000000");
    insta::assert_snapshot!(error_of_value("compressible_percent = 0"), @"plan.toml:3: compressible_percent: 0 is invalid: expected a whole number from 1 to 99");
    insta::assert_snapshot!(error_of_value("count = 0"), @"plan.toml:3: count: 0 is invalid: expected a whole number of at least 1");
    insta::assert_snapshot!(error_of_value("seed = -1"), @"plan.toml:3: seed: -1 is invalid: expected a whole number of at least 0");
    insta::assert_snapshot!(error_of_value("repeat = 101"), @"plan.toml:3: repeat: 101 is invalid: expected a whole number from 1 to 100");
    insta::assert_snapshot!(error_of_value("rate = 0"), @"plan.toml:3: rate: 0 is invalid: expected a number above 0, up to 10000000");
    insta::assert_snapshot!(error_of_value("rate = -1.5"), @"plan.toml:3: rate: -1.5 is invalid: expected a number above 0, up to 10000000");
    insta::assert_snapshot!(error_of_value("rate = inf"), @"plan.toml:3: rate: inf is invalid: expected a number above 0, up to 10000000");
    insta::assert_snapshot!(error_of_value("rate = nan"), @"plan.toml:3: rate: nan is invalid: expected a number above 0, up to 10000000");
    insta::assert_snapshot!(error_of_value("rate = 1e8"), @"plan.toml:3: rate: 1e8 is invalid: expected a number above 0, up to 10000000");
    insta::assert_snapshot!(error_of_value(r#"rate = "1""#), @r#"plan.toml:3: rate: "1" is invalid: expected a number above 0, up to 10000000"#);
}

#[test]
fn flags_and_times() {
    insta::assert_snapshot!(error_of_value("direct = 1"), @"plan.toml:3: direct: 1 is invalid: expected true or false");
    insta::assert_snapshot!(error_of_value(r#"direct = "yes""#), @r#"plan.toml:3: direct: "yes" is invalid: expected true or false"#);
    insta::assert_snapshot!(error_of_value(r#"invalidate = "no""#), @r#"plan.toml:3: invalidate: "no" is invalid: expected true or false"#);
    insta::assert_snapshot!(error_of_value(r#"time = "0s""#), @r#"plan.toml:3: time: "0s" is invalid: expected a time above zero, up to a year, such as "5s", "250ms" or "1h30min""#);
    insta::assert_snapshot!(error_of_value("time = 5"), @r#"plan.toml:3: time: 5 is invalid: expected a time above zero, up to a year, such as "5s", "250ms" or "1h30min""#);
    insta::assert_snapshot!(error_of_value(r#"time = "5""#), @r#"plan.toml:3: time: "5" is invalid: expected a time above zero, up to a year, such as "5s", "250ms" or "1h30min""#);
    insta::assert_snapshot!(error_of_value(r#"time = "soon""#), @r#"plan.toml:3: time: "soon" is invalid: expected a time above zero, up to a year, such as "5s", "250ms" or "1h30min""#);
    insta::assert_snapshot!(error_of_value(r#"time = "5 days""#), @r#"plan.toml:3: time: "5 days" is invalid: expected a time above zero, up to a year, such as "5s", "250ms" or "1h30min""#);
    insta::assert_snapshot!(error_of_value(r#"time = "9000h""#), @r#"plan.toml:3: time: "9000h" is invalid: expected a time above zero, up to a year, such as "5s", "250ms" or "1h30min""#);
    insta::assert_snapshot!(error_of_value(r#"warm_up = "-1s""#), @r#"plan.toml:3: warm_up: "-1s" is invalid: expected a time up to a year, such as "5s", "250ms" or "0s""#);
    insta::assert_snapshot!(error_of_value("time = 12:00:00"), @r#"plan.toml:3: time: 12:00:00 is invalid: expected a time above zero, up to a year, such as "5s", "250ms" or "1h30min""#);
    insta::assert_snapshot!(error_of_value("time = { s = 5 }"), @r#"plan.toml:3: time: { s = 5 } is invalid: expected a time above zero, up to a year, such as "5s", "250ms" or "1h30min""#);
    insta::assert_snapshot!(error_of_value("time = \"\"\"\n5\"\"\""), @r#"plan.toml:3: time: """ is invalid: expected a time above zero, up to a year, such as "5s", "250ms" or "1h30min""#);
}

#[test]
fn fields_that_only_some_patterns_have() {
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nread_percent = 50"), @"plan.toml:3: read_percent: only valid with rw and randrw, not write");
    insta::assert_snapshot!(error_of_test("pattern = \"randread\"\nsync = \"fsync\""), @"plan.toml:3: sync: randread writes no data to sync; use none");
    insta::assert_snapshot!(error_of_test("pattern = \"read\"\nsync_every = 8"), @"plan.toml:3: sync_every: read writes no data to sync");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nsync = \"o_dsync\"\nsync_every = \
                                           8"), @r#"plan.toml:4: sync_every: only valid with sync = "fsync" or "fdatasync", not "o_dsync""#);
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nsync_every = 8"), @r#"plan.toml:3: sync_every: only valid with sync = "fsync" or "fdatasync", not "none""#);
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nsync \
                                           = \"linked_fsync\"\nsync_every = 2"), @r#"plan.toml:4: sync_every: only valid with sync = "fsync" or "fdatasync", not "linked_fsync""#);
    insta::assert_snapshot!(error_of_test("pattern = \"rw\"\nlayout = \"append\""), @"plan.toml:3: layout: rw would read blocks that were never written; append requires write or randwrite");
    insta::assert_snapshot!(error_of_test("pattern = \"read\"\nlayout = \"preallocated\""), @"plan.toml:3: layout: read would read blocks that were never written; preallocated requires write or randwrite");
    insta::assert_snapshot!(error_of_test("pattern = \"randwrite\"\nlayout = \"append\""), @"plan.toml:3: layout: a file grows at its end; append requires the pattern write, not randwrite");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nblock = \"1000B\""), @"plan.toml:3: block: 1000 B is not a multiple of 512 B, as direct I/O requires; set direct = false");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\njobs = 4\nsize = \"12KiB\""), @"plan.toml:4: size: each stream of each job needs at least one block");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\narrivals = \"poisson\""), @"plan.toml:3: arrivals: only valid with rate");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nsync = \"linked_fsync\"\nengine \
                                           = \"psync\""), @"plan.toml:4: engine: only io_uring can link a sync, as required by linked_fsync");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nsync \
                                           = \"linked_fdatasync\"\nengine = \"libaio\""), @"plan.toml:4: engine: only io_uring can link a sync, as required by linked_fdatasync");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nengine = \"psync\"\ndepth = 2"), @"plan.toml:3: engine: psync performs one operation at a time, but the depth is 2");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\ncompressible_percent = 30"), @r#"plan.toml:3: compressible_percent: only valid with content = "compressible""#);
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\ncontent \
                                           = \"zero\"\ncompressible_percent = 30"), @r#"plan.toml:4: compressible_percent: only valid with content = "compressible""#);
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\ntime = \"1s\"\nstop = \"both\""), @"plan.toml:4: stop: only valid with both time and count");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\ncount = 10\nstop = \"first\""), @"plan.toml:4: stop: only valid with both time and count");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nstop = \"first\""), @"plan.toml:3: stop: only valid with both time and count");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nfiles = { log = {} }"), @"plan.toml:3: files: only valid in a test with steps");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nsteps = [\"sync-dir\"]"), @"plan.toml:3: steps: pattern and steps exclude each other");
    insta::assert_snapshot!(error_of_test("depth = 3"), @"plan.toml:1: pattern: missing; expected one of read, write, randread, randwrite, rw, randrw, trim, randtrim, allocate, randallocate, reserve, randreserve, truncate, randtruncate, create, stat, remove, mkdir, statdir, rmdir, or a test with steps or sort");
    insta::assert_snapshot!(error_of_test(r#"name = "empty""#), @"plan.toml:1: pattern: missing; expected one of read, write, randread, randwrite, rw, randrw, trim, randtrim, allocate, randallocate, reserve, randreserve, truncate, randtruncate, create, stat, remove, mkdir, statdir, rmdir, or a test with steps or sort");
}

#[test]
fn a_matrix_is_a_table_of_lists() {
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nmatrix = 3"), @"plan.toml:3: matrix: 3 is invalid: expected a table of lists, such as { jobs = [1, 4] }");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nmatrix = { depth = 3 }"), @"plan.toml:3: matrix: invalid value of depth; expected a list of values, such as depth = [...]");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nmatrix = { depth = [] }"), @"plan.toml:3: matrix: invalid value of depth; expected a list of values, such as depth = [...]");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nmatrix = { dept = [1] }"), @"plan.toml:3: unknown field `dept` (did you mean `depth`?); expected one of pattern, entries, read_percent, block, depth, jobs, sync, sync_every, drain, queue_sync, streams, direct, invalidate, layout, content, compressible_percent, size, file_size, sharing, files_per_job, file_order, file_turn, sync_next_file, offset, offset_increment, end_fsync, precondition, rest, write_cache, time, count, stop, warm_up, rate, arrivals, rate_min, think_time, think_every, flow_weight, start_delay, ends_others, seed, engine, repeat, sort, memory");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nmatrix = { name = [\"a\"] }"), @"plan.toml:3: unknown field `name` (it belongs in a [[test]]); expected one of pattern, entries, read_percent, block, depth, jobs, sync, sync_every, drain, queue_sync, streams, direct, invalidate, layout, content, compressible_percent, size, file_size, sharing, files_per_job, file_order, file_turn, sync_next_file, offset, offset_increment, end_fsync, precondition, rest, write_cache, time, count, stop, warm_up, rate, arrivals, rate_min, think_time, think_every, flow_weight, start_delay, ends_others, seed, engine, repeat, sort, memory");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\n[test.matrix]\njobs = [1, \
                                           2]\ndepth = [\n  1,\n  2,\n  0,\n]"), @"plan.toml:8: depth: 0 is invalid: expected a whole number from 1 to 1024");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\n[test.matrix]\nsync = \
                                           [\n  \"fsync\",\n  \"fsnyc\",\n]"), @r#"plan.toml:6: sync: "fsnyc" is invalid: expected one of none, fsync, fdatasync, o_sync, o_dsync, rwf_dsync, linked_fsync, linked_fdatasync"#);
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nread_percent = 10\nmatrix = \
                                           { pattern = [\"rw\", \"write\"] }"), @"plan.toml:3: read_percent: only valid with rw and randrw, not write");
}

#[test]
fn step_programs() {
    insta::assert_snapshot!(error_of_test(r#"steps = ["sync-dir"]"#), @"plan.toml:1: files: missing; declare the files used by the steps, as in files = { log = {} }");
    insta::assert_snapshot!(error_of_test("steps = [\"sync-dir\"]\nfiles = {}"), @r#"plan.toml:3: files: an empty table is invalid: expected a table of files, such as { log = { size = "64MiB" } }"#);
    insta::assert_snapshot!(error_of_test("steps = [\"sync-dir\"]\nfiles = 3"), @r#"plan.toml:3: files: 3 is invalid: expected a table of files, such as { log = { size = "64MiB" } }"#);
    insta::assert_snapshot!(error_of_test("steps = []\nfiles = { log = {} }"), @r#"plan.toml:2: steps: an empty list is invalid: expected a list of steps, such as ["write log append 4KiB", "sync log fdatasync"]"#);
    insta::assert_snapshot!(error_of_test("steps = \"sync-dir\"\nfiles = { log = {} }"), @r#"plan.toml:2: steps: "sync-dir" is invalid: expected a list of steps, such as ["write log append 4KiB", "sync log fdatasync"]"#);
    insta::assert_snapshot!(error_of_test("files = { log = {} }\nsteps = [\"sync-dir\", 3]"), @r#"plan.toml:3: steps: invalid step 3; expected text such as "sync log fdatasync""#);
    insta::assert_snapshot!(error_of_test("files = { log = {} }\nsteps = [\n  \"write log append \
                                           4KiB\",\n  \"sync wal fsync\",\n]"), @"plan.toml:5: steps: unknown file `wal`; this test's files are log");
    insta::assert_snapshot!(error_of_test("files = { log = {} }\nsteps = [\"sync-dir\"]\ndepth = \
                                           3"), @"plan.toml:4: depth: not valid in a test with steps");
    insta::assert_snapshot!(error_of_test("files = { log = {} }\nsteps = [\"sync-dir\"]\nsync \
                                           = \"fsync\""), @"plan.toml:4: sync: not valid in a test with steps");
    insta::assert_snapshot!(error_of_test("files = { log = {} }\nsteps = [\"sync-dir\"]\nmatrix = \
                                           { depth = [1] }"), @"plan.toml:4: depth: not valid in a test with steps");
    insta::assert_snapshot!(error_of_test("files = { log = 3 }\nsteps = [\"sync-dir\"]"), @r#"plan.toml:2: files: invalid value of log; expected a table, such as { size = "16MiB" }"#);
    insta::assert_snapshot!(error_of_test("files = { \"a/b\" = {} }\nsteps = [\"sync-dir\"]"), @r#"plan.toml:2: files: invalid name "a/b"; use letters, digits, `-`, `_` and `.`"#);
    insta::assert_snapshot!(error_of_test("files = { \"..\" = {} }\nsteps = [\"sync-dir\"]"), @r#"plan.toml:2: files: invalid name ".."; use letters, digits, `-`, `_` and `.`"#);
    insta::assert_snapshot!(error_of_test("files = { \"\" = {} }\nsteps = [\"sync-dir\"]"), @r#"plan.toml:2: files: invalid name ""; use letters, digits, `-`, `_` and `.`"#);
    insta::assert_snapshot!(error_of_test("files = { log = { size = 0 } }\nsteps = \
                                           [\"sync-dir\"]"), @r#"plan.toml:2: size: 0 is invalid: expected a size of at least 1 B, such as "4KiB""#);
    insta::assert_snapshot!(error_of_test("files = { log = { layout = \"sparse\" } }\nsteps = \
                                           [\"sync-dir\"]"), @r#"plan.toml:2: layout: "sparse" is invalid: expected one of overwrite, append, preallocated"#);
    insta::assert_snapshot!(error_of_test("files = { log = { open = \"o_direct\" } }\nsteps = \
                                           [\"sync-dir\"]"), @r#"plan.toml:2: open: "o_direct" is invalid: expected one of o_sync, o_dsync"#);
    insta::assert_snapshot!(error_of_test("files = { log = { direct = 1 } }\nsteps = \
                                           [\"sync-dir\"]"), @"plan.toml:2: direct: 1 is invalid: expected true or false");
    insta::assert_snapshot!(error_of_test("files = { log = { size = \"4KiB\" } }\nsteps = [\"write \
                                           log same 8KiB\"]"), @"plan.toml:2: files: log is smaller than its largest write of 8192 B");
    insta::assert_snapshot!(error_of_test("jobs = 2\nfiles = \
                                           { log = { size = \"4194304TiB\" } }\nsteps = \
                                           [\"sync-dir\"]"), @"plan.toml:3: files: the total size of all jobs' files is too large to address");
    insta::assert_snapshot!(error_of_test("files = { log = {} }\nsteps = [\"write log same \
                                           4KiB\"]\njobs = 0"), @"plan.toml:4: jobs: 0 is invalid: expected a whole number from 1 to 256");
}

#[test]
fn an_error_is_one_line_whatever_it_quotes() {
    insta::assert_snapshot!(error("[[test]]\nname = \"a\\nb\"\npattern = \"write\"\nrepeat = \
                                   1\n[[test]]\nname = \"a\\nb\"\npattern = \"write\"\n"), @r#"plan.toml:5: name: duplicate test name "a\nb"; give this test a different name"#);
    insta::assert_snapshot!(error_of_test("files = { \"a\\nb\" = {} }\nsteps = [\"sync-dir\"]"), @r#"plan.toml:2: files: invalid name "a\nb"; use letters, digits, `-`, `_` and `.`"#);
    insta::assert_snapshot!(error_of_test("files = { log = {} }\nsteps = [\"write log\\nseq\"]"), @r"plan.toml:3: steps: invalid step `write log\nseq`; expected `write FILE PATTERN SIZE [xN]`");
    insta::assert_snapshot!(error_of_test("\"a\\u001b[31m\" = 1"), @r"plan.toml:2: unknown field `a\u{1b}[31m`; expected one of name, pattern, entries, read_percent, block, depth, jobs, sync, sync_every, drain, queue_sync, streams, direct, invalidate, layout, content, compressible_percent, size, file_size, sharing, files_per_job, file_order, file_turn, sync_next_file, offset, offset_increment, end_fsync, precondition, rest, write_cache, time, count, stop, warm_up, rate, arrivals, rate_min, think_time, think_every, flow_weight, start_delay, ends_others, seed, engine, repeat, matrix, steps, files, with_previous, sort, memory");
}

#[test]
fn areas_streams_and_drains() {
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nsize = \"0%\""), @r#"plan.toml:3: size: "0%" is invalid: expected a size of at least 512 B, such as "4KiB", or a share of the target, such as "50%""#);
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nsize = \"101%\""), @r#"plan.toml:3: size: "101%" is invalid: expected a size of at least 512 B, such as "4KiB", or a share of the target, such as "50%""#);
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nsize = \"2.5%\""), @r#"plan.toml:3: size: "2.5%" is invalid: expected a size of at least 512 B, such as "4KiB", or a share of the target, such as "50%""#);
    insta::assert_snapshot!(error_of_test("pattern = \"randwrite\"\nstreams = 2"), @"plan.toml:3: streams: only valid with read, write and rw on blocks that were written before");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nlayout = \"append\"\nstreams = 2"), @"plan.toml:4: streams: only valid with read, write and rw on blocks that were written before");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nstreams = 1025"), @"plan.toml:3: streams: 1025 is invalid: expected a whole number from 1 to 1024");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nsize = \"64KiB\"\nstreams = 32"), @"plan.toml:3: size: each stream of each job needs at least one block");
    let write = "pattern = \"write\"\n";
    insta::assert_snapshot!(error_of_test(&format!("{write}queue_sync = true")), @"plan.toml:3: queue_sync: only valid with fsync and fdatasync, which are separate operations");
    insta::assert_snapshot!(error_of_test(&format!("{write}sync = \"fsync\"\nqueue_sync = \
                                                    true\ndrain = false")), @"plan.toml:5: drain: a queued sync never waits for writes; remove drain");
    insta::assert_snapshot!(error_of_test(&format!("{write}sync = \"fsync\"\nqueue_sync = \
                                                    true\nengine = \"psync\"")), @"plan.toml:5: engine: psync cannot queue a sync; use io_uring or libaio");
    insta::assert_snapshot!(error_of_test(&format!("{write}offset = \"1KiB\"")), @"plan.toml:3: offset: expected a multiple of the block size of 4 KiB");
    insta::assert_snapshot!(error_of_test(&format!("{write}offset_increment = \"4KiB\"")), @"plan.toml:3: offset_increment: without sharing, the parts of the jobs are adjacent; set sharing");
    insta::assert_snapshot!(error_of_test(&format!("{write}sharing = \"all\"\nlayout \
                                                    = \"append\"")), @"plan.toml:3: sharing: append starts over, which would empty the file that other jobs are using");
    insta::assert_snapshot!(error_of_test("pattern = \"trim\"\nsync = \"fsync\""), @"plan.toml:3: sync: trim writes no data to sync");
    insta::assert_snapshot!(error_of_test("pattern = \"trim\"\nend_fsync = true"), @"plan.toml:3: end_fsync: trim writes no data to sync");
    insta::assert_snapshot!(error_of_test("pattern = \"trim\"\ndepth = 4"), @"plan.toml:3: depth: trim makes one system call at a time; use 1");
    insta::assert_snapshot!(error_of_test("pattern = \"trim\"\nengine = \"libaio\""), @"plan.toml:3: engine: trim makes blocking system calls; use psync");
    insta::assert_snapshot!(error_of_test("pattern = \"trim\"\nlayout = \"append\""), @"plan.toml:3: layout: trim discards blocks that were written; use overwrite");
    insta::assert_snapshot!(error_of_test("pattern = \"read\"\nend_fsync = true"), @"plan.toml:3: end_fsync: read writes no data to sync");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\ndrain = false"), @"plan.toml:3: drain: only valid with fsync and fdatasync");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nrest = \"-1s\""), @r#"plan.toml:3: rest: "-1s" is invalid: expected a time up to a year, such as "5s", "250ms" or "0s""#);
}

#[test]
fn files_of_a_job() {
    let fsync = "pattern = \"write\"\nsync = \"fsync\"\n";
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nfile_turn = 2"), @"plan.toml:3: file_turn: only valid with several files; set files_per_job");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nfiles_per_job = 0"), @"plan.toml:3: files_per_job: 0 is invalid: expected a whole number from 1 to 16384");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nfiles_per_job = 2\nfile_order \
                                           = \"zipf\""), @r#"plan.toml:4: file_order: "zipf" is invalid: expected one of round-robin, random, sequential"#);
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nfiles_per_job = 2\nfile_turn = \
                                           2\nfile_order = \"sequential\""), @"plan.toml:4: file_turn: a turn lasts until the whole file has been accessed; remove file_turn");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nfiles_per_job = 2\nsync_next_file \
                                           = true"), @r#"plan.toml:4: sync_next_file: only valid with sync = "fsync" or "fdatasync""#);
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nfiles_per_job = 2\nsharing \
                                           = \"all\""), @r#"plan.toml:3: files_per_job: jobs that share all bytes have one file; use sharing = "device""#);
    insta::assert_snapshot!(error_of_test(&format!("{fsync}files_per_job = 2\nsync_every = 4")), @"plan.toml:5: sync_every: a sync covers only the file of the last write; use sync_every = 1, sync_next_file = true, or steps that sync each file");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nfiles_per_job = 16384\nsize \
                                           = \"1MiB\""), @"plan.toml:4: size: each file of each job needs at least one block");
}

#[test]
fn pauses_delays_and_lowest_rates() {
    insta::assert_snapshot!(error_of_test("pattern = \"read\"\nthink_every = 2"), @"plan.toml:3: think_every: only valid with think_time");
    insta::assert_snapshot!(error_of_test("pattern = \"read\"\nthink_time = \"1ms\"\ndepth = 2"), @"plan.toml:3: think_time: a job pauses between operations, so nothing can be in flight; use depth 1 and psync");
    insta::assert_snapshot!(error_of_test("pattern = \"read\"\nthink_time = \"0s\""), @r#"plan.toml:3: think_time: "0s" is invalid: expected a time above zero, up to a year, such as "5s", "250ms" or "1h30min""#);
    insta::assert_snapshot!(error_of_test("pattern = \"read\"\nstart_delay = \"1s\""), @r#"plan.toml:3: start_delay: the warm-up precedes the common start; set warm_up = "0s""#);
    insta::assert_snapshot!(error_of_test("pattern = \"read\"\nrate_min = 0"), @r#"plan.toml:3: rate_min: 0 is invalid: expected a size of at least 1 B, such as "4KiB""#);
}

#[test]
fn sorts() {
    insta::assert_snapshot!(error_of_test("sort = \"lines\""), @r#"plan.toml:2: sort: "lines" is invalid: expected one of urls, composite"#);
    insta::assert_snapshot!(error_of_test("sort = \"urls\"\ndepth = 4"), @"plan.toml:3: depth: not valid in a test with sort");
    insta::assert_snapshot!(error_of_test("sort = \"urls\"\npattern = \"write\""), @"plan.toml:2: sort: pattern, steps and sort exclude each other");
    insta::assert_snapshot!(error_of_test("sort = \"urls\"\nfiles = { a = {} }\nsteps = [\"sync a \
                                           fsync\"]"), @"plan.toml:2: sort: pattern, steps and sort exclude each other");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nmemory = \"64MiB\""), @"plan.toml:3: memory: only valid in a test with sort");
    insta::assert_snapshot!(error_of_test("sort = \"urls\"\nmemory = \"1MiB\""), @r#"plan.toml:3: memory: "1MiB" is invalid: expected a size of at least 4 MiB, such as "4MiB""#);
    insta::assert_snapshot!(error_of_test("sort = \"urls\"\nsize = \"100MiB\""), @"plan.toml:3: size: too small to spill to storage; use 128 MiB or more, or reduce memory");
    insta::assert_snapshot!(error_of_test("sort = \"urls\"\njobs = 16"), @"plan.toml:1: size: too small to spill to storage; use 2 GiB or more, or reduce memory");
    insta::assert_snapshot!(error_of_test("sort = \"urls\"\nsize = \"50%\""), @"plan.toml:3: size: a sort cannot take a percentage of the target; give a number of bytes");
    insta::assert_snapshot!(error_of_test("sort = \"urls\"\nsync = \"o_dsync\""), @"plan.toml:3: sync: expected fsync or fdatasync, which make a run durable once it is written, not o_dsync");
    insta::assert_snapshot!(error_of_test("sort = \"urls\"\nblock = 1000"), @"plan.toml:3: block: 1000 B is not a multiple of 512 B, as direct I/O requires; set direct = false");
}

#[test]
fn calls_that_move_no_data() {
    insta::assert_snapshot!(error_of_test("pattern = \"truncate\"\nsync = \"fsync\""), @"plan.toml:3: sync: truncate writes no data to sync");
    insta::assert_snapshot!(error_of_test("pattern = \"allocate\"\ndepth = 2"), @"plan.toml:3: depth: allocate makes one system call at a time; use 1");
    insta::assert_snapshot!(error_of_test("pattern = \"reserve\"\nengine = \"io_uring\""), @"plan.toml:3: engine: reserve makes blocking system calls; use psync");
    insta::assert_snapshot!(error_of_test("pattern = \"allocate\"\ndirect = true"), @"plan.toml:3: direct: allocate bypasses no cache, because it moves no data");
    insta::assert_snapshot!(error_of_test("pattern = \"randallocate\"\nlayout = \"preallocated\""), @"plan.toml:3: layout: randallocate does not use up a layout that starts over; use empty");
    insta::assert_snapshot!(error_of_test("pattern = \"write\"\nentries = 5"), @"plan.toml:3: entries: only valid with create, stat, remove, mkdir, statdir and rmdir");
    insta::assert_snapshot!(error_of_test("pattern = \"create\"\nwarm_up = \"1s\""), @"plan.toml:3: warm_up: not valid with the pattern create");
    insta::assert_snapshot!(error_of_test("pattern = \"rmdir\"\nsize = \"1MiB\""), @"plan.toml:3: size: not valid with the pattern rmdir");
    insta::assert_snapshot!(error_of_test("pattern = \"stat\"\nentries = 0"), @"plan.toml:3: entries: 0 is invalid: expected a whole number from 1 to 16777216");
    insta::assert_snapshot!(error_of_test("pattern = \"stat\"\narrivals = \"poisson\""), @"plan.toml:3: arrivals: only valid with rate");
}
