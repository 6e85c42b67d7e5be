-- Whole distributions of the latencies in `tests`, as `Histogram::to_bytes` writes them: percentiles
-- over many runs need no results.
CREATE TABLE latencies (
    run       bigint NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position  bigint NOT NULL,
    name      bigint NOT NULL REFERENCES names (id),
    histogram bytea NOT NULL,
    PRIMARY KEY (run, position)
);

ALTER TABLE drives ADD COLUMN firmware text;

-- Runs that began together.
ALTER TABLE runs ADD COLUMN group_id text;
CREATE INDEX runs_by_group ON runs (group_id) WHERE group_id IS NOT NULL;

-- For the newest run of each host, and a run's history.
CREATE INDEX runs_by_host ON runs (host, suite, target, at_us DESC, id DESC);
CREATE INDEX runs_by_lower_host ON runs (lower(host), at_us DESC, id DESC);
