//! `flushmark manual`: the manual pages.

use anyhow::Context as _;
use clap::CommandFactory as _;
use clidocs::manual::{Entry, Manual};

use crate::args::Args;
use crate::args::installation::ManualArgs;
use crate::build_info;
use crate::exit::ExitStatus;
use crate::help::GROUPS;

/// The parts of the manual that are not in the definition of the command line.
const MANUAL: Manual<'_> = Manual {
    source: concat!("flushmark ", env!("CARGO_PKG_VERSION")),
    date: build_info::DATE,
    groups: &GROUPS,
    files: &[
        Entry {
            name: "~/.config/flushmark/config.toml",
            meaning: "`store`, `host` and `color`, if neither an option nor a variable sets them; \
                      below $XDG_CONFIG_HOME if that is set",
            option: Some("store"),
        },
        Entry {
            name: "~/.local/share/flushmark/results.db",
            meaning: "the store of a user's runs, below $XDG_DATA_HOME if that is set",
            option: Some("store"),
        },
        Entry {
            name: "~/.local/state/flushmark",
            meaning: "runs that their store did not accept, until `flushmark results push`; below \
                      $XDG_STATE_HOME if that is set",
            option: Some("store"),
        },
        Entry {
            name: "~/.local/share/flushmark/catalogue",
            meaning: "a user's own entries of the catalogue, below $XDG_DATA_HOME if that is set",
            option: Some("catalogue"),
        },
        Entry {
            name: "~/.pgpass, ~/.my.cnf",
            meaning: "passwords of database servers",
            option: Some("store"),
        },
        Entry {
            name: "/var/lib/flushmark",
            meaning: "settings of write caches to restore, and the results of \
                      flushmark-check.service",
            option: Some("in-use"),
        },
        Entry {
            name: "/etc/flushmark/check.conf",
            meaning: "targets of flushmark-check.service, which flushmark-check.timer starts weekly",
            option: None,
        },
    ],
    environment: &[
        Entry {
            name: "FLUSHMARK_STORE",
            meaning: "the store of runs if `--store` is not given; `none` keeps nothing",
            option: Some("store"),
        },
        Entry {
            name: "FLUSHMARK_HOST",
            meaning: "the name of this machine in stored runs, such as that of a container's host",
            option: Some("store"),
        },
        Entry {
            name: "FLUSHMARK_CATALOGUE",
            meaning: "the directory of your own entries of the catalogue",
            option: Some("catalogue"),
        },
        Entry {
            name: "FLUSHMARK_STATE_DIR",
            meaning: "a directory to use instead of /var/lib/flushmark",
            option: Some("in-use"),
        },
        Entry {
            name: "PGPASSWORD, PGPASSFILE",
            meaning: "the password of a PostgreSQL server, or the file that has it",
            option: Some("store"),
        },
        Entry { name: "MYSQL_PWD", meaning: "the password of a MySQL server", option: None },
        Entry {
            name: "NO_COLOR",
            meaning: "if set, the output has no colours unless `--color always` is given",
            option: Some("color"),
        },
        Entry {
            name: "XDG_RUNTIME_DIR",
            meaning: "where a run publishes its progress for `flushmark web`, if that is in memory, \
                      instead of /run (root) or /dev/shm",
            option: None,
        },
        Entry { name: "BROWSER", meaning: "the browser of `--open`", option: Some("open") },
    ],
    see_also: &["prefixsort", "fio"],
};

/// Writes one page for flushmark and one for each verb.
pub fn run(args: &ManualArgs) -> anyhow::Result<ExitStatus> {
    let directory = &args.directory;
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    for page in MANUAL.pages(Args::command()) {
        let path = directory.join(page.file_name);
        std::fs::write(&path, page.roff)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(ExitStatus::Done)
}
