-- Park counts of whole days, and the alerts that are judged by them.

-- A migration must rather fail than block the queue behind a long transaction.
SET LOCAL lock_timeout = '10s';

-- Processed, refused by the agent and parked, per UTC day, kind and source; with
-- an empty reason code of all together, else of that code alone. Canaries,
-- replays and exceptions are in none of them. Days are counted from 1970.
CREATE TABLE park_days (
    day bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    reason_code text COLLATE "C" NOT NULL,
    processed bigint NOT NULL,
    refused bigint NOT NULL,
    parked bigint NOT NULL,
    PRIMARY KEY (day, kind, source, reason_code)
);

-- Days that are in park_days: over, and counted.
CREATE TABLE folded_days (
    day bigint PRIMARY KEY
);

CREATE TABLE alerts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rule text NOT NULL,
    kind text COLLATE "C",
    source text COLLATE "C",
    reason_code text COLLATE "C",
    level text NOT NULL CHECK (level IN ('warn', 'critical')),
    value double precision NOT NULL,
    threshold double precision NOT NULL,
    message text NOT NULL,
    -- What its source was like before, as JSON.
    baseline text,
    opened_at timestamptz NOT NULL,
    clear_since_at timestamptz,
    closed_at timestamptz,
    acknowledged_by text,
    acknowledged_at timestamptz,
    acknowledged_until timestamptz,
    note text
);

-- One open alert of a rule about the same thing, whatever the number of servers.
CREATE UNIQUE INDEX alerts_open
    ON alerts (rule, coalesce(kind, ''), coalesce(source, ''), coalesce(reason_code, '')) WHERE closed_at IS NULL;
CREATE INDEX alerts_by_close ON alerts (closed_at) WHERE closed_at IS NOT NULL;

-- One row for each change of an alert's state; sent by whichever server has a webhook.
CREATE TABLE alert_deliveries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    alert_id bigint NOT NULL REFERENCES alerts (id),
    change text NOT NULL CHECK (change IN ('opened', 'raised', 'closed')),
    -- What is sent, the same bytes at every try.
    body text NOT NULL,
    delivery_key text NOT NULL,
    at timestamptz NOT NULL,
    tries bigint NOT NULL DEFAULT 0,
    first_try_at timestamptz,
    -- None: sent, or given up.
    next_try_at timestamptz,
    held_token bigint NOT NULL DEFAULT 0,
    sent_at timestamptz,
    last_error text,
    UNIQUE (alert_id, change)
);

CREATE INDEX alert_deliveries_due ON alert_deliveries (next_try_at) WHERE next_try_at IS NOT NULL;

-- Baselines that a person chose for a source: its first and last day.
CREATE TABLE pinned_baselines (
    source text COLLATE "C" PRIMARY KEY NOT NULL,
    from_day bigint NOT NULL,
    to_day bigint NOT NULL,
    pinned_by text NOT NULL,
    at timestamptz NOT NULL
);
