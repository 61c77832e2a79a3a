-- What people decide about dead letters, and what comes of it.

-- Who looks at an open letter. It is taken while `taken_until` lies ahead, so
-- that it comes back by the clock alone; the status stays 'open'.
ALTER TABLE dead_letters ADD COLUMN taken_by TEXT;
ALTER TABLE dead_letters ADD COLUMN taken_until INTEGER;

-- The history of a letter, in the order of what happened.
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    dead_letter_id INTEGER NOT NULL REFERENCES dead_letters (id) ON DELETE CASCADE,
    action TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    at INTEGER NOT NULL CHECK (at > 1000000000000000),
    note TEXT,
    -- What a correction changed, as JSON; masked values are hidden.
    difference TEXT,
    -- A JSON array of decimal strings.
    replay_job_ids TEXT NOT NULL DEFAULT '[]'
) STRICT;

CREATE INDEX decisions_by_letter ON decisions (dead_letter_id, id);

-- The outbox. Outlives its letter: what is promised is sent.
CREATE TABLE notices (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    dead_letter_id INTEGER NOT NULL,
    recipient TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    next_action TEXT NOT NULL,
    when_text TEXT NOT NULL,
    made_by TEXT NOT NULL,
    at INTEGER NOT NULL CHECK (at > 1000000000000000),
    sent_at INTEGER,
    sent_by TEXT,
    tries INTEGER NOT NULL DEFAULT 0,
    next_try_at INTEGER,
    last_error TEXT
) STRICT;

CREATE INDEX notices_by_letter ON notices (dead_letter_id);
CREATE INDEX notices_unsent ON notices (next_try_at, id) WHERE sent_at IS NULL;

-- Rules that have to change, left to somebody by a date.
CREATE TABLE follow_ups (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    dead_letter_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    what TEXT NOT NULL,
    owner TEXT NOT NULL,
    -- A day such as 2026-11-30.
    due TEXT NOT NULL,
    made_by TEXT NOT NULL,
    at INTEGER NOT NULL CHECK (at > 1000000000000000),
    done_at INTEGER,
    done_by TEXT
) STRICT;

CREATE INDEX follow_ups_by_letter ON follow_ups (dead_letter_id);
CREATE INDEX follow_ups_open ON follow_ups (due, id) WHERE done_at IS NULL;

-- Prompts and tool definitions, once each, by what they are.
CREATE TABLE artifacts (
    sha256 TEXT PRIMARY KEY NOT NULL,
    content TEXT NOT NULL,
    at INTEGER NOT NULL CHECK (at > 1000000000000000)
) STRICT;
