//! The programs, built to run on distributions of the last eight years.
//!
//! A program that is linked on a new system needs the versions of the C library's functions that it
//! finds there. Zig's linker offers those of any older version instead.

use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};

use crate::build::target_directory;
use crate::command::{command, output, root};
use crate::packages;

pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The version of the GNU C library of 2018: RHEL 8, Debian 10, Ubuntu 20.04 and newer have it.
pub const GLIBC: (u32, u32) = (2, 28);

/// The libraries that a program may need: those of the C library, which every system has.
const LIBRARIES: [&str; 6] =
    ["libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", LOADER];
const LOADER: &str = "ld-linux-x86-64.so.2";

/// Both from PyPI, which has them as programs; the second one is a compiler for C as well.
const TOOLS: [&str; 2] = ["cargo-zigbuild==0.24.1", "ziglang==0.17.1"];

/// The programs of a package.
#[derive(Debug)]
pub struct Programs {
    pub flushmark: PathBuf,
    pub prefixsort: PathBuf,
}

impl Programs {
    /// Builds them in the profile of packages, and checks what they need.
    pub fn build() -> anyhow::Result<Programs> {
        let tools = packages::python("zig", &TOOLS)?;
        let (major, minor) = GLIBC;
        let target = format!("{TARGET}.{major}.{minor}");
        let tool = tools.join("cargo-zigbuild");
        let options = [
            "zigbuild", "--locked", "--profile", "dist", "--target", &target, "--package",
            "flushmark", "--package", "prefixsort-cli",
        ];
        let mut build =
            command(tool.to_str().context("the build directory is not UTF-8")?, &options);
        // Without the paths of this machine, the same source gives the same program elsewhere.
        let renamed = renamed_directories()?;
        let rust: Vec<String> =
            renamed.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}")).collect();
        let c: Vec<String> =
            renamed.iter().map(|(from, to)| format!("-ffile-prefix-map={from}={to}")).collect();
        build.env("CARGO_ENCODED_RUSTFLAGS", rust.join("\u{1f}"));
        build.env("CFLAGS", c.join(" "));
        let old = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(tools.clone()).chain(std::env::split_paths(&old));
        build.env("PATH", std::env::join_paths(path).context("PATH is invalid")?);
        eprintln!("$ cargo {}", options.join(" "));
        let status = build.status().context("cannot start cargo-zigbuild")?;
        ensure!(status.success(), "cargo zigbuild ended with {status}");
        let program = |name: &str| target_directory().join(TARGET).join("dist").join(name);
        let programs =
            Programs { flushmark: program("flushmark"), prefixsort: program("prefixsort") };
        for program in [&programs.flushmark, &programs.prefixsort] {
            let file = program.to_str().context("the build directory is not UTF-8")?;
            let needs = output("objdump", &["--private-headers", "--dynamic-syms", file])?;
            check(&needs).with_context(|| format!("{file} does not run on old systems"))?;
        }
        Ok(programs)
    }
}

/// Directories of this machine, and their names in programs.
fn renamed_directories() -> anyhow::Result<Vec<(String, String)>> {
    let utf8 = |path: PathBuf| path.into_os_string().into_string().ok();
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let source = root().canonicalize().context("cannot find the source")?;
    let target = target_directory();
    let target = target.canonicalize().unwrap_or(target);
    // The last one that fits is applied.
    let names = [(Some(source), "flushmark"), (Some(target), "target"), (home, "cargo")];
    let known = |(path, name): (Option<PathBuf>, &str)| Some((utf8(path?)?, format!("/{name}")));
    Ok(names.into_iter().filter_map(known).collect())
}

/// Checks what `objdump` lists: the libraries (NEEDED), and the versions of the C library's symbols.
fn check(needs: &str) -> anyhow::Result<()> {
    let libraries = needs.lines().filter_map(|line| line.trim().strip_prefix("NEEDED"));
    for library in libraries.map(str::trim) {
        ensure!(LIBRARIES.contains(&library), "it needs the library {library}");
    }
    let mut newest = None;
    for version in needs.split("GLIBC_").skip(1) {
        let version = version.split([')', ' ', '\n']).next().unwrap_or_default();
        let mut parts = version.split('.').map(str::parse);
        let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else {
            bail!("it needs GLIBC_{version}");
        };
        newest = newest.max(Some((major, minor)));
    }
    let newest = newest.context("it needs no version of the C library: is it a program?")?;
    ensure!(
        newest <= GLIBC,
        "it needs version {}.{} of the C library; expected at most {}.{}",
        newest.0,
        newest.1,
        GLIBC.0,
        GLIBC.1
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objdump(library: &str, version: &str) -> String {
        format!(
            "Dynamic Section:\n  NEEDED               libc.so.6\n  NEEDED               {library}\n\n\
             DYNAMIC SYMBOL TABLE:\n\
             0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.2.5) free\n\
             0000000000000000      DF *UND*  0000000000000000 ({version}) other\n"
        )
    }

    #[test]
    fn only_an_old_c_library_is_needed() {
        let refusal =
            |library, version| check(&objdump(library, version)).map_err(|error| error.to_string());
        assert_eq!(refusal("libm.so.6", "GLIBC_2.28"), Ok(()));
        assert_eq!(
            refusal("libm.so.6", "GLIBC_2.34").unwrap_err(),
            "it needs version 2.34 of the C library; expected at most 2.28"
        );
        assert_eq!(
            refusal("libssl.so.3", "GLIBC_2.3").unwrap_err(),
            "it needs the library libssl.so.3"
        );
        assert_eq!(refusal("libm.so.6", "GLIBC_PRIVATE").unwrap_err(), "it needs GLIBC_PRIVATE");
        assert!(check("").is_err());
    }
}
