//! The same model, test and seed give the same figures in every version: published tables, fits and
//! stored results are compared with what a model does. Where a change of that is meant,
//! `cargo insta review` takes the new figures; where none is meant, it shows here.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use measurement::{LatencySummary, Outcome};
use simdrive::run::run_alone;
use simdrive::target::SimTarget;
use workload::Plan;

/// Of each test on each target: operations and milliseconds; mean and longest microseconds of reads,
/// writes, syncs and commits; and reads, writes, KiB written and flushes of the device.
fn figures(targets: &[&str], common: &str, tests: &[&str]) -> String {
    let mut lines = Vec::new();
    for target in targets {
        let of_target = SimTarget::split(target).unwrap();
        let machine = of_target.machine(catalogue::find_model(of_target.model).unwrap()).unwrap();
        for test in tests {
            let plan = format!("[[test]]\n{common}\n{}\n", test.replace("; ", "\n"));
            let plan = Plan::from_toml("test", &plan).unwrap_or_else(|error| panic!("{error}: {test}"));
            let result = match run_alone(&machine, &plan.tests[0], &mut |_| true).unwrap() {
                Outcome::Measured(result) => result,
                Outcome::Skipped(skipped) => panic!("{skipped:?}"),
            };
            let mut line = format!("{} {}: ", &target["sim:".len()..], result.test);
            line += &format!("{} in {:.3}", result.ops, result.elapsed_s * 1e3);
            let latencies =
                [("r", &result.read_us), ("w", &result.write_us), ("s", &result.sync_us), ("c", &result.commit_us)];
            for (name, latency) in latencies {
                if let Some(LatencySummary { mean, max, .. }) = latency {
                    line += &format!(" {name} {mean:.2} {max:.2}");
                }
            }
            if let Some(device) = &result.proof.device {
                let (kib, flushes) = (device.bytes_written >> 10, device.flushes.unwrap_or(0));
                line += &format!(" device {} {} {kib} {flushes}", device.reads, device.writes);
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
        "pattern = \"randrw\"; read_percent = 70; depth = 16; jobs = 2; sync = \"fsync\"; sync_every = 16",
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
    let drives = ["sim:disk-7200rpm-cache-on", "sim:disk-7200rpm-cache-off", "sim:usb-stick", "sim:cloud-volume"];
    let tests = [
        "pattern = \"read\"; block = \"64KiB\"",
        "pattern = \"randread\"; depth = 16",
        "pattern = \"randwrite\"; depth = 4",
        "pattern = \"randwrite\"; block = 512; sync = \"fsync\"",
        "pattern = \"write\"; streams = 4; block = \"16KiB\"",
        "pattern = \"rw\"; rate = 200; arrivals = \"poisson\"; sync = \"fdatasync\"; sync_every = 4",
    ];
    let second = "size = \"4GiB\"\ntime = \"1s\"\nwarm_up = \"10ms\"";
    insta::assert_snapshot!(figures(&drives, second, &tests), @"
    disk-7200rpm-cache-on read 64 KiB, depth 1, jobs 1: 3230 in 1000.233 r 309.61 6569.98 device 3230 0 0 0
    disk-7200rpm-cache-on randread 4 KiB, depth 16, jobs 1: 575 in 1034.350 r 28282.44 213123.07 device 575 0 0 0
    disk-7200rpm-cache-on randwrite 4 KiB, depth 4, jobs 1: 14830 in 1000.226 w 269.67 271.87 device 0 14830 59320 0
    disk-7200rpm-cache-on randwrite 512 B, fsync=1, depth 1, jobs 1: 70 in 1004.388 w 62.93 62.94 s 14285.39 18153.47 c 14348.00 18202.62 device 0 70 35 70
    disk-7200rpm-cache-on write 16 KiB, 4 streams, depth 1, jobs 1: 10895 in 1000.008 w 91.81 91.84 device 0 10895 174320 0
    disk-7200rpm-cache-on rw 50% reads 4 KiB, fdatasync=4, depth 1, jobs 1: 177 in 1001.351 r 4862.56 19595.26 w 1420.44 11075.58 s 4511.26 8273.92 c 42204.98 71630.85 device 97 80 320 20
    disk-7200rpm-cache-off read 64 KiB, depth 1, jobs 1: 3230 in 1000.233 r 309.61 6569.98 device 3230 0 0 0
    disk-7200rpm-cache-off randread 4 KiB, depth 16, jobs 1: 575 in 1034.350 r 28282.44 213123.07 device 575 0 0 0
    disk-7200rpm-cache-off randwrite 4 KiB, depth 4, jobs 1: 296 in 1022.950 w 13670.78 62980.10 device 0 296 1184 0
    disk-7200rpm-cache-off randwrite 512 B, fsync=1, depth 1, jobs 1: 70 in 1004.388 w 14347.76 18202.62 s 0.70 0.70 c 14348.00 18202.62 device 0 70 35 0
    disk-7200rpm-cache-off write 16 KiB, 4 streams, depth 1, jobs 1: 137 in 1001.733 w 7310.55 8601.60 device 0 137 2192 0
    disk-7200rpm-cache-off rw 50% reads 4 KiB, fdatasync=4, depth 1, jobs 1: 172 in 1001.261 r 42414.95 96010.24 w 44427.66 101122.05 s 0.70 0.70 c 83015.14 125304.83 device 96 76 304 0
    usb-stick read 64 KiB, depth 1, jobs 1: 700 in 1001.119 r 1430.02 1430.53 device 700 0 0 0
    usb-stick randread 4 KiB, depth 16, jobs 1: 1357 in 1011.659 r 11865.71 11935.74 device 1357 0 0 0
    usb-stick randwrite 4 KiB, depth 4, jobs 1: 13 in 1326.844 w 371596.68 627572.73 device 0 13 52 0
    usb-stick randwrite 512 B, fsync=1, depth 1, jobs 1: 10 in 1042.428 w 104245.45 181665.79 s 0.70 0.70 c 104245.45 181665.79 device 0 10 5 0
    usb-stick write 16 KiB, 4 streams, depth 1, jobs 1: 322 in 1000.271 w 3106.60 107872.26 device 0 322 5152 0
    usb-stick rw 50% reads 4 KiB, fdatasync=4, depth 1, jobs 1: 179 in 1000.000 r 6994.29 96010.24 w 10256.78 107675.65 s 0.70 0.70 c 44334.18 111542.27 device 98 81 324 0
    cloud-volume read 64 KiB, depth 1, jobs 1: 1371 in 1000.391 r 729.86 730.11 device 1371 0 0 0
    cloud-volume randread 4 KiB, depth 16, jobs 1: 6014 in 1002.585 r 2664.87 2922.49 device 6014 0 0 0
    cloud-volume randwrite 4 KiB, depth 4, jobs 1: 6002 in 1000.635 w 666.92 972.80 device 0 6002 24008 0
    cloud-volume randwrite 512 B, fsync=1, depth 1, jobs 1: 1980 in 1000.415 w 454.53 454.65 s 50.70 50.72 c 505.22 505.34 device 0 1980 990 1980
    cloud-volume write 16 KiB, 4 streams, depth 1, jobs 1: 1873 in 1000.032 w 533.76 534.01 device 0 1873 29968 0
    cloud-volume rw 50% reads 4 KiB, fdatasync=4, depth 1, jobs 1: 179 in 1000.000 r 435.95 832.51 w 505.98 1247.23 s 50.70 50.72 c 37431.40 69992.45 device 98 81 324 20
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
    enterprise-nvme,filesystem=ext4 randwrite 4 KiB, fsync=1, depth 1, jobs 4: 29349 in 100.026 w 12.66 17.54 s 0.97 30.89 c 13.63 45.79 device 0 29653 119220 0
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
    consumer-sata,filesystem=ext4 randwrite 4 KiB, fsync=1, depth 1, jobs 4: 84 in 100.127 w 71.11 95.81 s 4696.06 4722.69 c 4769.79 4771.84 device 0 126 588 42
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
    let hosts =
        ["sim:enterprise-nvme,filesystem=ext4,capacity=4GiB", "sim:consumer-sata,filesystem=ext4,capacity=4GiB"];
    let tests = [
        "name = \"append\"; files = { log = { size = \"64MiB\", layout = \"append\" } }; \
         steps = [\"write log append 3000B\", \"sync log fdatasync\"]",
        "name = \"rename\"; files = { data = { size = \"64MiB\" }, tmp = { size = \"1MiB\" } }; \
         steps = [\"write tmp same 4KiB x3\", \"sync tmp fsync\", \"rename tmp data\", \"sync-dir\"]",
        "name = \"all kinds\"; files = { log = { direct = true, open = \"o_dsync\" }, data = {} }; jobs = 2; \
         steps = [\"write log seq 8KiB\", \"write data rand 4KiB x4\", \"truncate data 1MiB\", \"reopen data\", \
         \"unlink data\", \"sync log fsync\"]",
    ];
    insta::assert_snapshot!(figures(&hosts, "time = \"100ms\"\nwarm_up = \"10ms\"", &tests), @"
    enterprise-nvme,filesystem=ext4,capacity=4GiB append: 2705 in 100.034 w 2.38 2.38 s 34.61 35.13 c 36.98 37.50 device 0 8115 67032 0
    enterprise-nvme,filesystem=ext4,capacity=4GiB rename: 1474 in 100.042 w 2.51 2.51 s 29.17 35.13 c 67.87 67.90 device 0 7370 64856 0
    enterprise-nvme,filesystem=ext4,capacity=4GiB all kinds: 6520 in 100.017 w 4.67 15.53 s 1.34 26.50 c 30.68 58.08 device 0 6722 54584 0
    consumer-sata,filesystem=ext4,capacity=4GiB append: 22 in 104.147 w 2.38 2.38 s 4731.44 4739.07 c 4734.42 4743.17 device 0 66 544 44
    consumer-sata,filesystem=ext4,capacity=4GiB rename: 11 in 103.571 w 2.51 2.51 s 4702.21 4739.07 c 9416.70 9420.80 device 0 55 484 44
    consumer-sata,filesystem=ext4,capacity=4GiB all kinds: 28 in 100.131 w 485.95 2469.89 s 4716.54 4767.74 c 7153.66 7155.71 device 0 56 560 56
    ");
}
