-- What is done to many letters at once: letters and versions as they were seen,
-- then what became of each.

CREATE TABLE bulks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- Where the letters were chosen, in words.
    scope TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('draft', 'running', 'halted', 'stopped', 'done')),
    made_by TEXT NOT NULL,
    made_at INTEGER NOT NULL CHECK (made_at > 1000000000000000),
    total INTEGER NOT NULL,
    -- Chosen when it is confirmed.
    action TEXT,
    mode TEXT,
    note TEXT,
    -- As whom it acts: whoever confirmed it, or let it go on.
    started_by TEXT,
    started_at INTEGER,
    address TEXT,
    user_agent TEXT,
    -- Whether it is still trying a few.
    is_trial INTEGER NOT NULL DEFAULT 1,
    -- No server looks at it before; a server that works on it moves this ahead.
    look_at INTEGER NOT NULL,
    ended_at INTEGER,
    -- Why it ended, if it did not simply come to its end.
    said TEXT
) STRICT;

CREATE INDEX bulks_running ON bulks (look_at, id) WHERE state = 'running';

CREATE TABLE bulk_items (
    bulk_id INTEGER NOT NULL REFERENCES bulks (id) ON DELETE CASCADE,
    dead_letter_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    outcome TEXT,
    said TEXT,
    replay_job_id INTEGER,
    at INTEGER,
    PRIMARY KEY (bulk_id, dead_letter_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX bulk_items_outstanding ON bulk_items (bulk_id, dead_letter_id) WHERE outcome IS NULL;
