-- What sending a notice and finishing a follow-up need beside what 0005 made.

-- The outbox. A notice is sent, failed, or waits for `next_try_at`.
ALTER TABLE notices ADD COLUMN failed_at INTEGER;
ALTER TABLE notices ADD COLUMN first_try_at INTEGER;
-- No other server tries it before then; a server that tries it has the newest token.
ALTER TABLE notices ADD COLUMN held_until INTEGER;
ALTER TABLE notices ADD COLUMN held_token INTEGER NOT NULL DEFAULT 0;
-- The same at every try, so that a receiver can tell a repetition.
ALTER TABLE notices ADD COLUMN delivery_key TEXT;
-- What somebody noted who sent it by hand.
ALTER TABLE notices ADD COLUMN sent_note TEXT;

DROP INDEX notices_unsent;
CREATE INDEX notices_to_try ON notices (next_try_at, id) WHERE sent_at IS NULL AND failed_at IS NULL;
CREATE INDEX notices_unsent ON notices (id) WHERE sent_at IS NULL;
CREATE INDEX notices_failed ON notices (id) WHERE sent_at IS NULL AND failed_at IS NOT NULL;
CREATE INDEX notices_sent ON notices (id) WHERE sent_at IS NOT NULL;

ALTER TABLE follow_ups ADD COLUMN done_note TEXT;

CREATE INDEX follow_ups_open_by_owner ON follow_ups (owner, due, id) WHERE done_at IS NULL;
CREATE INDEX follow_ups_done ON follow_ups (id) WHERE done_at IS NOT NULL;
