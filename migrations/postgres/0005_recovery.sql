-- What people decide about dead letters, and what comes of it.

-- A migration must rather fail than block the queue behind a long transaction.
SET LOCAL lock_timeout = '10s';

-- Who looks at an open letter. It is taken while `taken_until` lies ahead, so
-- that it comes back by the clock alone; the status stays 'open'.
ALTER TABLE dead_letters ADD COLUMN taken_by text;
ALTER TABLE dead_letters ADD COLUMN taken_until timestamptz;

-- The history of a letter, in the order of what happened.
CREATE TABLE decisions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dead_letter_id bigint NOT NULL REFERENCES dead_letters (id) ON DELETE CASCADE,
    action text COLLATE "C" NOT NULL,
    decided_by text NOT NULL,
    at timestamptz NOT NULL,
    note text,
    -- What a correction changed, as JSON; masked values are hidden.
    difference text,
    -- A JSON array of decimal strings.
    replay_job_ids text NOT NULL DEFAULT '[]'
);

CREATE INDEX decisions_by_letter ON decisions (dead_letter_id, id);

-- The outbox. Outlives its letter: what is promised is sent.
CREATE TABLE notices (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dead_letter_id bigint NOT NULL,
    recipient text NOT NULL,
    subject text NOT NULL,
    body text NOT NULL,
    next_action text NOT NULL,
    when_text text NOT NULL,
    made_by text NOT NULL,
    at timestamptz NOT NULL,
    sent_at timestamptz,
    sent_by text,
    tries bigint NOT NULL DEFAULT 0,
    next_try_at timestamptz,
    last_error text
);

CREATE INDEX notices_by_letter ON notices (dead_letter_id);
CREATE INDEX notices_unsent ON notices (next_try_at, id) WHERE sent_at IS NULL;

-- Rules that have to change, left to somebody by a date.
CREATE TABLE follow_ups (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dead_letter_id bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    what text NOT NULL,
    owner text NOT NULL,
    due date NOT NULL,
    made_by text NOT NULL,
    at timestamptz NOT NULL,
    done_at timestamptz,
    done_by text
);

CREATE INDEX follow_ups_by_letter ON follow_ups (dead_letter_id);
CREATE INDEX follow_ups_open ON follow_ups (due, id) WHERE done_at IS NULL;

-- Prompts and tool definitions, once each, by what they are.
CREATE TABLE artifacts (
    sha256 text COLLATE "C" PRIMARY KEY,
    content text NOT NULL,
    at timestamptz NOT NULL
);
