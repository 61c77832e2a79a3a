-- Canaries: known-bad inputs that must be refused, and how each run of them ended.

CREATE TABLE canaries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    payload TEXT NOT NULL,
    -- What a refusal has to name.
    reason_code TEXT NOT NULL,
    field TEXT,
    -- None: only when somebody asks, or a model or a hash changes.
    every_seconds INTEGER,
    enabled INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    last_started_at INTEGER
) STRICT;

-- Kept when its job is purged. What was expected is written down with it, so
-- that editing a canary changes no history.
CREATE TABLE canary_runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- None for a canary that somebody enqueued by the worker API.
    canary_id INTEGER REFERENCES canaries (id),
    job_id INTEGER NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    reason_code TEXT NOT NULL,
    field TEXT,
    cause TEXT NOT NULL CHECK (cause IN ('person', 'schedule', 'model_change', 'hash_change', 'cli', 'api')),
    started_by TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    result TEXT CHECK (result IN
        ('passed', 'wrong_code', 'wrong_field', 'done', 'failed', 'evidence_failed', 'not_taken')),
    said TEXT,
    -- Of a run that ended as done: since when it alarms nobody any more, and why.
    cleared_at INTEGER,
    cleared_by TEXT,
    CHECK ((ended_at IS NULL) = (result IS NULL))
) STRICT;

CREATE INDEX canary_runs_by_canary ON canary_runs (canary_id, id);
CREATE INDEX canary_runs_open ON canary_runs (id) WHERE ended_at IS NULL;
CREATE INDEX canary_runs_alarms ON canary_runs (id) WHERE result = 'done' AND cleared_at IS NULL;

-- Model and hashes of the last done job of a kind whose envelope names any.
CREATE TABLE last_models (
    kind TEXT NOT NULL PRIMARY KEY,
    model TEXT NOT NULL,
    hashes TEXT NOT NULL,
    seen_at INTEGER NOT NULL,
    -- None until something changed.
    changed_at INTEGER,
    change TEXT CHECK (change IN ('model_change', 'hash_change'))
) STRICT, WITHOUT ROWID;
