-- People, and an audit whose rows hold on to each other.

-- A migration must rather fail than block the queue behind a long transaction.
SET LOCAL lock_timeout = '10s';

-- Who acted with which role, and how it ended. Every row's hash covers its
-- content and the hash before it; rows from before this migration get theirs
-- when the database is first opened afterwards.
ALTER TABLE audit
    ADD COLUMN role text,
    ADD COLUMN outcome text COLLATE "C" NOT NULL DEFAULT 'done',
    ADD COLUMN hash text;

-- An older binary that still runs must not write past the chain.
ALTER TABLE audit ADD CONSTRAINT audit_chained CHECK (hash IS NOT NULL) NOT VALID;

-- The end of the chain, so that rows cut off at the end are missed.
CREATE TABLE audit_head (
    one integer PRIMARY KEY CHECK (one = 1),
    seq bigint NOT NULL,
    hash text NOT NULL,
    entries bigint NOT NULL
);

INSERT INTO audit_head (one, seq, hash, entries) VALUES (1, 0, '', 0);

-- The page's filters, each with its newest rows first.
CREATE INDEX audit_by_actor ON audit (actor, seq);
CREATE INDEX audit_by_action ON audit (action, seq);
CREATE INDEX audit_by_subject ON audit (subject, seq);
CREATE INDEX audit_unhappy ON audit (outcome, seq) WHERE outcome <> 'done';
CREATE INDEX audit_by_time ON audit (at);

-- A user's link to choose a password; one at a time, used once. Until then a
-- new user's password_hash is empty, which fits no password.
CREATE TABLE set_up_links (
    user_id bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret_sha256 text COLLATE "C" NOT NULL UNIQUE,
    expires_at timestamptz NOT NULL
);

-- Written every five minutes at most, so that a busy token costs no writes.
ALTER TABLE tokens ADD COLUMN last_used_at timestamptz;
