//! The list of the crates in the programs (a software bill of materials), in the format of
//! CycloneDX 1.5: scanners look up whether a vulnerability is known for one of them.

use serde_json::{Value, json};

use super::Release;
use super::dependencies::{Dependencies, Dependency};

/// In the pages that flushmark writes. From the registry of npm, where scanners know it.
const ECHARTS: (&str, &str) = ("echarts", "6.1.0");

pub fn document(dependencies: &Dependencies, release: &Release) -> anyhow::Result<String> {
    let all = &dependencies.0;
    let components = all.iter().map(component).chain([echarts()]);
    let edges = all.iter().map(|one| {
        let needs = one.needs.iter().filter_map(|index| all.get(*index)).map(reference);
        let echarts = (one.name == "pages").then(|| npm(ECHARTS));
        json!({ "ref": reference(one), "dependsOn": needs.chain(echarts).collect::<Vec<_>>() })
    });
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": release.date.to_string(),
            "component": {
                "type": "application",
                "bom-ref": "flushmark",
                "name": "flushmark",
                "version": release.version,
                "licenses": [{ "expression": env!("CARGO_PKG_LICENSE") }],
            },
        },
        "components": components.collect::<Vec<_>>(),
        "dependencies": edges.collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn component(one: &Dependency) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(one),
        "name": one.name,
        "version": one.version,
        "purl": reference(one),
        "licenses": match &one.licence {
            Some(expression) => json!([{ "expression": expression }]),
            None => json!([{ "license": { "name": "a text without a name" } }]),
        },
    });
    if let Some(sha256) = &one.sha256 {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": sha256 }]);
    }
    if let Some(repository) = &one.repository {
        component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    component
}

fn echarts() -> Value {
    json!({
        "type": "library",
        "bom-ref": npm(ECHARTS),
        "name": ECHARTS.0,
        "version": ECHARTS.1,
        "purl": npm(ECHARTS),
        "licenses": [{ "expression": "Apache-2.0" }],
    })
}

/// The package URL, which is a name for all registries.
fn reference(one: &Dependency) -> String {
    format!("pkg:cargo/{}@{}", one.name, one.version)
}

fn npm((name, version): (&str, &str)) -> String {
    format!("pkg:npm/{name}@{version}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_echarts_is_that_of_the_pages() {
        let directory = format!("crates/pages/vendor/{}-{}", ECHARTS.0, ECHARTS.1);
        assert!(crate::command::root().join(&directory).is_dir(), "{directory} does not exist");
    }
}
