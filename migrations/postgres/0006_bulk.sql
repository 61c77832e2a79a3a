-- What is done to many letters at once: letters and versions as they were seen,
-- then what became of each.

CREATE TABLE bulks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Where the letters were chosen, in words.
    scope text NOT NULL,
    state text COLLATE "C" NOT NULL CHECK (state IN ('draft', 'running', 'halted', 'stopped', 'done')),
    made_by text COLLATE "C" NOT NULL,
    made_at timestamptz NOT NULL,
    total bigint NOT NULL,
    -- Chosen when it is confirmed.
    action text COLLATE "C",
    mode text COLLATE "C",
    note text,
    -- As whom it acts: whoever confirmed it, or let it go on.
    started_by text COLLATE "C",
    started_at timestamptz,
    address text,
    user_agent text,
    -- Whether it is still trying a few.
    is_trial bigint NOT NULL DEFAULT 1,
    -- No server looks at it before; a server that works on it moves this ahead.
    look_at timestamptz NOT NULL,
    ended_at timestamptz,
    -- Why it ended, if it did not simply come to its end.
    said text
);

CREATE INDEX bulks_running ON bulks (look_at, id) WHERE state = 'running';

CREATE TABLE bulk_items (
    bulk_id bigint NOT NULL REFERENCES bulks (id) ON DELETE CASCADE,
    dead_letter_id bigint NOT NULL,
    version bigint NOT NULL,
    outcome text COLLATE "C",
    said text,
    replay_job_id bigint,
    at timestamptz,
    PRIMARY KEY (bulk_id, dead_letter_id)
);

CREATE INDEX bulk_items_outstanding ON bulk_items (bulk_id, dead_letter_id) WHERE outcome IS NULL;
