-- When the agent last said no to a source, so that a front page can say it
-- without counting. One row per source and kind, touched by every ending that
-- counts for a park rate.

-- A migration must rather fail than block the queue behind a long transaction.
SET LOCAL lock_timeout = '10s';

CREATE TABLE last_refusals (
    source text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    -- None: never.
    last_no_at timestamptz,
    reason_code text COLLATE "C",
    processed_since bigint NOT NULL,
    last_processed_at timestamptz NOT NULL,
    PRIMARY KEY (source, kind)
);

CREATE INDEX last_refusals_by_time ON last_refusals (last_processed_at);

INSERT INTO last_refusals (source, kind, last_no_at, reason_code, processed_since, last_processed_at)
SELECT e.source, e.kind, n.at,
    (SELECT r.reason_code FROM endings r WHERE r.source = e.source AND r.kind = e.kind AND r.at = n.at
        AND r.outcome = 'refused' AND NOT r.is_canary AND NOT r.is_replay ORDER BY r.id DESC LIMIT 1),
    count(*) FILTER (WHERE n.at IS NULL OR e.at > n.at), max(e.at)
FROM endings e LEFT JOIN (
    SELECT source, kind, max(at) AS at FROM endings
    WHERE outcome = 'refused' AND NOT is_canary AND NOT is_replay GROUP BY source, kind
) n ON n.source = e.source AND n.kind = e.kind
WHERE e.outcome IN ('done', 'refused', 'evidence_failed') AND NOT e.is_canary AND NOT e.is_replay
GROUP BY e.source, e.kind, n.at;
