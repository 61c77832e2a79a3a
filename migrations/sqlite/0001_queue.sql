-- The queue database. Times are integer microseconds since 1970 in UTC, always
-- taken from this database's clock; the checks keep seconds or milliseconds out.

CREATE TABLE kinds (
    kind TEXT PRIMARY KEY NOT NULL,
    created_at INTEGER NOT NULL CHECK (created_at > 1000000000000000),
    -- Changed settings with who and when, as JSON; the columns below repeat
    -- what claims and readings need of the policy in force.
    overrides TEXT NOT NULL DEFAULT '{}',
    lease_seconds INTEGER NOT NULL DEFAULT 300,
    max_attempt_seconds INTEGER NOT NULL DEFAULT 3600,
    max_attempts INTEGER NOT NULL DEFAULT 3,
    not_running_after_seconds INTEGER NOT NULL DEFAULT 180,
    paused_at INTEGER,
    paused_by TEXT,
    hold_ended_at INTEGER,
    -- Work by workers whose rows have been forgotten.
    last_worked_at INTEGER
) STRICT;

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL REFERENCES kinds (kind),
    source TEXT NOT NULL,
    tenant TEXT,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'in_progress', 'done', 'dead', 'dropped', 'cancelled')),
    enqueued_at INTEGER NOT NULL CHECK (enqueued_at > 1000000000000000),
    run_at INTEGER NOT NULL,
    -- Waiting: the later of run_at and when it began to wait. In progress: the
    -- end of the lease, because from then on it is due again. Ended: none.
    due_at INTEGER,
    anchor_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    lease_token INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    claimed_at INTEGER,
    finished_at INTEGER,
    unique_key TEXT,
    -- 1 while the key keeps others out: until done, dropped, cancelled, or the letter is resolved.
    holds_unique_key INTEGER NOT NULL DEFAULT 0,
    canary_reason_code TEXT,
    canary_field TEXT,
    replay_of INTEGER REFERENCES dead_letters (id),
    replay_mode TEXT CHECK (replay_mode IN ('current', 'pinned')),
    -- Only claims that accept it get it: 'canary' (every canary), 'pinned', or nothing special.
    needs_accept TEXT CHECK (needs_accept IN ('canary', 'pinned')),
    trace_id TEXT,
    payload TEXT,
    payload_ref TEXT,
    payload_sha256 TEXT,
    received_at INTEGER,
    upstream_handoffs TEXT,
    verdict TEXT,
    reason TEXT,
    CHECK ((due_at IS NULL) = (state NOT IN ('waiting', 'in_progress'))),
    CHECK ((finished_at IS NULL) = (state IN ('waiting', 'in_progress')))
) STRICT;

-- Claims: oldest due first, kind by kind, so that a long queue of one kind is
-- never walked to find another's. The last two columns let claims and readings
-- use the index alone.
CREATE INDEX jobs_live ON jobs (kind, state, due_at, id, attempts, needs_accept)
WHERE state IN ('waiting', 'in_progress');
-- Expired leases, and what each worker holds.
CREATE INDEX jobs_leased ON jobs (due_at, id, worker) WHERE state = 'in_progress';
-- Lists by kind and state, newest first.
CREATE INDEX jobs_by_kind ON jobs (kind, id);
CREATE INDEX jobs_by_state ON jobs (state, id);
-- Purge.
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE state IN ('done', 'dropped', 'cancelled');
CREATE UNIQUE INDEX jobs_unique_key ON jobs (kind, unique_key) WHERE holds_unique_key = 1;
CREATE INDEX jobs_canaries ON jobs (kind, id) WHERE canary_reason_code IS NOT NULL;
CREATE INDEX jobs_replays ON jobs (replay_of) WHERE replay_of IS NOT NULL;

CREATE TABLE attempts (
    job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    attempt INTEGER NOT NULL,
    kind TEXT NOT NULL,
    worker TEXT NOT NULL,
    lease_token INTEGER NOT NULL,
    claimed_at INTEGER NOT NULL,
    ended_at INTEGER,
    outcome TEXT CHECK (outcome IN ('done', 'refused', 'evidence_failed', 'failed', 'lost')),
    category TEXT CHECK (category IN ('transient', 'permanent', 'unknown')),
    failure_reason TEXT,
    http_status INTEGER,
    error_code TEXT,
    error TEXT,
    reason_code TEXT,
    -- Set when the job waits again because of this attempt.
    next_run_at INTEGER,
    cost_micro_usd INTEGER,
    is_canary INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id, attempt),
    CHECK ((ended_at IS NULL) = (outcome IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX attempts_ended ON attempts (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX attempts_failed ON attempts (ended_at) WHERE outcome IN ('failed', 'lost');

-- What a done job said beside its verdict.
CREATE TABLE results (
    job_id INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    result TEXT,
    evidence TEXT,
    "values" TEXT,
    source_text TEXT,
    envelope TEXT,
    value_minor INTEGER,
    currency TEXT,
    shadow TEXT
) STRICT;

-- One row for each job that ended. Kept when the job is purged, so that no
-- windowed count changes.
CREATE TABLE endings (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    tenant TEXT,
    at INTEGER NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('done', 'refused', 'evidence_failed', 'exception', 'dropped')),
    reason_code TEXT,
    verdict TEXT,
    reason TEXT,
    is_canary INTEGER NOT NULL,
    is_replay INTEGER NOT NULL
) STRICT;

CREATE INDEX endings_by_kind ON endings (kind, outcome, at) WHERE is_canary = 0;
-- The last success, which must outlive the purge of its job.
CREATE INDEX endings_succeeded ON endings (at)
WHERE is_canary = 0 AND outcome IN ('done', 'refused', 'evidence_failed');
CREATE INDEX endings_park_rate ON endings (at, source, outcome, reason_code, kind, is_canary, is_replay)
WHERE is_canary = 0 AND is_replay = 0;

CREATE TABLE dead_letters (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id INTEGER NOT NULL UNIQUE REFERENCES jobs (id),
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    tenant TEXT,
    route TEXT NOT NULL CHECK (route IN ('refused_by_agent', 'failed_evidence_check', 'exception')),
    reason_code TEXT,
    failure_reason TEXT,
    field TEXT,
    evidence TEXT,
    error TEXT,
    category TEXT CHECK (category IN ('transient', 'permanent', 'unknown')),
    http_status INTEGER,
    error_code TEXT,
    envelope TEXT,
    group_key TEXT NOT NULL,
    fingerprint_version INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'taken', 'resolved')),
    version INTEGER NOT NULL DEFAULT 1,
    dead_lettered_at INTEGER NOT NULL,
    resolution TEXT,
    resolved_by TEXT,
    resolved_at INTEGER,
    note TEXT,
    CHECK ((status = 'resolved') = (resolved_at IS NOT NULL))
) STRICT;

CREATE INDEX dead_letters_by_status ON dead_letters (status, id);
CREATE INDEX dead_letters_by_kind ON dead_letters (kind, id);
CREATE INDEX dead_letters_by_day ON dead_letters (dead_lettered_at, id);
CREATE INDEX dead_letters_by_group ON dead_letters (group_key, id);
CREATE INDEX dead_letters_resolved ON dead_letters (resolved_at) WHERE status = 'resolved';

-- An action's idempotency key with the answer it got.
CREATE TABLE action_keys (
    key TEXT PRIMARY KEY NOT NULL,
    dead_letter_id INTEGER NOT NULL,
    body_sha256 TEXT NOT NULL,
    replay_job_ids TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX action_keys_by_letter ON action_keys (dead_letter_id);

-- Workers report themselves by calling. Each writes only its own rows.
CREATE TABLE workers (
    worker TEXT PRIMARY KEY NOT NULL,
    last_seen_at INTEGER NOT NULL,
    last_claim_at INTEGER,
    last_claim_was_empty INTEGER NOT NULL
) STRICT;

CREATE TABLE worker_kinds (
    worker TEXT NOT NULL,
    kind TEXT NOT NULL,
    last_worked_at INTEGER NOT NULL,
    PRIMARY KEY (worker, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX worker_kinds_by_kind ON worker_kinds (kind, last_worked_at);

-- The last claim of a worker, per set of kinds it admits, that came back full.
CREATE TABLE worker_claims (
    worker TEXT NOT NULL,
    -- A sorted JSON array of kinds, or '' for all.
    admits TEXT NOT NULL,
    full_at INTEGER NOT NULL,
    newest_due_at INTEGER NOT NULL,
    PRIMARY KEY (worker, admits)
) STRICT, WITHOUT ROWID;

CREATE TABLE late_answers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    job_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    -- Who claimed with the token that came late, if that claim is known.
    worker TEXT,
    call TEXT NOT NULL
) STRICT;

CREATE INDEX late_answers_at ON late_answers (at);

CREATE TABLE refused_polls (
    minute INTEGER PRIMARY KEY,
    n INTEGER NOT NULL
) STRICT;

CREATE TABLE ticks (
    trigger_name TEXT PRIMARY KEY NOT NULL,
    every_seconds INTEGER NOT NULL,
    last_at INTEGER NOT NULL
) STRICT;

CREATE TABLE users (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('on-call', 'reviewer', 'admin')),
    password_hash TEXT NOT NULL,
    disabled INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
    session_sha256 TEXT PRIMARY KEY NOT NULL,
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    last_active_at INTEGER NOT NULL,
    address TEXT,
    user_agent TEXT
) STRICT;

CREATE INDEX sessions_by_user ON sessions (user_id);

CREATE TABLE tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    scopes TEXT NOT NULL,
    token_sha256 TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;

CREATE TABLE setup_secret (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    secret_sha256 TEXT NOT NULL
) STRICT;

CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    details TEXT,
    address TEXT,
    user_agent TEXT
) STRICT;
