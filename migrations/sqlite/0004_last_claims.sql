-- When a kind was last claimed, told apart from when it was last worked: a
-- heartbeat is work and no claim. Empty for what was worked before this column.
ALTER TABLE worker_kinds ADD COLUMN last_claimed_at INTEGER;

-- Claims by workers whose rows have been forgotten.
ALTER TABLE kinds ADD COLUMN last_claimed_at INTEGER;
