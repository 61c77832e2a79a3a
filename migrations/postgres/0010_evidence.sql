-- What evidence checks found.

-- A migration must rather fail than block the queue behind a long transaction.
SET LOCAL lock_timeout = '10s';

-- What of a parked job's claims did not hold, as JSON: rule, field, code, sentence.
ALTER TABLE dead_letters ADD COLUMN misses text;
-- The same by rules that do not park anything yet.
ALTER TABLE results ADD COLUMN shadow_misses text;

-- How often a rule looked and missed, per day. `shard` spreads the writers of a
-- busy kind over several rows; whoever reads adds them up.
CREATE TABLE evidence_counts (
    kind text COLLATE "C" NOT NULL,
    -- Empty for jobs without tenant.
    tenant text COLLATE "C" NOT NULL,
    field text COLLATE "C" NOT NULL,
    -- With its parameters.
    rule text COLLATE "C" NOT NULL,
    -- A UTC day such as 2026-11-30.
    day text COLLATE "C" NOT NULL,
    shard bigint NOT NULL,
    checked bigint NOT NULL,
    missed bigint NOT NULL,
    PRIMARY KEY (kind, tenant, field, rule, day, shard)
);
