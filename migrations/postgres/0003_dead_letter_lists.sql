-- Lists of dead letters by each filter, newest first, without a walk through
-- letters that are not asked for.

-- A migration must rather fail than block the queue behind a long transaction.
SET LOCAL lock_timeout = '10s';

-- A canary's letter is in no list and no count of the others.
ALTER TABLE dead_letters ADD COLUMN is_canary boolean NOT NULL DEFAULT false;
UPDATE dead_letters SET is_canary = true
WHERE job_id IN (SELECT id FROM jobs WHERE canary_reason_code IS NOT NULL);

-- Whatever their status.
CREATE INDEX dead_letters_by_source ON dead_letters (source, id);
CREATE INDEX dead_letters_by_tenant ON dead_letters (tenant, id) WHERE tenant IS NOT NULL;
CREATE INDEX dead_letters_by_route ON dead_letters (route, id);
-- Written as the lists ask for it: a letter has a reason code or a failure reason.
CREATE INDEX dead_letters_by_reason ON dead_letters (coalesce(reason_code, failure_reason), id);

-- What waits for a person: little, beside all that was resolved. The last two
-- columns repeat the condition, so that a count needs the index alone.
CREATE INDEX dead_letters_unresolved ON dead_letters (id, dead_lettered_at, status, is_canary)
WHERE status <> 'resolved' AND is_canary = false;
CREATE INDEX dead_letters_unresolved_by_kind ON dead_letters (kind, id)
WHERE status <> 'resolved' AND is_canary = false;
CREATE INDEX dead_letters_unresolved_by_source ON dead_letters (source, id)
WHERE status <> 'resolved' AND is_canary = false;
CREATE INDEX dead_letters_unresolved_by_tenant ON dead_letters (tenant, id)
WHERE status <> 'resolved' AND is_canary = false;
CREATE INDEX dead_letters_unresolved_by_route ON dead_letters (route, id)
WHERE status <> 'resolved' AND is_canary = false;
CREATE INDEX dead_letters_unresolved_by_reason ON dead_letters (coalesce(reason_code, failure_reason), id)
WHERE status <> 'resolved' AND is_canary = false;

-- Counts by status and age, and groups with their trend and sources, from the
-- index alone: a letter's row may be large.
DROP INDEX dead_letters_by_day;
CREATE INDEX dead_letters_by_day ON dead_letters (dead_lettered_at, id, status, is_canary);
DROP INDEX dead_letters_by_group;
CREATE INDEX dead_letters_by_group ON dead_letters (group_key, id, dead_lettered_at, source, status, is_canary);
