//! Database servers that encrypt connections, and `flushmark db` as one whose URL says what to
//! verify.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use testbed::Certificate;

use super::drive::EmulatedDrive;
use super::session::Session;
use super::{Database, Durability, trial};

/// The verification that a URL asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// Encryption, with any certificate.
    Nothing,
    /// A certificate that the authority has signed.
    Authority,
    /// That also names the host.
    Name,
}

/// Exit code of errors for which the system, not the user, is to blame.
const FAILED: i32 = 4;

/// The outcome of a connection.
enum End {
    Connected,
    /// With these words.
    Refused(&'static str),
}

pub fn run(
    database: &'static dyn Database,
    template: &Path,
    binary: &Path,
    seed: u64,
) -> anyhow::Result<String> {
    let directory = super::directory()?;
    let drive = EmulatedDrive::start(binary, directory.path(), None, seed)?;
    let mut place = trial::lay_out(database, template, &drive, directory.path())?;
    let certificates = ["own", "stranger's"].map(|whose| {
        let directory = place.elsewhere.join(whose);
        std::fs::create_dir(&directory)?;
        let certificate = Certificate::make(&directory);
        trial::give(database, &directory)?;
        anyhow::Ok(certificate)
    });
    let [own, strangers] = certificates;
    let (own, strangers) = (own?, strangers?);
    place.port = Some(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port());
    let connect = |host: &str, verification, authority: &Path, end: End| -> anyhow::Result<()> {
        let url = database.url_over_tls(&place, host, verification, authority);
        let url = url.context("the database has no server")?;
        let mut command = Command::new(binary);
        command.args(["db", "commits", &url, "--clients", "1", "--time", "100ms"]);
        command.args(["--busy", "--store", "none", "--quiet"]);
        let output = command.stdin(Stdio::null()).output().context("cannot start flushmark")?;
        let said = String::from_utf8_lossy(&output.stderr);
        let (code, words) = match end {
            End::Connected => (0, ""),
            End::Refused(words) => (FAILED, words),
        };
        ensure!(output.status.code() == Some(code), "{url}: {:?}: {said}", output.status);
        ensure!(said.contains(words), "{url}: no `{words}` in {said}");
        Ok(())
    };

    let session = Session::open(database, &place, Durability::On)?;
    let plain = End::Refused("cannot be connected to with this TLS mode");
    connect("localhost", Verification::Nothing, &own.authority, plain)
        .context("a server that does not encrypt")?;
    drop(session);

    let encrypting = database.encrypting(&own);
    let arguments: Vec<&str> = encrypting.iter().map(String::as_str).collect();
    let _session = Session::open_with(database, &place, Durability::On, &arguments)?;
    let authority = &own.authority;
    connect("localhost", Verification::Name, authority, End::Connected)?;
    connect("127.0.0.1", Verification::Authority, authority, End::Connected)?;
    connect("127.0.0.1", Verification::Nothing, authority, End::Connected)?;
    let misnamed = End::Refused("not valid for name");
    connect("127.0.0.1", Verification::Name, authority, misnamed)?;
    let stranger = || End::Refused("invalid peer certificate");
    connect("localhost", Verification::Authority, &strangers.authority, stranger())?;
    connect("localhost", Verification::Name, &strangers.authority, stranger())?;
    Ok("encrypted, verified by authority and name; wrong name, wrong authority, no encryption \
        refused"
        .to_owned())
}
