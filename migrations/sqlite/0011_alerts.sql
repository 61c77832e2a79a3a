-- Park counts of whole days, and the alerts that are judged by them.

-- Processed, refused by the agent and parked, per UTC day, kind and source; with
-- an empty reason code of all together, else of that code alone. Canaries,
-- replays and exceptions are in none of them. Days are counted from 1970.
CREATE TABLE park_days (
    day INTEGER NOT NULL,
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    reason_code TEXT NOT NULL,
    processed INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    parked INTEGER NOT NULL,
    PRIMARY KEY (day, kind, source, reason_code)
) STRICT, WITHOUT ROWID;

-- Days that are in park_days: over, and counted.
CREATE TABLE folded_days (
    day INTEGER PRIMARY KEY NOT NULL
) STRICT;

CREATE TABLE alerts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    rule TEXT NOT NULL,
    kind TEXT,
    source TEXT,
    reason_code TEXT,
    level TEXT NOT NULL CHECK (level IN ('warn', 'critical')),
    value REAL NOT NULL,
    threshold REAL NOT NULL,
    message TEXT NOT NULL,
    -- What its source was like before, as JSON.
    baseline TEXT,
    opened_at INTEGER NOT NULL,
    clear_since_at INTEGER,
    closed_at INTEGER,
    acknowledged_by TEXT,
    acknowledged_at INTEGER,
    acknowledged_until INTEGER,
    note TEXT
) STRICT;

-- One open alert of a rule about the same thing, whatever the number of servers.
CREATE UNIQUE INDEX alerts_open
    ON alerts (rule, coalesce(kind, ''), coalesce(source, ''), coalesce(reason_code, '')) WHERE closed_at IS NULL;
CREATE INDEX alerts_by_close ON alerts (closed_at) WHERE closed_at IS NOT NULL;

-- One row for each change of an alert's state; sent by whichever server has a webhook.
CREATE TABLE alert_deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    alert_id INTEGER NOT NULL REFERENCES alerts (id),
    change TEXT NOT NULL CHECK (change IN ('opened', 'raised', 'closed')),
    -- What is sent, the same bytes at every try.
    body TEXT NOT NULL,
    delivery_key TEXT NOT NULL,
    at INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    first_try_at INTEGER,
    -- None: sent, or given up.
    next_try_at INTEGER,
    held_token INTEGER NOT NULL DEFAULT 0,
    sent_at INTEGER,
    last_error TEXT,
    UNIQUE (alert_id, change)
) STRICT;

CREATE INDEX alert_deliveries_due ON alert_deliveries (next_try_at) WHERE next_try_at IS NOT NULL;

-- Baselines that a person chose for a source: its first and last day.
CREATE TABLE pinned_baselines (
    source TEXT PRIMARY KEY NOT NULL,
    from_day INTEGER NOT NULL,
    to_day INTEGER NOT NULL,
    pinned_by TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
