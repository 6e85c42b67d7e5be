//! Python packages that read exported results, in a separate environment.

use std::path::Path;

use testbed::system;

/// DuckDB, which the documentation names, in the version that its queries were tried with.
pub const DUCKDB: &str = "duckdb==2.0.1";
pub const PYARROW: &str = "pyarrow==26.0.1";
pub const PANDAS: &str = "pandas==3.1.1";

/// The Python interpreter of a new environment with these packages from PyPI; `None`, with a
/// message, if they cannot be installed.
pub fn with_packages(test: &str, place: &Path, packages: &[&str]) -> Option<String> {
    let venv = place.join("venv").to_string_lossy().into_owned();
    let pip = format!("{venv}/bin/pip");
    let install = [&["install", "--quiet", "--disable-pip-version-check"], packages].concat();
    let installed = system("python3", &["-m", "venv", &venv]).and_then(|_| system(&pip, &install));
    if let Err(reason) = installed {
        eprintln!("skipped: {test} ({}): {reason}", packages.join(", "));
        return None;
    }
    Some(format!("{venv}/bin/python"))
}
