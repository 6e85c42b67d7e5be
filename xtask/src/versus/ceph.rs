//! `cargo xtask versus ceph`: flushmark as a client of a real cluster, compared with a program on
//! librados that does what ceph-gobench does, and with fio's engine `rbd`.
//!
//! The OSDs are BlueStore on files in memory. Emulated drives would take processor time from the
//! client on the same processors, and a real drive would add its noise to both sides. In memory, the
//! client's share of a write is as large as it can be, so a slower client shows.
//!
//! | rows | ours | compared with |
//! | --- | --- | --- |
//! | OSDs | `ceph osds`, one OSD and all in parallel | `ceph/per_osd.c`, one thread per OSD |
//! | image | `run` on `rbd:POOL/IMAGE` | `fio --ioengine=rbd` |
//! | names | `rados::Placement` on the list of PGs | the monitors, asked for each name |
//! | memory | `ceph osds --parallel` with more and more OSDs | `ceph/per_osd.c` |

mod clients;
mod memory;
mod names;

use std::path::{Path, PathBuf};

use anyhow::bail;

use self::clients::{Client, Sample};
use super::{Compared, Shared, Wanted, and_build, in_turns, print};
use crate::build;
use crate::command::is_there;
use crate::rig::ceph::PACKAGES;
use crate::rig::ceph::cluster::{Cluster, Storage};
use crate::rig::ceph::place::Place;
use crate::{command, packages};

/// Packages that are needed here but not by the rig.
const MORE_PACKAGES: [&str; 4] = ["librados-dev", "gcc", "libc6-dev", "fio"];
const OSDS: [u32; 3] = [0, 1, 2];
const POOL: &str = "versus";
const IMAGE: &str = "image";

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    #[command(flatten)]
    shared: Shared,

    /// OSDs of the cluster on which memory is measured; with fewer than 100, the figure for 100 is
    /// extrapolated
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(2..=100))]
    many: u32,

    /// The fio to compare with, built with librbd
    #[arg(long, default_value = "fio")]
    fio: String,
}

/// Runs the rows and prints the table. Fails if a program is missing or a measurement fails, not if
/// a ratio falls short.
pub fn run(options: &Options) -> anyhow::Result<()> {
    packages::install(&PACKAGES)?;
    packages::install(&MORE_PACKAGES)?;
    if !is_there(&options.fio, &["--enghelp=rbd"]) {
        bail!("{} has no engine rbd; install Debian's (apt-get install fio)", options.fio);
    }
    let flushmark = build::flushmark()?;
    let directory = tempfile::tempdir()?;
    let per_osd = compiled(directory.path())?;
    let mut table = Vec::new();
    if ROWS.iter().any(|row| options.shared.wants(row.name())) || options.shared.wants(names::ROW) {
        let cluster = Cluster::start(Storage::Files { osds: OSDS.len() })?;
        let place = Place::new(&cluster, POOL, 1)?;
        place.make_image(IMAGE)?;
        for row in ROWS.into_iter().filter(|row| options.shared.wants(row.name())) {
            eprintln!("{}", row.name());
            table.extend(compare(row, &place, flushmark, &per_osd, options)?);
        }
        if options.shared.wants(names::ROW) {
            table.push(names::compare(&place)?);
        }
    }
    if options.shared.wants(memory::ROW) {
        let clients = [Client::Flushmark(flushmark), Client::PerOsd(&per_osd)];
        table.push(memory::compare(clients, options.many)?);
    }
    print(&table);
    Ok(())
}

/// Compiles the program that does what ceph-gobench does.
fn compiled(directory: &Path) -> anyhow::Result<PathBuf> {
    let program = directory.join("per_osd");
    let source = command::root().join("xtask/src/versus/ceph/per_osd.c");
    let (source, out) = (source.to_string_lossy(), program.to_string_lossy());
    command::output("gcc", &["-O2", "-o", &out, &source, "-lrados", "-lpthread"])?;
    Ok(program)
}

/// 4 KiB overwrites at random, one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    OneOsd,
    Parallel,
    Image,
}

const ROWS: [Row; 3] = [Row::OneOsd, Row::Parallel, Row::Image];

impl Row {
    const fn name(self) -> &'static str {
        match self {
            Row::OneOsd => "one OSD, depth 1",
            Row::Parallel => "three OSDs in parallel",
            Row::Image => "image, depth 1",
        }
    }

    const fn osds(self) -> &'static [u32] {
        match self {
            Row::OneOsd => &[OSDS[0]],
            Row::Parallel | Row::Image => &OSDS,
        }
    }

    fn measure(
        self,
        client: &Client<'_>,
        place: &Place<'_>,
        seconds: u32,
    ) -> anyhow::Result<Sample> {
        match self {
            Row::OneOsd | Row::Parallel => client.on_osds(place, self.osds(), seconds),
            Row::Image => client.on_image(place, IMAGE, seconds),
        }
    }

    /// The figures that are compared with a peer's.
    fn figures(self) -> Vec<Figure> {
        let rate = if self == Row::Image { Wanted::Within(0.1) } else { Wanted::AtLeast(1.0) };
        let mut figures: Vec<Figure> = vec![
            ("IOPS", |sample| sample.iops, rate),
            ("CPU µs per write", |sample| sample.cpu_us, Wanted::AtMost(1.0)),
        ];
        if self == Row::Image {
            figures.push(("mean latency, µs", |sample| sample.mean_us, Wanted::AtMost(1.0)));
        }
        figures
    }
}

type Figure = (&'static str, fn(&Sample) -> f64, Wanted);

fn compare(
    row: Row,
    place: &Place<'_>,
    flushmark: &Path,
    per_osd: &Path,
    options: &Options,
) -> anyhow::Result<Vec<Compared>> {
    let peer = match row {
        Row::OneOsd | Row::Parallel => Client::PerOsd(per_osd),
        Row::Image => Client::Fio(&options.fio),
    };
    let mut clients = vec![Client::Flushmark(flushmark), peer];
    clients.extend(options.shared.builds.iter().map(|build| Client::Flushmark(build)));
    let iops: fn(&Sample) -> f64 = |sample| sample.iops;
    let samples = in_turns(options.shared.rounds, &clients, iops, |client| {
        row.measure(client, place, options.shared.seconds)
    })?;
    let mut lines = Vec::new();
    for (client, theirs) in clients.iter().zip(&samples).skip(1) {
        let both = [&samples[0][..], theirs];
        match client {
            Client::Flushmark(build) => {
                let what = and_build("IOPS", build);
                lines.push(Compared::medians(row.name(), what, both, iops, Wanted::BUILD_RATE));
            }
            Client::PerOsd(_) | Client::Fio(_) => {
                lines.extend(row.figures().into_iter().map(|(what, figure, wanted)| {
                    Compared::medians(row.name(), what, both, figure, wanted)
                }));
            }
        }
    }
    Ok(lines)
}
