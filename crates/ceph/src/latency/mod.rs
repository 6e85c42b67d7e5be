//! The time of a write, divided by cause with the counters of the OSD that served it.
//!
//! An OSD counts sums and numbers of latencies from its start. Two `perf dump`s around a
//! measurement give the means in between ([`PerfDump::since`]), and [`Decomposition::of`] divides a
//! client's mean latency among them.
//!
//! ## What contains what
//!
//! For a write that its primary OSD serves:
//!
//! ```text
//! client's latency                                                     measured by the client
//! ├─ network, messengers and client library                            the rest
//! └─ op_w_latency                       message received … reply sent
//!    ├─ op_before_dequeue_op_lat        received … PG locked; equals op_w_latency - op_w_process
//!    │  └─ op_before_queue_op_lat       received … put into the queue of a shard
//!    └─ op_w_process_latency            PG locked … reply sent
//!       ├─ op_w_prepare_latency         PG locked … transaction handed to BlueStore
//!       │  └─ submit_lat                BlueStore's part of that
//!       │     └─ state_prepare_lat      allocation, checksums, encoding
//!       │        └─ throttle_lat        wait for bluestore_throttle_bytes
//!       ├─ commit_lat                   BlueStore: transaction made … durable; overlaps the end of
//!       │  │                            op_w_prepare_latency, and is the sum of
//!       │  ├─ state_prepare_lat
//!       │  ├─ state_aio_wait_lat        data written to its place (not if deferred)
//!       │  ├─ state_io_done_lat         wait for earlier transactions of the same PG
//!       │  ├─ state_kv_queued_lat       wait for the commit thread, which then flushes:
//!       │  │  └─ kv_flush_lat           flush of the data device (not if deferred)
//!       │  └─ state_kv_committing_lat   RocksDB
//!       │     └─ kv_commit_lat
//!       │        └─ rocksdb submit_sync_latency    WAL written and flushed by BlueFS
//!       └─ copies on other OSDs         at the same time as commit_lat; their subop_w_latency is
//!                                       counted there
//! ```
//!
//! `kv_sync_lat` is `kv_flush_lat + kv_commit_lat`. The `state_deferred_*_lat` pass after the
//! client has its reply, and are part of nothing here.
//!
//! Sources: `BlueStore::queue_transactions`, `_txc_state_proc`, `_txc_committed_kv`,
//! `_kv_sync_thread` (src/os/bluestore/BlueStore.cc), `OSD::enqueue_op` and `dequeue_op`
//! (src/osd/OSD.cc), `PrimaryLogPG::log_op_stats` and `do_op` (src/osd/PrimaryLogPG.cc). A run
//! against 16.2.15 confirms it (tests/captures): one client, 10,156 writes, where the five states
//! add up to `commit_lat` within 0.1 %, and `op_w_latency - op_w_process_latency` equals
//! `op_before_dequeue_op_lat` within 1 %.
//!
//! ## Two kinds of means
//!
//! `state_*` are counted for each transaction, `kv_*` for each pass of the commit thread, which
//! commits all transactions that have arrived. With b transactions in a pass, b - 1 arrived while
//! it was busy with others, and what they waited beyond `kv_flush_lat` and `kv_commit_lat` was time
//! of the device. That share, 1 - 1/b, of the excess is therefore the device's; the remainder is
//! the waking of threads. With one client at depth 1, b is 1.
//!
//! The counters of BlueStore include transactions of others: copies for other primaries, peering,
//! snapshots. [`Decomposition::foreign_transactions`] reports how many there were per write.

mod decomposition;
mod perf;

pub use decomposition::{Cause, ClientWrites, Decomposition, Part, Share};
pub use perf::{Counter, Mean, PerfDifference, PerfDump, Restarted};
