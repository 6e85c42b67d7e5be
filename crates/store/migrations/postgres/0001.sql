CREATE TABLE schema_version (
    version bigint NOT NULL
);

-- One row a run: what lists show and filters ask for. Times are microseconds since 1970, UTC.
CREATE TABLE runs (
    -- A number that was deleted is never given again: somebody may have written it down.
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid       text NOT NULL UNIQUE,
    -- Of the whole document, once it is whole: the same run imported twice is noticed.
    digest     text,
    -- When it was measured; when it was kept, where nobody knows that.
    at_us      bigint NOT NULL,
    suite      text NOT NULL,
    target     text NOT NULL,
    host       text,
    tool       text NOT NULL,
    state      text NOT NULL CHECK (state IN ('running', 'complete', 'interrupted')),
    -- The process that is measuring it; none afterwards.
    writer     text,
    note       text NOT NULL DEFAULT ''
);
CREATE INDEX runs_by_time ON runs (at_us, id);
CREATE INDEX runs_by_digest ON runs (digest);

-- The document without its tests: JSON, zlib.
CREATE TABLE headers (
    run      bigint PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    document bytea NOT NULL
);

CREATE TABLE drives (
    run      bigint NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position bigint NOT NULL,
    model    text,
    serial   text,
    PRIMARY KEY (run, position)
);

CREATE TABLE tags (
    run bigint NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    tag text NOT NULL,
    PRIMARY KEY (run, tag)
);
CREATE INDEX tags_by_tag ON tags (tag, run);

-- Names of tests, each once: a search reads hundreds of names, not millions of tests.
CREATE TABLE names (
    id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE
);

-- One row a test: its place and the figures that lists show.
CREATE TABLE tests (
    run       bigint NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    name      bigint NOT NULL REFERENCES names (id),
    position  bigint NOT NULL,
    is_commit bigint NOT NULL,
    p50_us    double precision,
    p99_us    double precision,
    PRIMARY KEY (run, name, position)
);

-- Whole results of tests: JSON, zlib; apart from the figures, so that lists need not read past them.
CREATE TABLE results (
    run      bigint NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position bigint NOT NULL,
    document bytea NOT NULL,
    PRIMARY KEY (run, position)
);
