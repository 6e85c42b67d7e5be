//! The crates that are compiled into the programs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use anyhow::Context as _;
use serde::Deserialize;
use toml_edit::DocumentMut;

use super::portable;
use crate::command::{output, root};

/// A crate.
#[derive(Debug)]
pub struct Dependency {
    pub name: String,
    pub version: String,
    /// As in its manifest, with `OR` and `AND`; `None` if there is only a file.
    pub licence: Option<String>,
    pub authors: Vec<String>,
    pub repository: Option<String>,
    pub directory: PathBuf,
    /// The hash of the archive that the registry serves; `None` for a crate of this workspace.
    pub sha256: Option<String>,
    /// Its own dependencies, as indices.
    pub needs: BTreeSet<usize>,
}

impl Dependency {
    pub fn is_ours(&self) -> bool {
        self.sha256.is_none()
    }
}

/// All crates of programs, by name and version.
#[derive(Debug)]
pub struct Dependencies(pub Vec<Dependency>);

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    #[serde(default)]
    authors: Vec<String>,
    repository: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// `None` for what is compiled in, else `build` or `dev`.
    kind: Option<String>,
}

impl Dependencies {
    pub fn of(programs: &[&str]) -> anyhow::Result<Dependencies> {
        let options = [
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--filter-platform",
            portable::TARGET,
        ];
        let metadata: Metadata = serde_json::from_str(&output("cargo", &options)?)
            .context("cannot read what cargo metadata prints")?;
        let lock = std::fs::read_to_string(root().join("Cargo.lock")).context("no Cargo.lock")?;
        let lock: DocumentMut = lock.parse().context("cannot read Cargo.lock")?;
        Ok(Self::from_metadata(&metadata, &checksums(&lock), programs))
    }

    fn from_metadata(
        metadata: &Metadata,
        checksums: &HashMap<(String, String), String>,
        programs: &[&str],
    ) -> Dependencies {
        let nodes: HashMap<&str, &Node> =
            metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        let compiled_in = |id: &str| -> Vec<&str> {
            let edges = nodes.get(id).map(|node| node.deps.as_slice()).unwrap_or_default();
            let is_compiled_in = |edge: &&Edge| edge.dep_kinds.iter().any(|it| it.kind.is_none());
            edges.iter().filter(is_compiled_in).map(|edge| edge.pkg.as_str()).collect()
        };
        let is_program = |package: &&Package| programs.contains(&package.name.as_str());
        let mut waiting: Vec<&str> =
            metadata.packages.iter().filter(is_program).map(|it| it.id.as_str()).collect();
        let mut found = BTreeSet::new();
        while let Some(id) = waiting.pop() {
            if found.insert(id) {
                waiting.extend(compiled_in(id));
            }
        }
        let mut packages: Vec<&Package> = metadata
            .packages
            .iter()
            .filter(|package| found.contains(package.id.as_str()))
            .collect();
        packages.sort_by_key(|package| (&package.name, &package.version));
        let index: BTreeMap<&str, usize> =
            packages.iter().enumerate().map(|(index, it)| (it.id.as_str(), index)).collect();
        let dependency = |package: &&Package| Dependency {
            name: package.name.clone(),
            version: package.version.clone(),
            // The older way to write a choice.
            licence: package.license.as_ref().map(|licence| licence.replace('/', " OR ")),
            authors: package.authors.clone(),
            repository: package.repository.clone(),
            directory: package.manifest_path.parent().map(PathBuf::from).unwrap_or_default(),
            sha256: checksums.get(&(package.name.clone(), package.version.clone())).cloned(),
            needs: compiled_in(&package.id)
                .iter()
                .filter_map(|id| index.get(id))
                .copied()
                .collect(),
        };
        Dependencies(packages.iter().map(dependency).collect())
    }
}

fn checksums(lock: &DocumentMut) -> HashMap<(String, String), String> {
    let packages = lock.get("package").and_then(|it| it.as_array_of_tables());
    let text = |table: &toml_edit::Table, key| Some(table.get(key)?.as_str()?.to_owned());
    let checksum =
        |table| Some(((text(table, "name")?, text(table, "version")?), text(table, "checksum")?));
    packages.into_iter().flatten().filter_map(checksum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_tests_or_builds_need_is_left_out() {
        let package = |name: &str| {
            serde_json::json!({
                "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0",
                "repository": null, "manifest_path": format!("/src/{name}/Cargo.toml"),
            })
        };
        let edge = |name: &str, kind: Option<&str>| serde_json::json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let packages = ["program", "library", "deep", "builder", "tester", "other"].map(package);
        let metadata = serde_json::json!({
            "packages": packages,
            "resolve": { "nodes": [
                { "id": "program", "deps": [
                    edge("library", None), edge("builder", Some("build")), edge("tester", Some("dev")),
                ] },
                { "id": "library", "deps": [edge("deep", None), edge("program", Some("dev"))] },
                { "id": "deep", "deps": [] },
                { "id": "other", "deps": [edge("deep", None)] },
            ] },
        });
        let lock = "[[package]]\nname = \"deep\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n";
        let checksums = checksums(&lock.parse().unwrap());
        let metadata: Metadata = serde_json::from_value(metadata).unwrap();
        let found = Dependencies::from_metadata(&metadata, &checksums, &["program"]).0;
        let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["deep", "library", "program"]);
        assert_eq!(found[1].needs, BTreeSet::from([0]));
        assert_eq!(found[0].licence.as_deref(), Some("MIT OR Apache-2.0"));
        assert_eq!((found[0].sha256.as_deref(), found[0].is_ours()), (Some("ab"), false));
        assert!(found[2].is_ours());
    }
}
