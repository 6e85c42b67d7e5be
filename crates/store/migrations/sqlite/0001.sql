-- `FLSM`: tells a store from any other SQLite database.
PRAGMA application_id = 1179407181;

CREATE TABLE schema_version (
    version INTEGER NOT NULL
) STRICT;

-- One row a run: what lists show and filters ask for. Times are microseconds since 1970, UTC.
CREATE TABLE runs (
    -- A number that was deleted is never given again: somebody may have written it down.
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid       TEXT NOT NULL UNIQUE,
    -- Of the whole document, once it is whole: the same run imported twice is noticed.
    digest     TEXT,
    -- When it was measured; when it was kept, where nobody knows that.
    at_us      INTEGER NOT NULL,
    suite      TEXT NOT NULL,
    target     TEXT NOT NULL,
    host       TEXT,
    tool       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('running', 'complete', 'interrupted')),
    -- The process that is measuring it; none afterwards.
    writer     TEXT,
    note       TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX runs_by_time ON runs (at_us, id);
CREATE INDEX runs_by_digest ON runs (digest);

-- The document without its tests: JSON, zlib.
CREATE TABLE headers (
    run      INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    document BLOB NOT NULL
) STRICT;

CREATE TABLE drives (
    run      INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    model    TEXT,
    serial   TEXT,
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE tags (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (run, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX tags_by_tag ON tags (tag, run);

-- Names of tests, each once: a search reads hundreds of names, not millions of tests.
CREATE TABLE names (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- One row a test: its place and the figures that lists show.
CREATE TABLE tests (
    run       INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    name      INTEGER NOT NULL REFERENCES names (id),
    position  INTEGER NOT NULL,
    is_commit INTEGER NOT NULL,
    p50_us    REAL,
    p99_us    REAL,
    PRIMARY KEY (run, name, position)
) STRICT, WITHOUT ROWID;

-- Whole results of tests: JSON, zlib; apart from the figures, so that lists need not read past them.
CREATE TABLE results (
    run      INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    document BLOB NOT NULL,
    PRIMARY KEY (run, position)
) STRICT;
