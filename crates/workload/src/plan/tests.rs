//! Tests of valid plans. Errors are tested in `refusals`.

mod refusals;

use std::time::Duration;

use proptest::prelude::*;

use super::fields::{FIELDS, Field, Scope};
use super::*;
use crate::blocks::{
    Arrivals, BlockBytes, Content, Depth, EngineChoice, Jobs, Layout, Rate, Room, SyncTiming, Until,
};
use crate::pattern::Pattern;
use crate::sort::SortKeys;
use crate::sync::OpenFlag;
use crate::sync::SyncMethod;

fn parse(text: &str) -> Plan {
    Plan::from_toml("plan.toml", text).unwrap_or_else(|error| panic!("{error}\nin\n{text}"))
}

fn error(text: &str) -> String {
    Plan::from_toml("plan.toml", text).unwrap_err().to_string()
}

/// The error of a test with these lines, the first of which is line 2.
fn error_of_test(lines: &str) -> String {
    error(&format!("[[test]]\n{lines}\n"))
}

/// The error of a test that writes and has one more line, line 3.
fn error_of_value(line: &str) -> String {
    let pattern = if line.starts_with("pattern") { "" } else { "pattern = \"write\"" };
    error(&format!("[[test]]\n{pattern}\n{line}\n"))
}

fn names(text: &str) -> Vec<String> {
    parse(text).tests.into_iter().map(|test| test.name).collect()
}

fn blocks(lines: &str) -> Workload {
    match parse(&format!("[[test]]\n{lines}\n")).tests.remove(0).work {
        Work::Blocks(workload) => workload,
        Work::Steps(_) | Work::Sort(_) => panic!("a pattern was given"),
    }
}

fn program(lines: &str) -> StepProgram {
    match parse(&format!("[[test]]\n{lines}\n")).tests.remove(0).work {
        Work::Steps(program) => program,
        Work::Blocks(_) | Work::Sort(_) => panic!("steps were given"),
    }
}

fn sort(lines: &str) -> SortWork {
    match parse(&format!("[[test]]\n{lines}\n")).tests.remove(0).work {
        Work::Sort(sort) => sort,
        Work::Blocks(_) | Work::Steps(_) => panic!("a sort was given"),
    }
}

#[test]
fn a_sort_and_what_it_leaves_out() {
    let plain = sort("sort = \"urls\"");
    let expected = SortWork {
        keys: SortKeys::Urls,
        size_bytes: 1 << 30,
        memory_bytes: 64 << 20,
        block_bytes: BlockBytes::new(256 << 10).unwrap(),
        jobs: Jobs::new(1).unwrap(),
        direct: true,
        sync: None,
        rest: Duration::ZERO,
        seed: 1,
    };
    assert_eq!(plain, expected);
    insta::assert_snapshot!(plain.title(), @"sort 1 GiB of urls in 64 MiB, 256 KiB blocks, jobs 1");
    let durable =
        sort("sort = \"composite\"\nsync = \"fdatasync\"\ndirect = false\nmemory = \"4MiB\"");
    assert_eq!(durable.sync_method(), SyncMethod::Fdatasync);
    insta::assert_snapshot!(durable.title(), @"sort 1 GiB of composite in 4 MiB, 256 KiB blocks, cached, fdatasync of each run, jobs 1");
    // Defaults that only a pattern has do not concern it.
    let defaulted =
        parse("[defaults]\ndepth = 4\nseed = 9\ntime = \"1s\"\n[[test]]\nsort = \"urls\"\n");
    assert_eq!(defaulted.tests[0].work, Work::Sort(SortWork { seed: 9, ..expected }));
    let varied = names("[[test]]\nsort = \"urls\"\nmatrix = { memory = [\"4MiB\", \"16MiB\"] }\n");
    assert_eq!(varied.len(), 2);
    // It ends when it has sorted, not after a time.
    let timed = defaulted.with_time(Duration::from_secs(30));
    assert_eq!(
        (timed.tests[0].work.limit(), timed.requested_time()),
        (Limit::Count(1), Duration::ZERO)
    );
}

#[test]
fn what_is_left_out() {
    let workload = blocks("pattern = \"randwrite\"");
    assert_eq!(workload, Workload::new(Pattern::RandWrite, BlockBytes::new(4096).unwrap()));
    assert_eq!(workload.limit, Limit::Time(Duration::from_secs(5)));
    assert_eq!(workload.warm_up, WarmUp(Duration::from_millis(500)));
    let program = program("files = { log = {} }\nsteps = [\"sync-dir\"]");
    assert_eq!((program.jobs.get(), program.seed, program.content), (1, 1, Content::Random));
    assert_eq!((program.limit, program.warm_up), (workload.limit, workload.warm_up));
    let file = &program.files[0];
    assert_eq!(
        (file.size_bytes, file.layout, file.direct, file.open_flag),
        (16 << 20, Layout::Overwrite, false, None)
    );
    let plan = Plan::from_toml("dir/mine.toml", "[[test]]\npattern = \"read\"").unwrap();
    assert_eq!((plan.name.as_str(), plan.answers.as_str(), plan.source.as_str()), ("mine", "", ""));
    assert_eq!((plan.table, plan.target), (Table::Tests, None));
}

#[test]
fn every_field_reaches_the_workload() {
    let workload = blocks(
        "pattern = \"randrw\"\nread_percent = 70\nblock = \"16 KiB\"\ndepth = 32\njobs = 4\nsync \
         = \"fdatasync\"\nsync_every = 8\n\
         direct = false\ninvalidate = false\ncontent = \"compressible\"\ncompressible_percent = \
         30\nsize = \"2GiB\"\ntime = \"1h30min\"\n\
         count = 1_000\nstop = \"both\"\nwarm_up = \"0s\"\nrate = 1e3\narrivals \
         = \"poisson\"\nseed = 0x2a\nengine = \"libaio\"",
    );
    let mut wanted = Workload::new(Pattern::RandRw, BlockBytes::new(16 << 10).unwrap());
    wanted.read_percent = 70;
    wanted.depth = Depth::new(32).unwrap();
    wanted.jobs = Jobs::new(4).unwrap();
    (wanted.sync, wanted.sync_every) = (SyncMethod::Fdatasync, 8);
    (wanted.direct, wanted.invalidate) = (false, false);
    wanted.content = Content::Compressible(30);
    wanted.size = Area::Bytes(2 << 30);
    wanted.limit =
        Limit::TimeAndCount { time: Duration::from_mins(90), count: 1000, until: Until::Both };
    wanted.warm_up = WarmUp(Duration::ZERO);
    wanted.rate =
        Some(Rate { per_second: 1000.0, reads_per_second: None, arrivals: Arrivals::Poisson });
    wanted.seed = 42;
    wanted.engine = EngineChoice::Libaio;
    assert_eq!(workload, wanted);
    assert_eq!(
        blocks("pattern = \"write\"\nlayout = \"append\"\ncount = 5").limit,
        Limit::Count(5)
    );
    let probe = blocks(
        "pattern = \"write\"\nsync = \"fsync\"\ndrain = false\ndepth = 8\nstreams = 4\nsize \
         = \"25%\"\nprecondition = true\nrest = \"2s\"",
    );
    assert_eq!(
        (probe.sync_timing, probe.depth_effective(), probe.streams.get()),
        (SyncTiming::Undrained, 8, 4)
    );
    assert_eq!(
        (probe.size, probe.precondition, probe.rest),
        (Area::Percent(25), true, Duration::from_secs(2))
    );
    assert_eq!(probe.title(), "write 4 KiB, fsync=1 undrained, 4 streams, depth 8, jobs 1");
}

#[test]
fn files_keep_their_order_and_their_fields() {
    let program = program(
        "steps = [\"write z same 512B\", \"sync a fsync\"]\njobs = 2\nseed = 7\ncontent \
         = \"zero\"\ncount = 10\nwarm_up = \"1s\"\n\
         [test.files]\nz = { size = 512, direct = true, open = \"o_dsync\" }\na = \
         { layout = \"append\" }",
    );
    let names: Vec<&str> = program.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["z", "a"]);
    assert_eq!(program.title(), "write z same 512B, sync a fsync, jobs 2");
    assert_eq!(
        (program.files[0].direct, program.files[0].open_flag),
        (true, Some(OpenFlag::ODsync))
    );
    assert_eq!(program.files[1].layout, Layout::Append);
    assert_eq!(
        (program.seed, program.content, program.limit),
        (7, Content::Zero, Limit::Count(10))
    );
}

#[test]
fn defaults_hold_where_a_test_says_nothing() {
    let plan = parse(
        "[defaults]\nblock = \"8KiB\"\ntime = \"1s\"\n[[test]]\npattern = \"write\"\nblock \
         = \"16KiB\"\n[[test]]\npattern = \"read\"\n\
         [[test]]\npattern = \"randread\"\nmatrix = { block = [512] }\n[[test]]\nsteps = \
         [\"sync-dir\"]\nfiles = { a = {} }",
    );
    let blocks: Vec<u32> = plan
        .tests
        .iter()
        .filter_map(|test| match &test.work {
            Work::Blocks(workload) => Some(workload.block_bytes.get()),
            Work::Steps(_) | Work::Sort(_) => None,
        })
        .collect();
    assert_eq!(blocks, [16384, 8192, 512]);
    assert!(plan.tests.iter().all(|test| test.work.limit() == Limit::Time(Duration::from_secs(1))));
}

#[test]
fn the_last_field_of_a_matrix_varies_fastest() {
    let text = "[[test]]\nname = \"t\"\npattern = \"write\"\nmatrix = \
                { sync = [\"none\", \"fsync\"], jobs = [1, 2] }";
    assert_eq!(
        names(text),
        [
            "t, sync none, jobs 1", "t, sync none, jobs 2", "t, sync fsync, jobs 1",
            "t, sync fsync, jobs 2"
        ]
    );
    assert_eq!(
        names("[[test]]\nname = \"t\"\npattern = \"write\"\nmatrix = { jobs = [2] }"),
        ["t"]
    );
    assert_eq!(
        names("[[test]]\npattern = \"write\"\nmatrix = { jobs = [1, 2] }"),
        ["write 4 KiB, depth 1, jobs 1", "write 4 KiB, depth 1, jobs 2"]
    );
}

#[test]
fn combinations_that_share_a_title_are_told_apart() {
    assert_eq!(
        names("[[test]]\npattern = \"write\"\nmatrix = { time = [\"1s\", \"5s\"] }"),
        ["write 4 KiB, depth 1, jobs 1, time 1s", "write 4 KiB, depth 1, jobs 1, time 5s"]
    );
}

#[test]
fn a_repeated_test_is_numbered() {
    let text =
        "[[test]]\nname = \"t\"\npattern = \"write\"\nrepeat = 2\nmatrix = { jobs = [1, 2] }";
    assert_eq!(
        names(text),
        ["t, jobs 1 (run 1)", "t, jobs 1 (run 2)", "t, jobs 2 (run 1)", "t, jobs 2 (run 2)"]
    );
}

#[test]
fn a_plan_has_an_end() {
    let depths = (1..=101).map(|depth| depth.to_string()).collect::<Vec<_>>().join(", ");
    let squared =
        format!("pattern = \"write\"\nmatrix = {{ depth = [{depths}], jobs = [{depths}] }}");
    insta::assert_snapshot!(error_of_value(&squared), @"plan.toml:4: matrix: too many combinations; the limit is 10000");
    let repeated = format!("pattern = \"write\"\nrepeat = 100\nmatrix = {{ depth = [{depths}] }}");
    insta::assert_snapshot!(error_of_value(&repeated), @"plan.toml:4: repeat: the test expands to too many tests; the limit is 10000");
    let depths = (1..=100).map(|depth| depth.to_string()).collect::<Vec<_>>().join(", ");
    let most = |name: &str| {
        format!(
            "[[test]]\nname = \"{name}\"\npattern = \"write\"\nrepeat = 100\nmatrix = \
             {{ depth = [{depths}] }}\n"
        )
    };
    assert_eq!(parse(&most("a")).tests.len(), 10_000);
    insta::assert_snapshot!(error(&(most("a") + &most("b"))), @"plan.toml:6: the plan has too many tests; the limit is 10000");
}

/// A plan with this line of this field, and what else the field needs around it.
fn around(field: &Field, line: &str) -> String {
    let write = "[[test]]\npattern = \"write\"\n";
    match (field.scope, field.name) {
        (Scope::Plan, "test") => line.to_owned(),
        (Scope::Plan, _) => format!("{line}\n{write}"),
        (Scope::File, _) => {
            format!("[[test]]\nsteps = [\"sync f fsync\"]\n[test.files.f]\n{line}\n")
        }
        (_, "entries") => format!("[[test]]\npattern = \"create\"\n{line}\n"),
        (_, "pattern" | "sort") => format!("[[test]]\n{line}\n"),
        (_, "with_previous") => format!("{write}name = \"first\"\n{write}{line}\n"),
        (_, "memory") => format!("[[test]]\nsort = \"urls\"\n{line}\n"),
        (_, "read_percent") => format!("[[test]]\npattern = \"rw\"\n{line}\n"),
        (_, "sync_every" | "drain" | "queue_sync") => format!("{write}sync = \"fsync\"\n{line}\n"),
        (_, "compressible_percent") => format!("{write}content = \"compressible\"\n{line}\n"),
        (_, "stop") => format!("{write}time = \"1s\"\ncount = 9\n{line}\n"),
        (_, "offset_increment") => format!("{write}sharing = \"all\"\n{line}\n"),
        (_, "file_order" | "file_turn") => format!("{write}files_per_job = 4\n{line}\n"),
        (_, "start_delay") => format!("{write}warm_up = \"0s\"\n{line}\n"),
        (_, "think_every") => format!("{write}think_time = \"1ms\"\n{line}\n"),
        (_, "sync_next_file") => format!("{write}sync = \"fsync\"\nfiles_per_job = 4\n{line}\n"),
        (_, "arrivals") => format!("{write}rate = 100\n{line}\n"),
        (_, "steps") => format!("[[test]]\nfiles = {{ log = {{}} }}\n{line}\n"),
        (_, "files") => format!("[[test]]\nsteps = [\"sync log fsync\"]\n{line}\n"),
        _ => format!("{write}{line}\n"),
    }
}

#[test]
fn every_example_of_the_reference_is_read() {
    for field in FIELDS {
        let with = parse(&around(field, field.example));
        // A default is what its field says by itself, so an example should say something else.
        if !["test", "pattern", "defaults", "steps", "files", "sort"].contains(&field.name) {
            assert_ne!(
                with,
                parse(&around(field, "")),
                "the example of {} changes nothing",
                field.name
            );
        }
    }
}

#[test]
fn the_defaults_of_the_reference_are_the_parser_s() {
    let mut checked = 0;
    for field in FIELDS {
        let line = format!("{} = {}", field.name, field.default);
        // Some defaults are described in words.
        if line.parse::<toml::Table>().is_ok() {
            assert_eq!(parse(&around(field, &line)), parse(&around(field, "")), "{line}");
            checked += 1;
        }
    }
    assert!(checked > 15, "only {checked} defaults were checked");
}

#[test]
fn the_plan_that_opens_the_reference_is_read() {
    let page = reference();
    let plan = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(parse(plan).tests.len(), 4);
}

/// Lines that are nearly plans: known keys with values that fit some of them.
fn near_plan() -> impl Strategy<Value = String> {
    let key = prop::sample::select(FIELDS.iter().map(|field| field.name).collect::<Vec<_>>());
    let value = prop::sample::select(vec![
        "0",
        "1",
        "2",
        "32",
        "512",
        "-1",
        "1e3",
        "nan",
        "true",
        "false",
        "\"4KiB\"",
        "\"1GiB\"",
        "\"8388607TiB\"",
        "\"5s\"",
        "\"0s\"",
        "\"randwrite\"",
        "\"urls\"",
        "\"64MiB\"",
        "\"rw\"",
        "\"read\"",
        "\"fsync\"",
        "\"o_dsync\"",
        "\"append\"",
        "\"compressible\"",
        "\"both\"",
        "\"poisson\"",
        "\"psync\"",
        "[1, 2]",
        "[\"fsync\", \"none\"]",
        "{ jobs = [1, 2] }",
        "{ log = { size = \"4KiB\" }, data = {} }",
        "[\"write log seq 4KiB x2\", \"sync data fsync\"]",
        "[]",
        "{}",
        "\"\"",
    ]);
    let line = (key, value).prop_map(|(key, value)| format!("{key} = {value}"));
    let sample = prop::sample::select(
        FIELDS.iter().map(|field| field.example.to_owned()).collect::<Vec<_>>(),
    );
    let header = prop::sample::select(vec![
        "[defaults]",
        "[[test]]",
        "[[test]]\npattern = \"write\"",
        "[test.matrix]",
        "[test.files]",
    ])
    .prop_map(str::to_owned);
    prop::collection::vec(prop_oneof![3 => line, 3 => sample, 2 => header], 0..8)
        .prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_a_plan_or_an_error_on_one_of_its_lines(text in "(\\PC|\n){0,200}") {
        if let Err(error) = Plan::from_toml("f", &text) {
            prop_assert!((1..=text.lines().count() + 1).contains(&error.line), "{error}");
        }
    }

    #[test]
    fn what_is_nearly_a_plan_is_one_that_holds_together_or_an_error_of_one_line(text in near_plan()) {
        match Plan::from_toml("f", &text) {
            Err(error) => {
                prop_assert!((1..=text.lines().count() + 1).contains(&error.line), "{error}");
                prop_assert!(!error.message.is_empty() && !error.message.contains('\n'), "{error:?}");
            }
            Ok(plan) => {
                let names: std::collections::HashSet<&str> = plan.tests.iter().map(|test| test.name.as_str()).collect();
                prop_assert!(!plan.tests.is_empty() && names.len() == plan.tests.len());
                for test in &plan.tests {
                    prop_assert!(test.work.size_bytes(Room::Whole(1 << 30)) > 0);
                }
                prop_assert!(plan.smoke().requested_time() <= Duration::from_secs(200));
            }
        }
    }
}

#[test]
fn tests_run_at_the_same_time() {
    let text = "[[test]]\nname = \"a\"\npattern = \"read\"\n[[test]]\nname = \"b\"\npattern \
                = \"randwrite\"\nwith_previous = true\n[[test]]\nname = \"c\"\npattern \
                = \"read\"\n";
    let plan = Plan::from_toml("p.toml", text).unwrap();
    assert_eq!(plan.groups().map(<[Test]>::len).collect::<Vec<_>>(), [2, 1]);
    let refusal = |second: &str| {
        error(&format!(
            "[[test]]\nname = \"a\"\npattern = \"read\"\n[[test]]\nwith_previous = true\n{second}\n"
        ))
    };
    insta::assert_snapshot!(refusal("pattern = \"read\"\nrepeat = 2"), @"plan.toml:5: with_previous: not valid with matrix or repeat; write each test out");
    insta::assert_snapshot!(refusal("pattern = \"read\"\nwrite_cache = \"off\""), @"plan.toml:5: with_previous: both tests need the same write_cache");
    insta::assert_snapshot!(refusal("sort = \"urls\""), @"plan.toml:5: with_previous: not valid in a test with sort");
    insta::assert_snapshot!(error("[[test]]\nwith_previous = true\npattern = \"read\"\n"), @"plan.toml:2: with_previous: the first test has no previous test");
}

/// One test of each kind.
const KINDS: &str = "[[test]]\npattern = \"randwrite\"\njobs = 4\nsize = \"3GiB\"\nrest \
                     = \"2s\"\ntime = \"20s\"\nwarm_up = \"1s\"\n\
    [[test]]\nsteps = [\"write a seq 32MiB\", \"sync b fsync\"]\nfiles = \
                     { a = { size = \"1GiB\" }, b = { size = \"8KiB\" } }\n\
    jobs = 2\ntime = \"3s\"\ncount = 100\nwarm_up = \"500ms\"\n\
    [[test]]\nsort = \"urls\"\njobs = 3\nsize = \"1GiB\"\nrest = \"4s\"\n";

#[test]
fn each_kind_of_work_says_how_much_it_takes() {
    let plan = parse(KINDS);
    let works: Vec<&Work> = plan.tests.iter().map(|test| &test.work).collect();
    let sizes: Vec<u64> = works.iter().map(|work| work.size_bytes(Room::Unlimited)).collect();
    assert_eq!(sizes, [3 << 30, 2 * ((1 << 30) + 8192), 1 << 30]);
    assert_eq!(plan.tested_bytes(Room::Unlimited), Some(1 << 30..=3 << 30));
    assert_eq!(works.iter().map(|work| work.jobs()).collect::<Vec<_>>(), [4, 2, 3]);
    let millis = |time: fn(&Work) -> Duration| {
        works.iter().map(|work| time(work).as_millis()).collect::<Vec<_>>()
    };
    assert_eq!(millis(|work| work.warm_up().0), [1000, 500, 0]);
    assert_eq!(millis(Work::rest), [2000, 0, 4000]);
    assert_eq!(millis(|work| work.limit().time().unwrap_or_default()), [20_000, 3000, 0]);
    assert_eq!(
        plan.requested_time(),
        Duration::from_millis(1000 + 500 + 2000 + 4000 + 20_000 + 3000)
    );
    let shorter = plan.clone().with_time(Duration::from_secs(7));
    assert_eq!(
        shorter.requested_time(),
        Duration::from_millis(1000 + 500 + 2000 + 4000 + 7000 + 7000)
    );
    assert_eq!(shorter.tests[1].work.limit().count(), Some(100));
    let counted =
        parse("[[test]]\npattern = \"write\"\ncount = 9").with_time(Duration::from_secs(7));
    assert_eq!(counted.tests[0].work.limit(), Limit::Count(9));
    assert_eq!(Plan { tests: Vec::new(), ..plan }.tested_bytes(Room::Unlimited), None);
}

#[test]
fn a_smoke_run_cuts_each_kind_of_work_to_its_least() {
    let smoke = parse(KINDS).smoke();
    let work = |index: usize| &smoke.tests[index].work;
    // Three tests share two seconds, of which none takes more than a fifth of one.
    let time = Duration::from_millis(200);
    let limit = |count, until| Limit::TimeAndCount { time, count, until };
    assert_eq!((work(0).limit(), work(1).limit()), (limit(1, Until::Both), limit(8, Until::First)));
    assert_eq!(smoke.requested_time(), 2 * time);
    // The write of 32 MiB needs a file of that size; each sort two memories of 4 MiB.
    let sizes = [0, 1, 2].map(|index| work(index).size_bytes(Room::Unlimited));
    assert_eq!(sizes, [16 << 20, 2 * ((32 << 20) + 8192), 3 * (2 * (4 << 20))]);
    let of = |lines: &str| {
        let plan =
            parse(&format!("[[test]]\npattern = \"write\"\nsharing = \"all\"\n{lines}\n")).smoke();
        let Work::Blocks(workload) = plan.tests[0].work.clone() else {
            panic!("a pattern was given")
        };
        workload
    };
    let small = of("size = \"1MiB\"\noffset = \"1GiB\"\noffset_increment = \"64KiB\"");
    assert_eq!(small.size, Area::Bytes(1 << 20));
    assert_eq!((small.offset_bytes, small.offset_increment_bytes), (16 << 20, 64 << 10));
    // A block for each stream of each job, if that is more.
    let large = of("block = \"8MiB\"\njobs = 2\nstreams = 3\nsize = \"50%\"");
    assert_eq!(large.size, Area::Bytes(2 * 3 * (8 << 20)));
}

#[test]
fn every_form_of_table_is_found_by_its_name() {
    for table in Table::ALL {
        assert_eq!(Table::from_name(table.name()), Some(table));
        assert_eq!(serde_json::to_value(table).unwrap(), table.name());
    }
}

#[test]
fn the_limits_of_a_field_belong_to_its_range() {
    let is_plan = |line: &str| {
        Plan::from_toml("f", &format!("[[test]]\npattern = \"write\"\n{line}")).is_ok()
    };
    for line in [
        "block = 512", "block = \"64MiB\"", "depth = 1", "depth = 1024", "rate = 0.5",
        "rate = 1e7", "size = \"1%\"", "size = \"100 %\"", "rest = \"0s\"", "rest = \"8784h\"",
    ] {
        assert!(is_plan(line), "{line}");
    }
    for line in [
        "block = 511", "block = 67108865", "depth = 0", "depth = 1025", "depth = 1.0", "rate = 0",
        "rate = -1.0", "rate = 10000001", "size = \"0%\"", "size = \"101%\"", "size = 511",
        "time = \"0s\"", "rest = \"8785h\"",
    ] {
        assert!(!is_plan(line), "{line}");
    }
}

#[test]
fn a_time_is_numbers_with_units() {
    use super::value::duration;
    for (text, microseconds) in [
        ("7us", 7),
        ("250ms", 250_000),
        ("1.5 s", 1_500_000),
        ("2m", 120_000_000),
        ("2min", 120_000_000),
        (" 1h 30min10s ", 5_410_000_000),
    ] {
        assert_eq!(duration(text), Some(Duration::from_micros(microseconds)), "{text}");
    }
    for text in ["", "5", "s", "5 days", "1.2.3s", "5s,", "-5s", "5s 3"] {
        assert_eq!(duration(text), None, "{text}");
    }
}

#[test]
fn a_pattern_of_entries_visits_each_once_and_ignores_defaults_of_blocks() {
    let plan = parse(
        "[defaults]\ndepth = 4\nwarm_up = \"1s\"\njobs = 2\n\
         [[test]]\npattern = \"create\"\nentries = 300\n\
         [[test]]\npattern = \"remove\"\nblock = \"8KiB\"\ntime = \"2s\"\n",
    );
    let jobs: Vec<&Workload> = (plan.tests.iter())
        .map(|test| match &test.work {
            Work::Blocks(workload) => workload,
            Work::Steps(_) | Work::Sort(_) => panic!("{}", test.name),
        })
        .collect();
    assert_eq!((jobs[0].pattern, jobs[0].entries_per_job()), (Pattern::Create, 300));
    assert_eq!((jobs[1].pattern, jobs[1].entries_per_job()), (Pattern::Remove, 1000));
    assert_eq!(jobs[0].limit, Limit::Count(300));
    let (time, count) = (Duration::from_secs(2), 1000);
    assert_eq!(jobs[1].limit, Limit::TimeAndCount { time, count, until: Until::First });
    for job in jobs {
        assert_eq!((job.jobs.get(), job.depth.get(), job.passes), (2, 1, Some(1)));
        assert!(job.warm_up.0.is_zero() && !job.direct);
    }
    let space = parse("[[test]]\npattern = \"allocate\"\n[[test]]\npattern = \"trim\"\n");
    let layouts = space.tests.iter().map(|test| match &test.work {
        Work::Blocks(workload) => (workload.layout, workload.direct),
        Work::Steps(_) | Work::Sort(_) => panic!("{}", test.name),
    });
    assert_eq!(layouts.collect::<Vec<_>>(), [(Layout::Empty, false), (Layout::Overwrite, true)]);
}

#[test]
fn a_test_whose_cache_cannot_be_switched_is_called_as_found() {
    let names = |text: &str| {
        let tests = parse(text).tests;
        tests.iter().map(|test| test.as_found().name).collect::<Vec<_>>()
    };
    assert_eq!(
        names("[[test]]\npattern = \"randwrite\"\nwrite_cache = \"off\""),
        ["randwrite 4 KiB, depth 1, jobs 1, cache as found"]
    );
    assert_eq!(names("[[test]]\npattern = \"randwrite\""), ["randwrite 4 KiB, depth 1, jobs 1"]);
}

#[test]
fn only_a_turn_that_makes_something_durable_commits() {
    let commits = |files: &str, steps: &str| {
        let text = format!(
            "[[test]]\nfiles = {{ log = {{ size = \"8KiB\"{files} }} }}\nsteps = [{steps}]"
        );
        match &parse(&text).tests[0].work {
            Work::Steps(program) => program.commits(),
            other => panic!("{other:?}"),
        }
    };
    let write = "\"write log same 8KiB\"";
    assert!(!commits("", write));
    assert!(commits("", &format!("{write}, \"sync log fdatasync\"")));
    assert!(commits(", open = \"o_dsync\"", write));
}
