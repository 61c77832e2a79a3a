-- Canaries: known-bad inputs that must be refused, and how each run of them ended.

-- A migration must rather fail than block the queue behind a long transaction.
SET LOCAL lock_timeout = '10s';

CREATE TABLE canaries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    kind text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    payload text NOT NULL,
    -- What a refusal has to name.
    reason_code text COLLATE "C" NOT NULL,
    field text,
    -- None: only when somebody asks, or a model or a hash changes.
    every_seconds bigint,
    enabled boolean NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    last_started_at timestamptz
);

-- Kept when its job is purged. What was expected is written down with it, so
-- that editing a canary changes no history.
CREATE TABLE canary_runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- None for a canary that somebody enqueued by the worker API.
    canary_id bigint REFERENCES canaries (id),
    job_id bigint NOT NULL UNIQUE,
    kind text COLLATE "C" NOT NULL,
    reason_code text COLLATE "C" NOT NULL,
    field text,
    cause text NOT NULL CHECK (cause IN ('person', 'schedule', 'model_change', 'hash_change', 'cli', 'api')),
    started_by text,
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    result text CHECK (result IN
        ('passed', 'wrong_code', 'wrong_field', 'done', 'failed', 'evidence_failed', 'not_taken')),
    said text,
    -- Of a run that ended as done: since when it alarms nobody any more, and why.
    cleared_at timestamptz,
    cleared_by text,
    CHECK ((ended_at IS NULL) = (result IS NULL))
);

CREATE INDEX canary_runs_by_canary ON canary_runs (canary_id, id);
CREATE INDEX canary_runs_open ON canary_runs (id) WHERE ended_at IS NULL;
CREATE INDEX canary_runs_alarms ON canary_runs (id) WHERE result = 'done' AND cleared_at IS NULL;

-- Model and hashes of the last done job of a kind whose envelope names any.
CREATE TABLE last_models (
    kind text COLLATE "C" NOT NULL PRIMARY KEY,
    model text COLLATE "C" NOT NULL,
    hashes text NOT NULL,
    seen_at timestamptz NOT NULL,
    -- None until something changed.
    changed_at timestamptz,
    change text CHECK (change IN ('model_change', 'hash_change'))
);
