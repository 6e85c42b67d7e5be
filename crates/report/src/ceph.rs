//! Pages about Ceph, one file per subcommand.

mod check;
mod layout;
mod osds;
mod sizing;
mod tell_bench;

pub use check::check as ceph_check_page;
pub use layout::layout as ceph_layout_page;
pub use osds::osds as ceph_osds_page;
pub use sizing::ceph_sizing_page;
pub use tell_bench::tell_bench as ceph_tell_bench_page;
