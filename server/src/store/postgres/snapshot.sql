-- One statement, so one instant. The clock is read once, after the statement has
-- its locks and its view: nothing it sees is later than `as_of`.
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), live AS (
    SELECT j.kind,
        count(*) FILTER (WHERE j.due_at <= c.now AND (j.state = 'waiting' OR j.attempts < k.max_attempts)) AS claimable,
        count(*) FILTER (WHERE j.state = 'waiting' AND j.due_at > c.now AND j.attempts = 0) AS scheduled,
        count(*) FILTER (WHERE j.state = 'waiting' AND j.due_at > c.now AND j.attempts > 0) AS retrying,
        count(*) FILTER (WHERE j.state = 'in_progress' AND j.due_at > c.now) AS in_progress,
        count(*) FILTER (WHERE j.state = 'in_progress' AND j.due_at <= c.now) AS lease_expired,
        count(*) FILTER (WHERE j.state = 'in_progress' AND j.due_at <= c.now AND j.attempts >= k.max_attempts) AS lost,
        min(j.due_at) FILTER (WHERE j.due_at <= c.now AND (j.state = 'waiting' OR j.attempts < k.max_attempts))
            AS oldest_due_at,
        min(j.due_at) FILTER (WHERE j.state = 'waiting' AND j.due_at > c.now) AS next_later_at
    FROM clock c CROSS JOIN jobs j JOIN kinds k ON k.kind = j.kind
    WHERE j.state IN ('waiting', 'in_progress') AND j.canary_reason_code IS NULL
    GROUP BY j.kind
), last_hour AS (
    SELECT kind, count(*) AS done FROM endings
    WHERE outcome = 'done' AND NOT is_canary AND at > (SELECT now FROM clock) - interval '1 hour'
    GROUP BY kind
), last_day AS (
    SELECT kind,
        count(*) FILTER (WHERE outcome = 'exception') AS failed,
        count(*) FILTER (WHERE outcome = 'refused') AS refused,
        count(*) FILTER (WHERE outcome = 'evidence_failed') AS evidence_failed,
        count(*) FILTER (WHERE outcome = 'dropped') AS dropped
    FROM endings
    WHERE outcome IN ('exception', 'refused', 'evidence_failed', 'dropped') AND NOT is_canary
        AND at > (SELECT now FROM clock) - interval '24 hours'
    GROUP BY kind
), worked AS (
    SELECT kind, max(last_worked_at) AS at, max(last_claimed_at) AS claimed_at FROM worker_kinds GROUP BY kind
), kind_rows AS (
    SELECT k.kind, k.not_running_after_seconds, k.paused_at, k.paused_by, k.hold_ended_at,
        coalesce(live.claimable, 0) AS claimable, coalesce(live.scheduled, 0) AS scheduled,
        coalesce(live.retrying, 0) AS retrying, coalesce(live.in_progress, 0) AS in_progress,
        coalesce(live.lease_expired, 0) AS lease_expired, coalesce(live.lost, 0) AS lost,
        live.oldest_due_at, live.next_later_at, coalesce(last_hour.done, 0) AS done_last_hour,
        coalesce(last_day.failed, 0) AS failed_last_day, coalesce(last_day.refused, 0) AS refused_last_day,
        coalesce(last_day.evidence_failed, 0) AS evidence_failed_last_day,
        coalesce(last_day.dropped, 0) AS dropped_last_day, greatest(k.last_worked_at, worked.at) AS last_worked_at,
        greatest(k.last_claimed_at, worked.claimed_at) AS last_claimed_at
    FROM kinds k
    LEFT JOIN live ON live.kind = k.kind
    LEFT JOIN last_hour ON last_hour.kind = k.kind
    LEFT JOIN last_day ON last_day.kind = k.kind
    LEFT JOIN worked ON worked.kind = k.kind
), claim_rows AS (
    SELECT * FROM (
        SELECT DISTINCT ON (admits_sha256) admits, full_at, newest_due_at FROM worker_claims
        ORDER BY admits_sha256, full_at DESC) latest
    ORDER BY full_at DESC LIMIT 1000
), recent_rows AS (
    SELECT a.ended_at, a.job_id, a.outcome, a.http_status, a.failure_reason, k.not_running_after_seconds
    FROM (SELECT * FROM attempts WHERE ended_at IS NOT NULL AND NOT is_canary
          ORDER BY ended_at DESC, job_id DESC LIMIT 20) a
    JOIN kinds k ON k.kind = a.kind
), successes AS (
    SELECT latest.at FROM (VALUES ('done'), ('refused'), ('evidence_failed')) AS o (outcome)
    CROSS JOIN LATERAL (SELECT e.at FROM endings e WHERE e.outcome = o.outcome AND NOT e.is_canary
                        ORDER BY e.at DESC LIMIT 1) latest
), failure_rows AS (
    SELECT a.job_id, a.kind, a.ended_at, a.attempt, k.max_attempts, a.category, a.failure_reason, a.http_status,
        left(a.error, 2000) AS error, a.next_run_at, d.id AS dead_letter_id,
        CASE WHEN k.overrides LIKE '%"masked_fields"%' THEN k.overrides END AS overrides,
        CASE WHEN k.overrides LIKE '%"masked_fields"%' THEN
            -- As masking_payloads! has it.
            (SELECT CASE WHEN octet_length(p.payload) > 65536 THEN '' ELSE '[' || coalesce(p.payload, 'null')
                || coalesce((SELECT ',' || CASE WHEN octet_length(g.payload) > 65536 THEN ''
                        ELSE coalesce(g.payload, 'null') END
                    FROM dead_letters gl JOIN jobs g ON g.id = gl.job_id WHERE gl.id = p.replay_of), '') || ']' END
             FROM jobs p WHERE p.id = a.job_id) END AS masking
    FROM (SELECT * FROM attempts WHERE outcome IN ('failed', 'lost') AND NOT is_canary
          ORDER BY ended_at DESC, job_id DESC LIMIT 10) a
    JOIN kinds k ON k.kind = a.kind
    LEFT JOIN dead_letters d ON d.job_id = a.job_id
), leases AS (
    SELECT j.worker,
        count(*) FILTER (WHERE j.due_at > c.now) AS holds,
        count(*) FILTER (WHERE j.due_at <= c.now) AS lease_expired,
        min(j.due_at) FILTER (WHERE j.due_at > c.now) AS next_lease_expires_at
    FROM clock c CROSS JOIN jobs j
    WHERE j.state = 'in_progress' AND j.canary_reason_code IS NULL
    GROUP BY j.worker
), worker_rows AS (
    SELECT w.worker, w.last_seen_at, w.last_claim_at, w.last_claim_was_empty, coalesce(leases.holds, 0) AS holds,
        coalesce(leases.lease_expired, 0) AS lease_expired, leases.next_lease_expires_at
    FROM workers w LEFT JOIN leases ON leases.worker = w.worker
    WHERE w.last_seen_at > (SELECT now FROM clock) - interval '24 hours' OR leases.holds > 0
    ORDER BY w.last_seen_at DESC, w.worker LIMIT 50
), tick_rows AS (
    SELECT trigger_name, every_seconds, last_at FROM ticks
    WHERE last_at > (SELECT now FROM clock) - interval '7 days'
    ORDER BY trigger_name LIMIT 100
), no_rows AS (
    SELECT s.source, s.kind, s.last_no_at, s.reason_code, s.processed_since,
        EXISTS (SELECT 1 FROM alerts a WHERE a.closed_at IS NULL AND a.rule = 'zero_refusals' AND a.source = s.source)
            AS is_zero
    FROM last_refusals s JOIN kinds k ON k.kind = s.kind
    WHERE k.overrides NOT LIKE '%"may_refuse":{"value":false%'
    ORDER BY s.last_processed_at DESC LIMIT 50
)
SELECT json_build_object(
    'as_of', (SELECT now FROM clock),
    'kinds', (SELECT coalesce(json_agg(k ORDER BY k.kind), '[]') FROM kind_rows k),
    'claims', (SELECT coalesce(json_agg(c), '[]') FROM claim_rows c),
    'recent', (SELECT coalesce(json_agg(r ORDER BY r.ended_at DESC, r.job_id DESC), '[]') FROM recent_rows r),
    'last_success_at', (SELECT max(at) FROM successes),
    'failures', (SELECT coalesce(json_agg(f ORDER BY f.ended_at DESC, f.job_id DESC), '[]') FROM failure_rows f),
    'workers', (SELECT coalesce(json_agg(w ORDER BY w.last_seen_at DESC, w.worker), '[]') FROM worker_rows w),
    'ticks', (SELECT coalesce(json_agg(t ORDER BY t.trigger_name), '[]') FROM tick_rows t),
    'last_refusals', (SELECT coalesce(json_agg(n), '[]') FROM no_rows n),
    'late_answers_last_day',
        (SELECT count(*) FROM late_answers WHERE at > (SELECT now FROM clock) - interval '24 hours'),
    'refused_polls_last_minutes',
        (SELECT coalesce(sum(n), 0) FROM refused_polls
         WHERE minute > floor(extract(epoch FROM (SELECT now FROM clock)) / 60)::bigint - 5),
    'unresolved_dead_letters',
        (SELECT count(*) FROM dead_letters WHERE status <> 'resolved' AND is_canary = false),
    'due_follow_ups',
        (SELECT count(*) FROM follow_ups
         WHERE done_at IS NULL AND due <= ((SELECT now FROM clock) AT TIME ZONE 'UTC')::date),
    'done_canaries', (SELECT count(*) FROM canary_runs WHERE result = 'done' AND cleared_at IS NULL),
    'calling_alerts', (SELECT count(*) FROM alerts WHERE closed_at IS NULL
        AND (acknowledged_until IS NULL OR acknowledged_until <= (SELECT now FROM clock))),
    'critical_alerts', (SELECT count(*) FROM alerts WHERE closed_at IS NULL AND level = 'critical'
        AND (acknowledged_until IS NULL OR acknowledged_until <= (SELECT now FROM clock))),
    'stuck_notices',
        (SELECT count(*) FROM notices WHERE sent_at IS NULL AND failed_at IS NOT NULL)
        + (SELECT count(*) FROM notices WHERE sent_at IS NULL AND failed_at IS NULL
               AND next_try_at <= (SELECT now FROM clock) - make_interval(secs => $1))
)::text
