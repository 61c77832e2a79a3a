-- What evidence checks found.

-- What of a parked job's claims did not hold, as JSON: rule, field, code, sentence.
ALTER TABLE dead_letters ADD COLUMN misses TEXT;
-- The same by rules that do not park anything yet.
ALTER TABLE results ADD COLUMN shadow_misses TEXT;

-- How often a rule looked and missed, per day. `shard` spreads the writers of a
-- busy kind over several rows; whoever reads adds them up.
CREATE TABLE evidence_counts (
    kind TEXT NOT NULL,
    -- Empty for jobs without tenant.
    tenant TEXT NOT NULL,
    field TEXT NOT NULL,
    -- With its parameters.
    rule TEXT NOT NULL,
    -- A UTC day such as 2026-11-30.
    day TEXT NOT NULL,
    shard INTEGER NOT NULL,
    checked INTEGER NOT NULL,
    missed INTEGER NOT NULL,
    PRIMARY KEY (kind, tenant, field, rule, day, shard)
) STRICT, WITHOUT ROWID;
