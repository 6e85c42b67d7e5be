-- Whole distributions of the latencies in `tests`, as `Histogram::to_bytes` writes them: percentiles
-- over many runs need no results.
CREATE TABLE latencies (
    run       INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    name      INTEGER NOT NULL REFERENCES names (id),
    histogram BLOB NOT NULL,
    PRIMARY KEY (run, position)
) STRICT;

ALTER TABLE drives ADD COLUMN firmware TEXT;

-- Runs that began together.
ALTER TABLE runs ADD COLUMN group_id TEXT;
CREATE INDEX runs_by_group ON runs (group_id) WHERE group_id IS NOT NULL;

-- For the newest run of each host, and a run's history.
CREATE INDEX runs_by_host ON runs (host, suite, target, at_us DESC, id DESC);
CREATE INDEX runs_by_lower_host ON runs (lower(host), at_us DESC, id DESC);
