//! The daemons of the cluster.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail, ensure};

use super::drive::EmulatedDrive;

/// Size of each drive, of which little is written.
const CAPACITY: &str = "capacity=4GiB";
/// The same of a file.
const FILE_BYTES: u64 = 4 << 30;
/// The directory whose files are in memory.
const MEMORY: &str = "/dev/shm";
/// From the start of the daemons until all OSDs are up.
const PATIENCE: Duration = Duration::from_mins(2);

/// The storage of the OSDs' data.
#[derive(Debug, Clone, Copy)]
pub enum Storage<'a> {
    /// BlueStore on emulated drives, one OSD for each of these models (names or files).
    Emulated { binary: &'a Path, models: &'a [&'a str] },
    /// BlueStore on files in memory.
    Files { osds: usize },
    /// No BlueStore: objects in the OSDs' memory.
    Objects { osds: usize },
}

impl Storage<'_> {
    const fn osds(self) -> usize {
        match self {
            Storage::Emulated { models, .. } => models.len(),
            Storage::Files { osds } | Storage::Objects { osds } => osds,
        }
    }

    const fn objectstore(self) -> &'static str {
        match self {
            Storage::Emulated { .. } | Storage::Files { .. } => "bluestore",
            Storage::Objects { .. } => "memstore",
        }
    }
}

/// A running cluster. Dropping it ends the daemons and removes their data.
pub struct Cluster {
    osds: usize,
    /// The OSDs' drives; dropped after the daemons have ended.
    drives: Vec<EmulatedDrive>,
    directory: tempfile::TempDir,
}

impl Cluster {
    pub fn start(storage: Storage<'_>) -> anyhow::Result<Cluster> {
        let mut place = tempfile::Builder::new();
        place.prefix("flushmark-ceph-");
        // Not below `target`: the paths of sockets are limited to 108 bytes.
        let directory = match storage {
            Storage::Files { .. } => place.tempdir_in(MEMORY)?,
            Storage::Emulated { .. } | Storage::Objects { .. } => place.tempdir()?,
        };
        let mut cluster = Cluster { osds: storage.osds(), drives: Vec::new(), directory };
        let begun = Instant::now();
        cluster.begin(storage.objectstore())?;
        let mut prepared = Vec::new();
        for osd in 0..cluster.osds {
            let block = cluster.block(storage, osd)?;
            prepared.push((osd, cluster.prepare_osd(osd, block.as_deref())?));
        }
        // An empty BlueStore takes seconds, most of which are flushes of its drive.
        std::thread::scope(|scope| {
            let cluster = &cluster;
            let starting: Vec<_> = prepared
                .into_iter()
                .map(|(osd, uuid)| scope.spawn(move || cluster.begin_osd(osd, &uuid)))
                .collect();
            starting.into_iter().try_for_each(|started| {
                started.join().map_err(|_| anyhow!("a thread stopped unexpectedly"))?
            })
        })?;
        cluster.wait_for_osds()?;
        eprintln!("{} OSDs up after {:.0} s", cluster.osds, begun.elapsed().as_secs_f64());
        Ok(cluster)
    }

    pub const fn osds(&self) -> usize {
        self.osds
    }

    pub fn conf(&self) -> PathBuf {
        self.file("ceph.conf")
    }

    /// The emulated drive of an OSD.
    pub fn drive(&self, osd: usize) -> Option<&Path> {
        self.drives.get(osd).map(EmulatedDrive::device)
    }

    /// The device or file of an OSD.
    fn block(&mut self, storage: Storage<'_>, osd: usize) -> anyhow::Result<Option<PathBuf>> {
        match storage {
            Storage::Emulated { binary, models } => {
                let place = self.file(&format!("drive.{osd}"));
                let model = format!("{},{CAPACITY}", models[osd]);
                self.drives.push(EmulatedDrive::start(binary, &place, &model)?);
                Ok(self.drive(osd).map(Path::to_owned))
            }
            Storage::Files { .. } => {
                let path = self.file(&format!("block.{osd}"));
                fs::File::create(&path)?.set_len(FILE_BYTES)?;
                Ok(Some(path))
            }
            Storage::Objects { .. } => Ok(None),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Starts the monitor and the manager.
    fn begin(&self, objectstore: &str) -> anyhow::Result<()> {
        let place = self.directory.path().display().to_string();
        let (messenger_2, messenger_1) = (free_port()?, free_port()?);
        let monitors = format!("[v2:127.0.0.1:{messenger_2},v1:127.0.0.1:{messenger_1}]");
        let fsid = fs::read_to_string("/proc/sys/kernel/random/uuid")?.trim().to_owned();
        fs::write(self.conf(), conf(&place, &fsid, &monitors, objectstore))?;
        let (map, keyring) = (self.file("monmap"), self.file("keyring"));
        let (map, keyring) = (map.display().to_string(), keyring.display().to_string());
        let generate = ["--create", "--fsid", &fsid, "--addv", "a", &monitors, &map];
        self.run("monmaptool", &generate)?;
        self.run(
            "ceph-authtool",
            &["--create-keyring", &keyring, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *"],
        )?;
        self.run(
            "ceph-authtool",
            &[
                &keyring, "--gen-key", "-n", "client.admin", "--cap", "mon", "allow *", "--cap",
                "osd", "allow *", "--cap", "mgr", "allow *",
            ],
        )?;
        self.run("ceph-mon", &["--mkfs", "-i", "a", "--monmap", &map, "--keyring", &keyring])?;
        self.run("ceph-mon", &["-i", "a"])?;
        fs::create_dir(self.file("mgr.x"))?;
        self.run("ceph-mgr", &["-i", "x"])?;
        Ok(())
    }

    /// Registers an OSD and makes its directory; returns its UUID.
    fn prepare_osd(&self, osd: usize, block: Option<&Path>) -> anyhow::Result<String> {
        let uuid = fs::read_to_string("/proc/sys/kernel/random/uuid")?.trim().to_owned();
        let number = osd.to_string();
        let data = self.file(&format!("osd.{osd}"));
        fs::create_dir(&data)?;
        if let Some(block) = block {
            symlink(block, data.join("block"))?;
        }
        self.run("ceph", &["osd", "new", &uuid, &number])?;
        Ok(uuid)
    }

    fn begin_osd(&self, osd: usize, uuid: &str) -> anyhow::Result<()> {
        let number = osd.to_string();
        self.run("ceph-osd", &["-i", &number, "--mkfs", "--osd-uuid", uuid])?;
        self.run("ceph-osd", &["-i", &number])?;
        Ok(())
    }

    fn wait_for_osds(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let text = self.run("ceph", &["osd", "stat", "--format", "json"])?;
            let stat: serde_json::Value = serde_json::from_str(&text)?;
            if stat["num_up_osds"] == self.osds {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        bail!("the OSDs did not come up within {PATIENCE:?}")
    }

    /// Runs one of Ceph's programs to its end, or until it has become a daemon; returns its stdout.
    pub fn run(&self, program: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let output = Command::new(program)
            .args(arguments)
            .env("CEPH_CONF", self.conf())
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot start {program}"))?;
        ensure!(
            output.status.success(),
            "{program} {} ended with {}: {}",
            arguments.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The daemons that have written the file with their number.
    fn daemons(&self) -> Vec<String> {
        let files = fs::read_dir(self.directory.path()).into_iter().flatten().flatten();
        let numbered = files.filter(|file| file.path().extension().is_some_and(|end| end == "pid"));
        let number = |file: fs::DirEntry| fs::read_to_string(file.path()).ok();
        numbered.filter_map(number).map(|number| number.trim().to_owned()).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for number in self.daemons() {
            let _ = Command::new("kill").args(["-KILL", &number]).status();
        }
        // Their drives can be removed once they are gone.
        let begun = Instant::now();
        let is_there = |number: &String| Path::new("/proc").join(number).exists();
        while self.daemons().iter().any(is_there) && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// One monitor needs no time to gather changes before it proposes them (1 s by default), and tests
/// wait for what the manager hears of new pools (every 5 s by default).
fn conf(place: &str, fsid: &str, monitors: &str, objectstore: &str) -> String {
    format!(
        "[global]
fsid = {fsid}
mon host = {monitors}
mon initial members = a
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
auth cluster required = none
auth service required = none
auth client required = none
keyring = {place}/keyring
run dir = {place}
pid file = {place}/$name.pid
log file = {place}/$name.log
admin socket = {place}/$name.$pid.asok
mon data = {place}/mon.$id
mgr data = {place}/mgr.$id
osd data = {place}/osd.$id
mon data avail warn = 1
mon data avail crit = 0
osd objectstore = {objectstore}
bluestore block create = false
osd memory target = 939524096
osd crush chooseleaf type = 0
rbd cache = false
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon allow pool delete = true
mon warn on pool no redundancy = false
paxos propose interval = 0.05
paxos min wait = 0.01
mgr tick period = 1
mgr stats period = 1
auth allow insecure global id reclaim = false
"
    )
}
