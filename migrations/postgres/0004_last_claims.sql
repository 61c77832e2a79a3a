-- A migration must rather fail than block the queue behind a long transaction.
SET LOCAL lock_timeout = '10s';

-- When a kind was last claimed, told apart from when it was last worked: a
-- heartbeat is work and no claim. Empty for what was worked before this column.
ALTER TABLE worker_kinds ADD COLUMN last_claimed_at timestamptz;

-- Claims by workers whose rows have been forgotten.
ALTER TABLE kinds ADD COLUMN last_claimed_at timestamptz;
