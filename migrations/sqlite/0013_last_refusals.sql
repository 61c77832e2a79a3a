-- When the agent last said no to a source, so that a front page can say it
-- without counting. One row per source and kind, touched by every ending that
-- counts for a park rate.
CREATE TABLE last_refusals (
    source TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- None: never.
    last_no_at INTEGER,
    reason_code TEXT,
    processed_since INTEGER NOT NULL,
    last_processed_at INTEGER NOT NULL,
    PRIMARY KEY (source, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX last_refusals_by_time ON last_refusals (last_processed_at);

INSERT INTO last_refusals (source, kind, last_no_at, reason_code, processed_since, last_processed_at)
SELECT e.source, e.kind, n.at,
    (SELECT r.reason_code FROM endings r WHERE r.source = e.source AND r.kind = e.kind AND r.at = n.at
        AND r.outcome = 'refused' AND r.is_canary = 0 AND r.is_replay = 0 ORDER BY r.id DESC LIMIT 1),
    count(*) FILTER (WHERE n.at IS NULL OR e.at > n.at), max(e.at)
FROM endings e LEFT JOIN (
    SELECT source, kind, max(at) AS at FROM endings
    WHERE outcome = 'refused' AND is_canary = 0 AND is_replay = 0 GROUP BY source, kind
) n ON n.source = e.source AND n.kind = e.kind
WHERE e.outcome IN ('done', 'refused', 'evidence_failed') AND e.is_canary = 0 AND e.is_replay = 0
GROUP BY e.source, e.kind, n.at;
