//! Files that are generated from the code. Tests compare the committed ones with the code.

use anyhow::Context as _;

use crate::command::root;

pub fn write() -> anyhow::Result<()> {
    let pretty =
        |value: &serde_json::Value| serde_json::to_string_pretty(value).map(|text| text + "\n");
    let run = serde_json::to_value(measurement::document::json_schema())?;
    let files = [
        ("crates/catalogue/adjustments.toml", simdrive::adjustments()),
        ("docs/plan.md", workload::plan::reference()),
        ("docs/fio.md", workload::fio::reference()),
        ("docs/models.md", crate::reproduce::page()?),
        ("schemas/plan-1.json", pretty(&workload::plan::json_schema())?),
        ("schemas/run-1.json", pretty(&run)?),
        ("schemas/compare-1.json", pretty(&serde_json::to_value(compare::json_schema())?)?),
        (
            "schemas/ceph-sizing-1.json",
            pretty(&serde_json::to_value(ceph::sizing::json_schema())?)?,
        ),
        (
            "schemas/ceph-tell-bench-1.json",
            pretty(&serde_json::to_value(ceph::osd_bench::json_schema())?)?,
        ),
        (
            "schemas/ceph-layout-1.json",
            pretty(&serde_json::to_value(measurement::ceph_document::layout_schema())?)?,
        ),
        (
            "schemas/ceph-check-1.json",
            pretty(&serde_json::to_value(measurement::ceph_document::check_schema())?)?,
        ),
        (
            "schemas/host-1.json",
            pretty(&serde_json::to_value(measurement::host_document::json_schema())?)?,
        ),
        (
            "schemas/results-1.json",
            pretty(&serde_json::to_value(store::list_document::json_schema())?)?,
        ),
        ("fleet/grafana/flushmark.json", pretty(&formats::grafana::dashboard())?),
        ("schemas/fleet-1.json", pretty(&serde_json::to_value(fleet::document::json_schema())?)?),
        ("schemas/db-predict-1.json", pretty(&serde_json::to_value(predict::json_schema())?)?),
        ("schemas/verify-1.json", pretty(&serde_json::to_value(verify::document::json_schema())?)?),
        (
            "schemas/trace-1.json",
            pretty(&serde_json::to_value(measurement::trace_document::json_schema())?)?,
        ),
        (
            "schemas/drives-1.json",
            pretty(&serde_json::to_value(measurement::drives_document::json_schema())?)?,
        ),
    ];
    for (name, text) in files {
        let path = root().join(name);
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        std::fs::write(&path, text).with_context(|| format!("cannot write {name}"))?;
        println!("{name}");
    }
    Ok(())
}
