//! The same model, test and seed give the same figures in every version, because published tables,
//! fits and stored results are compared with models. After an intended change, accept the new
//! figures with `cargo insta review`; an unintended change fails here.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use catalogue::Model;
use measurement::{LatencySummary, Outcome};
use simdrive::{
    Assembly, Completion, Device, Machine, Op, Request, SECTOR_BYTES, SimTarget, assemble,
    run_alone,
};
use workload::Plan;
use workload::random::{below, generator};

fn machine(target: &str) -> Machine {
    let target = SimTarget::split(target).unwrap();
    target.machine(catalogue::find_model(target.model).unwrap()).unwrap()
}

/// Of each test on each target: operations and milliseconds; mean and longest microseconds of
/// reads, writes, syncs and commits; and reads, writes, KiB written and flushes of the device;
/// operations in each second.
fn figures(targets: &[impl AsRef<str>], common: &str, tests: &[&str]) -> String {
    let mut lines = Vec::new();
    for target in targets.iter().map(AsRef::as_ref) {
        let machine = machine(target);
        for test in tests {
            let plan = format!("[[test]]\n{common}\n{}\n", test.replace("; ", "\n"));
            let plan =
                Plan::from_toml("test", &plan).unwrap_or_else(|error| panic!("{error}: {test}"));
            let result = match run_alone(&machine, &plan.tests[0], &mut |_| true).unwrap() {
                Outcome::Measured(result) => result,
                Outcome::Skipped(skipped) => panic!("{skipped:?}"),
            };
            let mut line = format!("{} {}: ", &target["sim:".len()..], result.test);
            line += &format!("{} in {:.3}", result.ops, result.elapsed_s * 1e3);
            let latencies = [
                ("r", &result.read_us),
                ("w", &result.write_us),
                ("s", &result.sync_us),
                ("c", &result.commit_us),
            ];
            for (name, latency) in latencies {
                if let Some(LatencySummary { mean, max, .. }) = latency {
                    line += &format!(" {name} {mean:.2} {max:.2}");
                }
            }
            if let Some(device) = &result.proof.device {
                let (kib, flushes) = (device.bytes_written >> 10, device.flushes.unwrap_or(0));
                line += &format!(" device {} {} {kib} {flushes}", device.reads, device.writes);
            }
            for iops in &result.series.iops {
                line += &format!(" second {iops}");
            }
            lines.push(line);
        }
    }
    lines.join("\n")
}

const SHORT: &str = "size = \"256MiB\"\ntime = \"100ms\"\nwarm_up = \"10ms\"";

#[test]
fn of_solid_state_drives() {
    let drives = [
        "sim:enterprise-nvme",
        "sim:consumer-nvme",
        "sim:enterprise-sata",
        "sim:consumer-sata",
        "sim:consumer-sata,write-cache=off",
        "sim:intel-710-sata",
    ];
    let tests = [
        "pattern = \"randread\"; depth = 8",
        "pattern = \"write\"; block = \"256KiB\"; depth = 4",
        "pattern = \"randwrite\"; sync = \"fdatasync\"",
        "pattern = \"randwrite\"; block = 1024; sync = \"o_dsync\"; engine = \"io_uring\"",
        "pattern = \"randrw\"; read_percent = 70; depth = 16; jobs = 2; sync = \"fsync\"; \
         sync_every = 16",
    ];
    insta::assert_snapshot!(figures(&drives, SHORT, &tests), @"
    enterprise-nvme randread 4 KiB, depth 8, jobs 1: 9757 in 100.098 r 82.06 225.02 device 9757 0 0 0
    enterprise-nvme write 256 KiB, depth 4, jobs 1: 2027 in 100.161 w 197.51 472.83 device 0 2027 518912 0
    enterprise-nvme randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 7502 in 100.002 w 12.63 12.63 s 0.70 0.70 c 13.33 13.34 device 0 7502 30008 0
    enterprise-nvme randwrite 1 KiB, o_dsync asynchronous, depth 1, jobs 1: 8226 in 100.003 w 12.16 12.16 c 12.16 12.16 device 0 8226 8226 0
    enterprise-nvme randrw 70% reads 4 KiB, fsync=16, depth 16, jobs 2: 32102 in 100.104 r 102.81 313.34 w 16.78 48.61 s 0.70 0.70 c 332.83 620.54 device 22486 9616 38464 0
    consumer-nvme randread 4 KiB, depth 8, jobs 1: 9805 in 100.075 r 81.65 218.75 device 9805 0 0 0
    consumer-nvme write 256 KiB, depth 4, jobs 1: 1003 in 100.358 w 399.52 400.13 device 0 1003 256768 0
    consumer-nvme randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 69 in 100.692 w 18.14 18.14 s 1441.28 1441.79 c 1459.71 1460.22 device 0 69 276 69
    consumer-nvme randwrite 1 KiB, o_dsync asynchronous, depth 1, jobs 1: 420 in 100.018 w 238.14 238.21 c 238.14 238.21 device 0 420 420 0
    consumer-nvme randrw 70% reads 4 KiB, fsync=16, depth 16, jobs 2: 4227 in 101.778 r 101.72 321.28 w 22.29 59.04 s 2160.55 2889.73 c 2496.92 3518.46 device 2931 1296 5184 81
    enterprise-sata randread 4 KiB, depth 8, jobs 1: 5205 in 100.152 r 153.78 306.69 device 5205 0 0 0
    enterprise-sata write 256 KiB, depth 4, jobs 1: 209 in 101.512 w 1928.60 1970.17 device 0 209 53504 0
    enterprise-sata randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 961 in 100.084 w 43.44 43.45 s 60.69 60.70 c 104.16 104.19 device 0 961 3844 961
    enterprise-sata randwrite 1 KiB, o_dsync asynchronous, depth 1, jobs 1: 1022 in 100.014 w 97.89 97.92 c 97.89 97.92 device 0 1022 1022 1022
    enterprise-sata randrw 70% reads 4 KiB, fsync=16, depth 16, jobs 2: 5330 in 100.342 r 537.30 863.23 w 262.51 454.65 s 253.61 414.72 c 1979.70 3354.62 device 3710 1620 6480 101
    consumer-sata randread 4 KiB, depth 8, jobs 1: 5577 in 100.092 r 143.51 271.36 device 5577 0 0 0
    consumer-sata write 256 KiB, depth 4, jobs 1: 209 in 101.515 w 1928.66 1973.25 device 0 209 53504 0
    consumer-sata randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 43 in 100.150 w 46.45 46.46 s 2282.50 2283.52 c 2329.60 2330.62 device 0 43 172 43
    consumer-sata randwrite 1 KiB, o_dsync asynchronous, depth 1, jobs 1: 44 in 102.202 w 2323.46 2324.48 c 2323.46 2324.48 device 0 44 44 44
    consumer-sata randrw 70% reads 4 KiB, fsync=16, depth 16, jobs 2: 1700 in 100.234 r 957.28 3303.42 w 770.39 2904.06 s 2619.65 2869.25 c 6261.54 8065.02 device 1188 512 2048 32
    consumer-sata,write-cache=off randread 4 KiB, depth 8, jobs 1: 5577 in 100.092 r 143.51 271.36 device 5577 0 0 0
    consumer-sata,write-cache=off write 256 KiB, depth 4, jobs 1: 209 in 101.897 w 1935.96 2355.20 device 0 209 53504 0
    consumer-sata,write-cache=off randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 234 in 100.401 w 428.42 428.54 s 0.70 0.70 c 429.18 429.31 device 0 234 936 0
    consumer-sata,write-cache=off randwrite 1 KiB, o_dsync asynchronous, depth 1, jobs 1: 237 in 100.199 w 422.78 422.91 c 422.78 422.91 device 0 237 237 0
    consumer-sata,write-cache=off randrw 70% reads 4 KiB, fsync=16, depth 16, jobs 2: 5756 in 100.427 r 395.45 753.66 w 589.19 875.01 s 0.70 0.70 c 1830.05 2879.49 device 4001 1755 7020 0
    intel-710-sata randread 4 KiB, depth 8, jobs 1: 2774 in 100.240 r 288.78 423.42 device 2774 0 0 0
    intel-710-sata write 256 KiB, depth 4, jobs 1: 71 in 105.628 w 5816.53 6148.10 device 0 142 18176 0
    intel-710-sata randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 641 in 100.088 w 87.14 87.17 s 69.02 69.06 c 156.10 156.16 device 0 641 2564 641
    intel-710-sata randwrite 1 KiB, o_dsync asynchronous, depth 1, jobs 1: 701 in 100.142 w 142.91 142.97 c 142.91 142.97 device 0 701 701 701
    intel-710-sata randrw 70% reads 4 KiB, fsync=16, depth 16, jobs 2: 2602 in 100.780 r 1151.67 1608.70 w 559.79 990.72 s 412.55 658.94 c 4030.64 6971.39 device 1805 797 3188 49
    ");
}

#[test]
fn of_drives_that_have_been_written_over() {
    let drives = ["sim:consumer-sata,capacity=2GiB", "sim:consumer-nvme,capacity=2GiB"];
    let long = "size = \"2GiB\"\ntime = \"200ms\"\nwarm_up = \"5s\"";
    insta::assert_snapshot!(figures(&drives, long, &["pattern = \"randwrite\"; depth = 32"]), @"
    consumer-sata,capacity=2GiB randwrite 4 KiB, depth 32, jobs 1: 3456 in 210.722 w 1928.05 51347.46 device 0 3456 13824 0
    consumer-nvme,capacity=2GiB randwrite 4 KiB, depth 32, jobs 1: 4296 in 201.505 w 1500.81 44597.25 device 0 4296 17184 0
    ");
}

#[test]
fn of_disks_sticks_and_volumes() {
    let drives = [
        "sim:disk-7200rpm-cache-on",
        "sim:disk-7200rpm-cache-off",
        "sim:usb-stick",
        "sim:cloud-volume",
    ];
    let tests = [
        "pattern = \"read\"; block = \"64KiB\"",
        "pattern = \"randread\"; depth = 16",
        "pattern = \"randwrite\"; depth = 4",
        "pattern = \"randwrite\"; block = 512; sync = \"fsync\"",
        "pattern = \"write\"; streams = 4; block = \"16KiB\"",
        "pattern = \"rw\"; rate = 200; arrivals = \"poisson\"; sync = \"fdatasync\"; sync_every = \
         4",
    ];
    let second = "size = \"4GiB\"\ntime = \"1s\"\nwarm_up = \"10ms\"";
    insta::assert_snapshot!(figures(&drives, second, &tests), @"
    disk-7200rpm-cache-on read 64 KiB, depth 1, jobs 1: 3230 in 1000.233 r 309.61 6569.98 device 3230 0 0 0 second 3229
    disk-7200rpm-cache-on randread 4 KiB, depth 16, jobs 1: 575 in 1034.350 r 28282.44 213123.07 device 575 0 0 0 second 559
    disk-7200rpm-cache-on randwrite 4 KiB, depth 4, jobs 1: 14830 in 1000.226 w 269.67 271.87 device 0 14830 59320 0 second 14826
    disk-7200rpm-cache-on randwrite 512 B, fsync=1, depth 1, jobs 1: 70 in 1004.388 w 62.93 62.94 s 14285.39 18153.47 c 14348.00 18202.62 device 0 70 35 70 second 70
    disk-7200rpm-cache-on write 16 KiB, 4 streams, depth 1, jobs 1: 10895 in 1000.008 w 91.81 91.84 device 0 10895 174320 0 second 10894
    disk-7200rpm-cache-on rw 50% reads 4 KiB, fdatasync=4, depth 1, jobs 1: 177 in 1001.351 r 4862.56 19595.26 w 1420.44 11075.58 s 4511.26 8273.92 c 42204.98 71630.85 device 97 80 320 20 second 176
    disk-7200rpm-cache-off read 64 KiB, depth 1, jobs 1: 3230 in 1000.233 r 309.61 6569.98 device 3230 0 0 0 second 3229
    disk-7200rpm-cache-off randread 4 KiB, depth 16, jobs 1: 575 in 1034.350 r 28282.44 213123.07 device 575 0 0 0 second 559
    disk-7200rpm-cache-off randwrite 4 KiB, depth 4, jobs 1: 296 in 1022.950 w 13670.78 62980.10 device 0 296 1184 0 second 292
    disk-7200rpm-cache-off randwrite 512 B, fsync=1, depth 1, jobs 1: 70 in 1004.388 w 14347.76 18202.62 s 0.70 0.70 c 14348.00 18202.62 device 0 70 35 0 second 69
    disk-7200rpm-cache-off write 16 KiB, 4 streams, depth 1, jobs 1: 137 in 1001.733 w 7310.55 8601.60 device 0 137 2192 0 second 136
    disk-7200rpm-cache-off rw 50% reads 4 KiB, fdatasync=4, depth 1, jobs 1: 172 in 1001.261 r 42414.95 96010.24 w 44427.66 101122.05 s 0.70 0.70 c 83015.14 125304.83 device 96 76 304 0 second 171
    usb-stick read 64 KiB, depth 1, jobs 1: 700 in 1001.119 r 1430.02 1430.53 device 700 0 0 0 second 699
    usb-stick randread 4 KiB, depth 16, jobs 1: 1357 in 1011.659 r 11865.71 11935.74 device 1357 0 0 0 second 1341
    usb-stick randwrite 4 KiB, depth 4, jobs 1: 5 in 1709.383 w 1076494.34 1423966.21 device 0 5 20 0 second 1
    usb-stick randwrite 512 B, fsync=1, depth 1, jobs 1: 5 in 1232.951 w 246552.99 437256.19 s 0.70 0.70 c 246552.99 437256.19 device 0 5 2 0 second 4
    usb-stick write 16 KiB, 4 streams, depth 1, jobs 1: 3 in 1265.578 w 421920.77 422576.13 device 0 3 48 0 second 2
    usb-stick rw 50% reads 4 KiB, fdatasync=4, depth 1, jobs 1: 179 in 1000.000 r 87927.73 410779.65 w 124191.80 422313.98 s 0.70 0.70 c 154682.27 426246.14 device 98 81 324 0 second 179
    cloud-volume read 64 KiB, depth 1, jobs 1: 1371 in 1000.391 r 729.86 730.11 device 1371 0 0 0 second 1370
    cloud-volume randread 4 KiB, depth 16, jobs 1: 6014 in 1002.585 r 2664.87 2922.49 device 6014 0 0 0 second 5998
    cloud-volume randwrite 4 KiB, depth 4, jobs 1: 6002 in 1000.635 w 666.92 972.80 device 0 6002 24008 0 second 5998
    cloud-volume randwrite 512 B, fsync=1, depth 1, jobs 1: 1980 in 1000.415 w 454.53 454.65 s 50.70 50.72 c 505.22 505.34 device 0 1980 990 1980 second 1979
    cloud-volume write 16 KiB, 4 streams, depth 1, jobs 1: 1873 in 1000.032 w 533.76 534.01 device 0 1873 29968 0 second 1872
    cloud-volume rw 50% reads 4 KiB, fdatasync=4, depth 1, jobs 1: 179 in 1000.000 r 435.95 832.51 w 505.98 1247.23 s 50.70 50.72 c 37431.40 69992.45 device 98 81 324 20 second 179
    ");
}

#[test]
fn of_arrays() {
    let arrays = [
        "sim:enterprise-sata,raid=0,chunk=64KiB",
        "sim:enterprise-sata,raid=1",
        "sim:enterprise-sata,raid=5,chunk=64KiB",
        "sim:consumer-sata,raid=5,chunk=64KiB,journal=on",
        "sim:disk-7200rpm-cache-on,raid=6,members=5,chunk=64KiB",
    ];
    let tests = [
        "pattern = \"read\"; block = \"1MiB\"",
        "pattern = \"randread\"; depth = 16",
        "pattern = \"write\"; block = \"128KiB\"; depth = 4",
        "pattern = \"randwrite\"; depth = 16",
        "pattern = \"randwrite\"; sync = \"fdatasync\"",
    ];
    insta::assert_snapshot!(figures(&arrays, SHORT, &tests), @"
    enterprise-sata,raid=0,chunk=64KiB read 1 MiB, depth 1, jobs 1: 77 in 100.275 r 1302.20 1335.30 device 77 0 0 0
    enterprise-sata,raid=0,chunk=64KiB randread 4 KiB, depth 16, jobs 1: 9905 in 100.159 r 161.65 378.62 device 9905 0 0 0
    enterprise-sata,raid=0,chunk=64KiB write 128 KiB, depth 4, jobs 1: 784 in 100.492 w 511.80 539.65 device 0 784 100352 0
    enterprise-sata,raid=0,chunk=64KiB randwrite 4 KiB, depth 16, jobs 1: 11739 in 100.191 w 136.40 263.17 device 0 11739 46956 0
    enterprise-sata,raid=0,chunk=64KiB randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 961 in 100.084 w 43.44 43.45 s 60.69 60.70 c 104.16 104.19 device 0 961 3844 961
    enterprise-sata,raid=1 read 1 MiB, depth 1, jobs 1: 68 in 100.988 r 1485.31 1485.82 device 68 0 0 0
    enterprise-sata,raid=1 randread 4 KiB, depth 16, jobs 1: 10475 in 100.141 r 152.88 464.13 device 10475 0 0 0
    enterprise-sata,raid=1 write 128 KiB, depth 4, jobs 1: 408 in 100.921 w 985.56 1016.32 device 0 408 52224 0
    enterprise-sata,raid=1 randwrite 4 KiB, depth 16, jobs 1: 6094 in 100.249 w 262.79 290.30 device 0 6094 24376 0
    enterprise-sata,raid=1 randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 961 in 100.084 w 43.44 43.45 s 60.69 60.70 c 104.16 104.19 device 0 961 3844 961
    enterprise-sata,raid=5,chunk=64KiB read 1 MiB, depth 1, jobs 1: 95 in 100.505 r 1058.20 1097.73 device 95 0 0 0
    enterprise-sata,raid=5,chunk=64KiB randread 4 KiB, depth 16, jobs 1: 10682 in 100.173 r 149.90 372.22 device 10682 0 0 0
    enterprise-sata,raid=5,chunk=64KiB write 128 KiB, depth 4, jobs 1: 784 in 100.492 w 511.80 539.65 device 0 784 100352 0
    enterprise-sata,raid=5,chunk=64KiB randwrite 4 KiB, depth 16, jobs 1: 4256 in 100.264 w 376.47 871.42 device 0 4256 17024 0
    enterprise-sata,raid=5,chunk=64KiB randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 423 in 100.155 w 176.11 249.22 s 60.69 60.70 c 236.78 310.01 device 0 423 1692 423
    consumer-sata,raid=5,chunk=64KiB,journal=on read 1 MiB, depth 1, jobs 1: 100 in 100.279 r 1002.63 1041.92 device 100 0 0 0
    consumer-sata,raid=5,chunk=64KiB,journal=on randread 4 KiB, depth 16, jobs 1: 11508 in 100.124 r 139.11 302.08 device 11508 0 0 0
    consumer-sata,raid=5,chunk=64KiB,journal=on write 128 KiB, depth 4, jobs 1: 100 in 102.928 w 4109.29 4349.95 device 0 100 12800 0
    consumer-sata,raid=5,chunk=64KiB,journal=on randwrite 4 KiB, depth 16, jobs 1: 384 in 103.688 w 4288.97 5312.51 device 0 384 1536 0
    consumer-sata,raid=5,chunk=64KiB,journal=on randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 21 in 100.632 w 2509.82 2510.85 s 2282.50 2283.52 c 4790.27 4792.32 device 0 21 84 21
    disk-7200rpm-cache-on,raid=6,members=5,chunk=64KiB read 1 MiB, depth 1, jobs 1: 31 in 100.350 r 3237.33 9535.49 device 31 0 0 0
    disk-7200rpm-cache-on,raid=6,members=5,chunk=64KiB randread 4 KiB, depth 16, jobs 1: 164 in 119.418 r 10464.74 36995.07 device 164 0 0 0
    disk-7200rpm-cache-on,raid=6,members=5,chunk=64KiB write 128 KiB, depth 4, jobs 1: 39 in 111.550 w 10823.05 30015.49 device 0 39 4992 0
    disk-7200rpm-cache-on,raid=6,members=5,chunk=64KiB randwrite 4 KiB, depth 16, jobs 1: 88 in 136.618 w 21105.29 74514.43 device 0 88 352 0
    disk-7200rpm-cache-on,raid=6,members=5,chunk=64KiB randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 7 in 116.266 w 8350.87 9445.38 s 8259.58 8261.63 c 16610.45 17711.10 device 0 7 28 7
    ");
}

#[test]
fn of_filesystems_and_the_page_cache() {
    let hosts = ["sim:enterprise-nvme,filesystem=ext4", "sim:consumer-sata,filesystem=ext4"];
    let tests = [
        "pattern = \"write\"; layout = \"append\"; sync = \"fdatasync\"",
        "pattern = \"write\"; layout = \"preallocated\"; sync = \"fsync\"",
        "pattern = \"randwrite\"; sync = \"fsync\"; jobs = 4",
        "pattern = \"randwrite\"; sync = \"o_sync\"",
        "pattern = \"randwrite\"; sync = \"rwf_dsync\"",
        "pattern = \"randwrite\"; sync = \"linked_fdatasync\"; depth = 4",
        "pattern = \"randwrite\"; direct = false; sync = \"fdatasync\"; sync_every = 8",
        "pattern = \"randread\"; direct = false; depth = 2",
        "pattern = \"write\"; sync = \"fdatasync\"; depth = 8; queue_sync = true; sync_every = 4",
        "pattern = \"write\"; sync = \"fdatasync\"; depth = 8; drain = false; sync_every = 4",
        "pattern = \"randwrite\"; sync = \"fdatasync\"; end_fsync = true; rate = 500",
    ];
    insta::assert_snapshot!(figures(&hosts, SHORT, &tests), @"
    enterprise-nvme,filesystem=ext4 write 4 KiB, fdatasync=1, append, depth 1, jobs 1: 2742 in 100.036 w 12.63 12.63 s 23.85 23.86 c 36.50 36.51 device 0 8226 65808 0
    enterprise-nvme,filesystem=ext4 write 4 KiB, fsync=1, preallocated, depth 1, jobs 1: 2840 in 100.028 w 12.63 12.63 s 22.58 22.59 c 35.22 35.23 device 0 8520 45440 0
    enterprise-nvme,filesystem=ext4 randwrite 4 KiB, fsync=1, depth 1, jobs 4: 29347 in 100.033 w 12.63 17.54 s 1.00 26.70 c 13.64 44.22 device 0 29549 118600 0
    enterprise-nvme,filesystem=ext4 randwrite 4 KiB, o_sync, depth 1, jobs 1: 7745 in 100.030 w 12.91 34.53 c 12.91 34.53 device 0 7947 32192 0
    enterprise-nvme,filesystem=ext4 randwrite 4 KiB, rwf_dsync, depth 1, jobs 1: 7918 in 100.004 w 12.63 12.63 c 12.63 12.63 device 0 7918 31672 0
    enterprise-nvme,filesystem=ext4 randwrite 4 KiB, linked_fdatasync, depth 4, jobs 1: 30008 in 100.007 w 12.63 17.54 s 0.70 0.70 c 13.33 18.22 device 0 30008 120032 0
    enterprise-nvme,filesystem=ext4 randwrite 4 KiB, fdatasync=8, buffered, depth 1, jobs 1: 18680 in 100.017 w 2.51 2.51 s 22.74 22.75 c 42.83 42.85 device 0 18676 74716 0
    enterprise-nvme,filesystem=ext4 randread 4 KiB, buffered, depth 2, jobs 1: 2580 in 100.017 r 77.56 135.68 device 2518 0 0 0
    enterprise-nvme,filesystem=ext4 write 4 KiB, fdatasync=4 queued, depth 8, jobs 1: 60016 in 100.012 w 13.16 23.34 s 0.70 0.70 device 0 60016 240064 0
    enterprise-nvme,filesystem=ext4 write 4 KiB, fdatasync=4 undrained, depth 8, jobs 1: 61350 in 100.011 w 13.04 23.34 s 0.70 0.70 device 0 61350 245400 0
    enterprise-nvme,filesystem=ext4 randwrite 4 KiB, fdatasync=1, end_fsync, depth 1, jobs 1: 50 in 100.023 w 12.63 12.63 s 1.13 22.59 c 13.33 13.34 device 0 52 212 0
    consumer-sata,filesystem=ext4 write 4 KiB, fdatasync=1, append, depth 1, jobs 1: 22 in 104.109 w 46.45 46.46 s 4683.78 4685.82 c 4732.93 4734.98 device 0 66 528 44
    consumer-sata,filesystem=ext4 write 4 KiB, fsync=1, preallocated, depth 1, jobs 1: 22 in 103.781 w 46.45 46.46 s 4671.49 4673.53 c 4716.54 4718.59 device 0 66 352 44
    consumer-sata,filesystem=ext4 randwrite 4 KiB, fsync=1, depth 1, jobs 4: 84 in 100.136 w 66.83 95.81 s 4701.18 4722.69 c 4769.94 4780.03 device 0 126 588 42
    consumer-sata,filesystem=ext4 randwrite 4 KiB, o_sync, depth 1, jobs 1: 22 in 103.766 w 4716.54 4718.59 c 4716.54 4718.59 device 0 66 352 44
    consumer-sata,filesystem=ext4 randwrite 4 KiB, rwf_dsync, depth 1, jobs 1: 43 in 100.120 w 2327.55 2328.57 c 2327.55 2328.57 device 0 43 172 43
    consumer-sata,filesystem=ext4 randwrite 4 KiB, linked_fdatasync, depth 4, jobs 1: 160 in 100.180 w 93.54 144.51 s 2409.79 2445.31 c 2503.87 2506.75 device 0 160 640 80
    consumer-sata,filesystem=ext4 randwrite 4 KiB, fdatasync=8, buffered, depth 1, jobs 1: 320 in 100.051 w 2.51 2.51 s 2480.64 2484.22 c 2500.71 2504.70 device 0 320 1280 40
    consumer-sata,filesystem=ext4 randread 4 KiB, buffered, depth 2, jobs 1: 1638 in 100.090 r 122.17 183.81 device 1617 0 0 0
    consumer-sata,filesystem=ext4 write 4 KiB, fdatasync=4 queued, depth 8, jobs 1: 233 in 103.231 w 2335.63 2453.50 s 4619.01 4804.61 device 0 233 932 44
    consumer-sata,filesystem=ext4 write 4 KiB, fdatasync=4 undrained, depth 8, jobs 1: 172 in 102.156 w 2442.14 2469.89 s 2374.51 2377.73 device 0 172 688 43
    consumer-sata,filesystem=ext4 randwrite 4 KiB, fdatasync=1, end_fsync, depth 1, jobs 1: 43 in 104.811 w 6956.96 13869.06 s 2336.51 4661.25 c 9239.62 16154.62 device 0 45 184 45
    ");
}

#[test]
fn of_step_programs() {
    let hosts = [
        "sim:enterprise-nvme,filesystem=ext4,capacity=4GiB",
        "sim:consumer-sata,filesystem=ext4,capacity=4GiB",
    ];
    let tests = [
        "name = \"append\"; files = { log = { size = \"64MiB\", layout = \"append\" } }; \
         steps = [\"write log append 3000B\", \"sync log fdatasync\"]",
        "name = \"rename\"; files = { data = { size = \"64MiB\" }, tmp = { size = \"1MiB\" } }; \
         steps = [\"write tmp same 4KiB x3\", \"sync tmp fsync\", \"rename tmp \
         data\", \"sync-dir\"]",
        "name = \"all kinds\"; files = { log = { direct = true, open = \"o_dsync\" }, data = {} }; \
         jobs = 2; \
         steps = [\"write log seq 8KiB\", \"write data rand 4KiB x4\", \"truncate data \
         1MiB\", \"reopen data\", \
         \"unlink data\", \"sync log fsync\"]",
    ];
    insta::assert_snapshot!(figures(&hosts, "time = \"100ms\"\nwarm_up = \"10ms\"", &tests), @"
    enterprise-nvme,filesystem=ext4,capacity=4GiB append: 2705 in 100.034 w 2.38 2.38 s 34.61 35.13 c 36.98 37.50 device 0 8115 67032 0
    enterprise-nvme,filesystem=ext4,capacity=4GiB rename: 1474 in 100.042 w 2.51 2.51 s 29.17 35.13 c 67.87 67.90 device 0 7370 64856 0
    enterprise-nvme,filesystem=ext4,capacity=4GiB all kinds: 6522 in 100.029 w 4.66 15.53 s 1.36 26.50 c 30.67 58.08 device 0 6724 54600 0
    consumer-sata,filesystem=ext4,capacity=4GiB append: 22 in 104.147 w 2.38 2.38 s 4731.44 4739.07 c 4734.42 4743.17 device 0 66 544 44
    consumer-sata,filesystem=ext4,capacity=4GiB rename: 11 in 103.571 w 2.51 2.51 s 4702.21 4739.07 c 9416.70 9420.80 device 0 55 484 44
    consumer-sata,filesystem=ext4,capacity=4GiB all kinds: 28 in 100.134 w 485.76 2469.89 s 4718.59 4767.74 c 7153.66 7155.71 device 0 56 560 56
    ");
}

#[test]
fn of_every_model() {
    let all: Vec<String> =
        catalogue::models().iter().map(|model| format!("sim:{}", model.model)).collect();
    let tests = [
        "pattern = \"randwrite\"; sync = \"fdatasync\"",
        "pattern = \"randwrite\"; sync = \"o_dsync\"; engine = \"io_uring\"; depth = 2",
        "pattern = \"randread\"; block = \"16KiB\"; depth = 4",
    ];
    insta::assert_snapshot!(figures(&all, SHORT, &tests), @"
    cloud-volume randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 192 in 100.451 w 472.45 472.57 s 50.70 50.72 c 523.14 523.26 device 0 192 768 192
    cloud-volume randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 292 in 100.615 w 688.90 689.15 c 688.90 689.15 device 0 292 1168 146
    cloud-volume randread 16 KiB, depth 4, jobs 1: 602 in 100.650 r 667.33 984.06 device 602 0 0 0
    consumer-nvme randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 69 in 100.692 w 18.14 18.14 s 1441.28 1441.79 c 1459.71 1460.22 device 0 69 276 69
    consumer-nvme randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 840 in 100.218 w 238.66 240.77 c 238.66 240.77 device 0 840 3360 0
    consumer-nvme randread 16 KiB, depth 4, jobs 1: 4744 in 100.073 r 84.35 160.90 device 4744 0 0 0
    consumer-sata randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 43 in 100.150 w 46.45 46.46 s 2282.50 2283.52 c 2329.60 2330.62 device 0 43 172 43
    consumer-sata randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 86 in 101.257 w 2354.18 2355.20 c 2354.18 2355.20 device 0 86 344 43
    consumer-sata randread 16 KiB, depth 4, jobs 1: 2122 in 100.175 r 188.67 288.77 device 2122 0 0 0
    disk-7200rpm-cache-off randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 15 in 105.383 w 7024.64 9519.10 s 0.70 0.70 c 7025.60 9519.10 device 0 15 60 0
    disk-7200rpm-cache-off randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 16 in 102.300 w 12700.93 18677.76 c 12700.93 18677.76 device 0 16 64 0
    disk-7200rpm-cache-off randread 16 KiB, depth 4, jobs 1: 34 in 115.733 r 12807.83 26836.99 device 34 0 0 0
    disk-7200rpm-cache-on randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 15 in 105.383 w 69.47 69.50 s 6955.55 9453.57 c 7025.60 9519.10 device 0 15 60 15
    disk-7200rpm-cache-on randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 16 in 106.767 w 13346.05 18808.83 c 13346.05 18808.83 device 0 16 64 8
    disk-7200rpm-cache-on randread 16 KiB, depth 4, jobs 1: 34 in 115.733 r 12807.83 26836.99 device 34 0 0 0
    enterprise-nvme randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 7502 in 100.002 w 12.63 12.63 s 0.70 0.70 c 13.33 13.34 device 0 7502 30008 0
    enterprise-nvme randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 15836 in 100.006 w 12.63 14.26 c 12.63 14.26 device 0 15836 63344 0
    enterprise-nvme randread 16 KiB, depth 4, jobs 1: 4341 in 100.070 r 92.17 148.74 device 4341 0 0 0
    enterprise-sata randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 961 in 100.084 w 43.44 43.45 s 60.69 60.70 c 104.16 104.19 device 0 961 3844 961
    enterprise-sata randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 1670 in 100.110 w 119.90 119.94 c 119.90 119.94 device 0 1670 6680 835
    enterprise-sata randread 16 KiB, depth 4, jobs 1: 1950 in 100.121 r 205.21 304.89 device 1950 0 0 0
    usb-stick randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 1 in 408.323 w 408289.28 408420.35 s 0.70 0.70 c 408289.28 408420.35 device 0 1 4 0
    usb-stick randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 2 in 789.814 w 599064.58 790102.02 c 599064.58 790102.02 device 0 2 8 0
    usb-stick randread 16 KiB, depth 4, jobs 1: 117 in 103.201 r 3482.53 3530.75 device 117 0 0 0
    crucial-t500-2tb-ext4 randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 210 in 100.456 w 21.14 21.15 s 457.34 457.47 c 478.34 478.46 device 0 210 840 210
    crucial-t500-2tb-ext4 randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 440 in 100.005 w 454.53 456.19 c 454.53 456.19 device 0 440 1760 0
    crucial-t500-2tb-ext4 randread 16 KiB, depth 4, jobs 1: 5752 in 100.051 r 69.55 120.06 device 5752 0 0 0
    gcp-hyperdisk-balanced-1tb-ext4 randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 258 in 100.334 w 346.50 346.62 s 42.51 42.53 c 388.99 389.12 device 0 258 1032 258
    gcp-hyperdisk-balanced-1tb-ext4 randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 578 in 100.274 w 346.78 513.28 c 346.78 513.28 device 0 578 2312 0
    gcp-hyperdisk-balanced-1tb-ext4 randread 16 KiB, depth 4, jobs 1: 601 in 100.529 r 667.63 1029.63 device 601 0 0 0
    gcp-local-nvme-x2-raid0-ext4 randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 938 in 100.010 w 82.59 82.62 s 24.01 24.02 c 106.59 106.62 device 0 938 3752 938
    gcp-local-nvme-x2-raid0-ext4 randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 2422 in 100.065 w 82.60 93.76 c 82.60 93.76 device 0 2422 9688 0
    gcp-local-nvme-x2-raid0-ext4 randread 16 KiB, depth 4, jobs 1: 3489 in 100.102 r 114.69 133.89 device 3489 0 0 0
    intel-710-sata randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 641 in 100.088 w 87.14 87.17 s 69.02 69.06 c 156.10 156.16 device 0 641 2564 641
    intel-710-sata randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 1046 in 100.012 w 191.17 191.23 c 191.17 191.23 device 0 1046 4184 523
    intel-710-sata randread 16 KiB, depth 4, jobs 1: 914 in 100.446 r 438.85 645.63 device 914 0 0 0
    kioxia-cd6-3840gb randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 3637 in 100.014 w 24.31 24.32 s 3.18 3.18 c 27.50 27.50 device 0 3637 14548 0
    kioxia-cd6-3840gb randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 8225 in 100.024 w 24.31 26.72 c 24.31 26.72 device 0 8225 32900 0
    kioxia-cd6-3840gb randread 16 KiB, depth 4, jobs 1: 4063 in 100.066 r 98.48 189.44 device 4063 0 0 0
    micron-5100-eco-960gb randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 66 in 100.019 w 41.87 41.89 s 1474.05 1474.56 c 1515.01 1515.52 device 0 66 264 66
    micron-5100-eco-960gb randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 124 in 100.813 w 1625.60 1626.11 c 1625.60 1626.11 device 0 124 496 62
    micron-5100-eco-960gb randread 16 KiB, depth 4, jobs 1: 1335 in 100.267 r 300.12 1455.10 device 1335 0 0 0
    samsung-950-pro-nvme randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 49 in 101.622 w 20.07 20.08 s 2053.63 2054.14 c 2074.11 2074.62 device 0 49 196 49
    samsung-950-pro-nvme randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 98 in 100.625 w 2053.72 2062.34 c 2053.72 2062.34 device 0 98 392 0
    samsung-950-pro-nvme randread 16 KiB, depth 4, jobs 1: 3197 in 100.134 r 125.19 180.99 device 3197 0 0 0
    samsung-980-1tb randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 58 in 101.362 w 21.24 21.25 s 1725.95 1726.46 c 1747.46 1747.97 device 0 58 232 58
    samsung-980-1tb randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 750 in 100.024 w 266.63 270.08 c 266.63 270.08 device 0 750 3000 0
    samsung-980-1tb randread 16 KiB, depth 4, jobs 1: 4703 in 100.077 r 85.09 180.09 device 4703 0 0 0
    samsung-990-pro-ext4 randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 35 in 100.480 w 24.97 24.98 s 2845.70 2846.72 c 2870.27 2871.30 device 0 35 140 35
    samsung-990-pro-ext4 randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 884 in 100.053 w 226.37 230.66 c 226.37 230.66 device 0 884 3536 0
    samsung-990-pro-ext4 randread 16 KiB, depth 4, jobs 1: 5070 in 100.062 r 78.95 150.01 device 5070 0 0 0
    samsung-pm9a3-ext4 randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 5449 in 100.005 w 17.56 17.57 s 0.79 0.79 c 18.36 18.37 device 0 5449 21796 0
    samsung-pm9a3-ext4 randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 11388 in 100.013 w 17.56 21.10 c 17.56 21.10 device 0 11388 45552 0
    samsung-pm9a3-ext4 randread 16 KiB, depth 4, jobs 1: 3958 in 100.089 r 101.14 190.08 device 3958 0 0 0
    seagate-nytro-1351-3840gb randwrite 4 KiB, fdatasync=1, depth 1, jobs 1: 29 in 100.305 w 53.42 53.44 s 3404.80 3405.82 c 3458.05 3459.07 device 0 29 116 29
    seagate-nytro-1351-3840gb randwrite 4 KiB, o_dsync asynchronous, depth 2, jobs 1: 3562 in 100.049 w 56.18 75.78 c 56.18 75.78 device 0 3562 14248 0
    seagate-nytro-1351-3840gb randread 16 KiB, depth 4, jobs 1: 1739 in 100.183 r 230.32 967.68 device 1739 0 0 0
    ");
}

/// A drive that receives one command after the other, then loses power.
struct Played {
    device: Box<dyn Device>,
    now: u64,
    open: Vec<Request>,
    /// A checksum over all completion times.
    moments: u64,
}

impl Played {
    fn advance(&mut self) {
        self.now = self.device.next_event().unwrap();
        let mut done = Vec::new();
        self.device.advance(self.now, &mut done);
        for Completion { id, at } in done {
            self.open.retain(|request| request.id != id);
            self.moments += at;
        }
    }

    fn submit(&mut self, request: Request) {
        let overlaps = |other: &Request| {
            request.offset < other.offset + other.bytes
                && other.offset < request.offset + request.bytes
        };
        let most = self.device.identity().queue_depth.min(4) as usize;
        while self.open.len() >= most || self.open.iter().any(overlaps) {
            self.advance();
        }
        self.open.push(request);
        self.device.submit(self.now, request);
    }

    /// A checksum over all sectors.
    fn contents(&self) -> u64 {
        let stamps = (1..).zip(self.device.contents(0, AREA));
        stamps.fold(0, |sum: u64, (place, stamp): (u64, u64)| {
            sum.wrapping_add(place.wrapping_mul(stamp))
        })
    }
}

const AREA: u64 = 4 << 20;

/// Commands of all kinds on worn flash: data at risk and in the cache after every hundred commands,
/// the time of the last completion, the bytes written to the medium, and the contents before and
/// after a power cut.
fn play(model: &Model) -> String {
    let mut draws = generator(1, 0);
    let assembly = Assembly { capacity_bytes: Some(2 << 30), track_contents: true, number: 0 };
    let mut device = assemble(&model.model, &model.drive, assembly).unwrap();
    device.wear(0, 0.3, &mut draws);
    let mut played = Played { device, now: 1 << 40, open: Vec::new(), moments: 0 };
    let mut line = String::new();
    for id in 1..=300 {
        let op = [Op::Write, Op::Write, Op::Write, Op::Write, Op::Read, Op::Read, Op::Flush]
            [below(&mut draws, 7) as usize];
        let bytes = [SECTOR_BYTES, 4096, 16_384, 131_072][below(&mut draws, 4) as usize];
        let offset = below(&mut draws, AREA / bytes) * bytes;
        let (offset, bytes) = if op == Op::Flush { (0, 0) } else { (offset, bytes) };
        let fua = op == Op::Write && played.device.identity().fua && below(&mut draws, 4) == 0;
        played.submit(Request { id, op, offset, bytes, fua, stamp: u64::from(id) });
        if id % 100 == 50 {
            let risk = played
                .device
                .at_risk_from(played.now)
                .map_or("-".to_owned(), |stamp| stamp.to_string());
            line += &format!("{risk} {} ", played.device.dirty_bytes(played.now));
        }
    }
    let activity = played.device.activity();
    line += &format!("{} in {} ns ", played.moments, played.now - (1 << 40));
    line += &format!(
        "medium {} flushes {} of {} ns ",
        activity.medium_bytes, activity.flushes, activity.flush_ns
    );
    line += &format!("holds {:x} ", played.contents());
    played.device.power_cut(played.now, &mut draws);
    line += &format!("then {:x} ", played.contents());
    played.open.clear();
    for id in 301..=320 {
        let offset = u64::from(id % 7) * 4096;
        played.submit(Request {
            id,
            op: Op::Write,
            offset,
            bytes: 4096,
            fua: false,
            stamp: u64::from(id),
        });
    }
    while !played.open.is_empty() {
        played.advance();
    }
    line + &format!("and {:x} at {}", played.contents(), played.now - (1 << 40))
}

#[test]
fn of_drives_that_lose_their_power() {
    let drives = [
        "sim:consumer-nvme",
        "sim:consumer-sata",
        "sim:enterprise-sata",
        "sim:enterprise-nvme",
        "sim:intel-710-sata",
        "sim:disk-7200rpm-cache-on",
        "sim:disk-7200rpm-cache-off",
        "sim:usb-stick",
        "sim:cloud-volume",
        "sim:consumer-sata,raid=0,chunk=64KiB",
        "sim:consumer-sata,raid=1",
        "sim:consumer-sata,raid=5,chunk=64KiB,journal=on",
        "sim:disk-7200rpm-cache-on,raid=6,chunk=64KiB,journal=on",
        "sim:disk-7200rpm-cache-off,raid=5,chunk=64KiB",
    ];
    let lines: Vec<String> = drives
        .iter()
        .map(|target| format!("{}: {}", &target["sim:".len()..], play(&machine(target).model)))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    consumer-nvme: 26 737280 146 278528 249 32768 325471779090282 in 115341133 ns medium 4254101504 flushes 46 of 233370948 ns holds 1151d9762 then 1114c6072 and 1114d80fa at 115428173
    consumer-sata: 47 4096 140 479232 245 36864 325478923944998 in 183738049 ns medium 4256157696 flushes 39 of 239542455 ns holds 1397cc45e then 1396fafda and 139775de7 at 184094969
    enterprise-sata: - 172032 149 1597440 249 3731456 325467179892966 in 84284470 ns medium 4248334336 flushes 39 of 86283728 ns holds 1397cc45e then 1397cc45e and 13984726b at 84638390
    enterprise-nvme: - 819200 148 765952 249 655360 325457443869327 in 13068677 ns medium 4056539136 flushes 48 of 514847 ns holds 1151d9762 then 11514763a and 1151596c2 at 13126717
    intel-710-sata: - 188416 149 483328 249 339968 325473449945536 in 127684334 ns medium 770232320 flushes 39 of 34729528 ns holds 1397cc45e then 1397cc45e and 13984726b at 128455014
    disk-7200rpm-cache-on: 47 20992 135 407040 219 563200 325622443370863 in 1148884649 ns medium 5843968 flushes 39 of 1575158585 ns holds 12b4876de then fa26f10a and fa2817ce at 1150233569
    disk-7200rpm-cache-off: - 0 - 0 - 0 325659061734835 in 1453654851 ns medium 5839872 flushes 39 of 697727128 ns holds 12b4876de then 12b1829b6 and 12b19507a at 1496864849
    usb-stick: 48 0 149 0 249 0 334602424318541 in 40485880745 ns medium 800063488 flushes 40 of 28000000 ns holds 1387c3c30 then 132086058 and 13209871c at 41345335705
    cloud-volume: - 0 - 0 - 0 325462387152830 in 47923758 ns medium 5708800 flushes 39 of 7357572 ns holds 123770736 then 123a7545e and 123a87b22 at 51560892
    consumer-sata,raid=0,chunk=64KiB: 47 4096 140 479232 245 36864 325477616450698 in 164394302 ns medium 4087230464 flushes 39 of 216259628 ns holds 1397cc45e then 1397cc45e and 13984726b at 164751222
    consumer-sata,raid=1: 36 483328 141 458752 242 49152 325483961482684 in 196217745 ns medium 8497999872 flushes 41 of 225564237 ns holds 16e1b30a5 then 156c8c109 and 156cc5101 at 196574665
    consumer-sata,raid=5,chunk=64KiB,journal=on: - 0 144 16384 242 8192 325496735650502 in 286232408 ns medium 6221586432 flushes 41 of 163627217 ns holds 13abfd341 then 13abfd341 and 13ac7844d at 336380228
    disk-7200rpm-cache-on,raid=6,chunk=64KiB,journal=on: 11 61440 9 2560 0 319488 325777671779010 in 2321993447 ns medium 12407808 flushes 39 of 498130534 ns holds 123770736 then 12b1829b6 and 12b19507a at 2695900579
    disk-7200rpm-cache-off,raid=5,chunk=64KiB: - 0 - 0 - 0 325659439682746 in 1439887618 ns medium 9254912 flushes 39 of 456259719 ns holds 12b4876de then 12b1829b6 and 12b19507a at 1771821505
    ");
}
