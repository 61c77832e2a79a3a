//! The decisions that the alerts must make, and a year of them day by day.

use super::baseline::{BASELINE_DAYS, BaselineDay, Counts, WINDOW_DAYS, days_in_alarm, window_from};
use super::limits::*;
use super::refusals::*;
use super::*;
use chrono::{Days, NaiveDate, TimeZone};
use proptest::prelude::*;

fn day(n: u64) -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 1, 1).unwrap() + Days::new(n)
}

fn counts(processed: i64, refused: i64) -> Counts {
    Counts { processed, refused, parked: refused }
}

fn learnt(refused: i64, processed: i64) -> Baseline {
    let days = [BaselineDay { day: day(60), counts: counts(processed, refused), is_in_alarm: false }];
    Baseline::before(day(100), &days)
}

fn watched<'a>(window: Counts, baseline: &'a Baseline) -> Watched<'a> {
    Watched {
        source: "supplier-email-ingest",
        reason_code: None,
        may_refuse: true,
        window,
        baseline,
        last_change: None,
    }
}

fn zero(window: Counts, baseline: &Baseline) -> Finding {
    judge_zero(&watched(window, baseline), &RefusalLimits::default())
}

fn high(window: Counts, baseline: &Baseline) -> Finding {
    judge_high(&watched(window, baseline), &RefusalLimits::default())
}

const FIRES: Standing = Standing::Fires(Level::Warn);

#[test]
fn none_of_75_fires_at_a_known_4_percent_and_not_at_a_learnt_one() {
    let known = Baseline::pinned(day(0), day(55), counts(1_000_000, 40_000));
    let found = zero(counts(75, 0), &known);
    assert_eq!((found.standing, found.because), (FIRES, Some(ZeroCause::Improbable)));
    assert!((found.value - 0.046_81).abs() < 1e-5 && found.threshold == 0.05, "{}", found.value);
    let found = zero(counts(75, 0), &learnt(40, 1_000));
    assert_eq!((found.standing, found.because), (Standing::Clear, None));
    assert!((found.value - 0.050_475).abs() < 1e-6, "{}", found.value);
    assert_eq!(zero(counts(75, 0), &learnt(4, 100)).standing, Standing::Clear);
    assert_eq!(zero(counts(76, 0), &learnt(40, 1_000)).standing, FIRES, "one more is enough");
    assert_eq!(zero(counts(75, 1), &known).standing, Standing::Clear, "one refusal is enough");
}

#[test]
fn a_source_that_never_refused_fires_whatever_its_volume_makes_probable() {
    for baseline in [learnt(0, 1_000), learnt(0, 10), learnt(0, 0), Baseline::before(day(100), &[])] {
        let found = zero(counts(75, 0), &baseline);
        assert_eq!((found.standing, found.because), (FIRES, Some(ZeroCause::NeverRefused)), "{baseline:?}");
        assert_eq!((found.value, found.threshold), (75.0, 75.0));
    }
}

#[test]
fn evidence_checks_that_park_are_no_refusal_of_the_agent() {
    let window = Counts { processed: 200, refused: 0, parked: 20 };
    assert_eq!(zero(window, &learnt(40, 1_000)).standing, FIRES, "the agent said no to nothing");
    assert_eq!(high(window, &learnt(40, 1_000)).standing, FIRES, "and more is parked than ever");
}

#[test]
fn twelve_of_a_hundred_fire_high_where_four_percent_are_usual() {
    let found = high(counts(100, 12), &learnt(40, 1_000));
    assert_eq!(found.standing, FIRES);
    assert!((found.value - 0.001_414_1).abs() < 1e-6 && found.threshold == 0.01, "{}", found.value);
    for (parked, standing) in [(4, Standing::Clear), (9, Standing::Clear), (10, Standing::Clear), (11, FIRES)] {
        assert_eq!(high(counts(100, parked), &learnt(40, 1_000)).standing, standing, "{parked} of 100");
    }
    let baseline = learnt(3, 1_000);
    let of_code = Watched { reason_code: Some("AMBIGUOUS_VALUE"), ..watched(counts(100, 6), &baseline) };
    let found = judge_high(&of_code, &RefusalLimits::default());
    assert_eq!((found.standing, found.reason_code.as_deref()), (FIRES, Some("AMBIGUOUS_VALUE")));
    assert!(found.message.contains("6 of 100 parked for AMBIGUOUS_VALUE"), "{}", found.message);
}

#[test]
fn below_the_volume_nothing_fires_and_nothing_is_green() {
    for (processed, refused) in [(1, 1), (3, 0), (3, 3), (4, 3), (74, 0), (74, 74)] {
        for baseline in [learnt(0, 10_000), learnt(40, 1_000), learnt(0, 0)] {
            let window = counts(processed, refused);
            for found in [zero(window, &baseline), high(window, &baseline)] {
                assert_eq!(found.standing, Standing::NotEnoughVolume, "{processed} {refused}");
                assert!(found.message.contains("not enough volume"), "{}", found.message);
            }
        }
    }
    assert_eq!(zero(counts(0, 0), &learnt(40, 1_000)).standing, Standing::NothingCame);
}

#[test]
fn kinds_that_may_not_refuse_are_not_watched() {
    let baseline = learnt(0, 1_000);
    for window in [counts(10_000, 0), counts(10_000, 9_000)] {
        let watched = Watched { may_refuse: false, ..watched(window, &baseline) };
        let limits = RefusalLimits::default();
        assert_eq!(judge_zero(&watched, &limits).standing, Standing::NotWatched);
        assert_eq!(judge_high(&watched, &limits).standing, Standing::NotWatched);
    }
}

#[test]
fn messages_say_what_was_seen_what_was_expected_and_what_changed_last() {
    let at = Utc.with_ymd_and_hms(2026, 4, 2, 9, 30, 0).unwrap();
    let mut days: Vec<BaselineDay> =
        (44..54).map(|n| BaselineDay { day: day(n), counts: counts(100, 4), is_in_alarm: false }).collect();
    days.push(BaselineDay { day: day(54), counts: counts(100, 100), is_in_alarm: true });
    let baseline = Baseline::before(day(100), &days);
    let change = Some(LastChange { what: "prompt", at });
    let limits = RefusalLimits::default();
    let silent = Watched { last_change: change, ..watched(counts(1_200, 0), &baseline) };
    assert_eq!(
        judge_zero(&silent, &limits).message,
        "supplier-email-ingest: no refusal among 1,200 in the last 7 days; the baseline (40 of 1,000, 4.0 %, \
         2026-02-14 to 2026-04-10, without 1 day in alarm) makes that a chance of under 0.0001. Can the agent still \
         say no? What changed last: prompt, 2026-04-02 09:30 UTC."
    );
    let found = zero(counts(75, 0), &Baseline::before(day(100), &[]));
    assert_eq!(
        found.message,
        "supplier-email-ingest: no refusal among 75 in the last 7 days, and none in the baseline (2026-02-14 to \
         2026-04-10, in which nothing was processed). Can the agent say no at all? No change of model, prompt or \
         tools is known."
    );
    let hostile = Watched { source: "a\u{202e}b\nc", ..watched(counts(100, 12), &baseline) };
    let message = judge_high(&hostile, &limits).message;
    assert!(message.starts_with("a\u{fffd}b\u{fffd}c: 12 of 100 parked"), "{message}");
}

#[test]
fn a_baseline_is_56_days_before_the_window_without_days_in_alarm() {
    let days: Vec<BaselineDay> = (0..120)
        .map(|n| BaselineDay { day: day(n), counts: counts(1, 0), is_in_alarm: (60..70).contains(&n) })
        .collect();
    let baseline = Baseline::before(day(100), &days);
    assert_eq!((baseline.from, baseline.to), (day(44), day(99)));
    assert_eq!((baseline.counts.processed, baseline.days_left_out), (46, 10));
    let pinned = Baseline::pinned(day(1), day(2), counts(7, 1));
    let empty = Baseline::before(day(100), &[]);
    assert_eq!(Baseline::in_force(Some(&pinned), baseline.clone(), None), pinned);
    assert_eq!(Baseline::in_force(None, baseline.clone(), Some(&pinned)), baseline);
    assert_eq!(Baseline::in_force(None, empty.clone(), Some(&pinned)), pinned);
    assert_eq!(Baseline::in_force(None, empty.clone(), None), empty);
}

/// What an alert went through.
#[derive(Debug, Default)]
struct Year {
    opened: Vec<u64>,
    closed: Vec<u64>,
    days_open: Vec<u64>,
    messages: Vec<String>,
}

/// Lives through days of one source by the very functions, judging once a day.
fn live(of_day: impl Fn(u64) -> Counts, days: u64, judge: fn(&Watched<'_>, &RefusalLimits) -> Finding) -> Year {
    let (mut year, mut open, mut spans) = (Year::default(), None::<OpenAlert>, Vec::new());
    for n in 1..days {
        let now = day(n).and_hms_opt(0, 0, 0).unwrap().and_utc();
        let since = n.saturating_sub(WINDOW_DAYS as u64);
        let window = (since..n).map(&of_day).fold(Counts::default(), |sum, one| Counts {
            processed: sum.processed + one.processed,
            refused: sum.refused + one.refused,
            parked: sum.parked + one.parked,
        });
        let open_span = open.as_ref().map(|alert| days_in_alarm(alert.since, now));
        let in_alarm = |at: NaiveDate| spans.iter().chain(&open_span).any(|&(from, to)| from <= at && at <= to);
        let before: Vec<BaselineDay> =
            (0..since).map(|n| BaselineDay { day: day(n), counts: of_day(n), is_in_alarm: in_alarm(day(n)) }).collect();
        let opened_with = open.as_ref().and_then(|alert| alert.baseline.as_ref());
        let baseline = Baseline::in_force(None, Baseline::before(window_from(now), &before), opened_with);
        let found = judge(&watched(window, &baseline), &RefusalLimits::default());
        let was_open_since = open.as_ref().map(|alert| alert.since);
        let followed = follow(open, &found, now);
        match &followed {
            Followed::Opened(_) => year.opened.push(n),
            Followed::Closed => {
                year.closed.push(n);
                spans.push(days_in_alarm(was_open_since.unwrap(), now));
            }
            Followed::None | Followed::Open(_) => {}
        }
        open = followed.open();
        if open.is_some() {
            year.days_open.push(n);
            year.messages.push(found.message);
        }
    }
    year
}

#[test]
fn a_silence_that_lasts_a_year_still_fires() {
    // 20 a day, one of 20 refused, until the prompt breaks on day 100.
    let year = live(|n| counts(20, i64::from(n < 100)), 500, judge_zero);
    assert_eq!((year.opened.as_slice(), year.closed.as_slice()), ([107].as_slice(), [].as_slice()));
    assert_eq!(year.days_open, (107..500).collect::<Vec<_>>(), "every single day");
}

#[test]
fn a_silence_from_the_first_day_fires_as_soon_as_there_is_volume_and_for_ever() {
    let year = live(|_| counts(20, 0), 400, judge_zero);
    assert_eq!(year.opened, [4], "80 processed");
    assert_eq!(year.days_open.len(), 396);
}

#[test]
fn a_flood_that_lasts_a_year_still_fires() {
    let year = live(|n| if n < 100 { counts(20, 1) } else { counts(20, 10) }, 500, judge_high);
    assert_eq!(year.opened.len(), 1);
    assert!(year.closed.is_empty() && year.days_open.len() > 390, "{:?}", year.closed);
}

#[test]
fn three_a_week_never_fire() {
    for refused in [0, 1] {
        for judge in [judge_zero as fn(&Watched<'_>, &RefusalLimits) -> Finding, judge_high] {
            let year = live(|n| counts(i64::from(n % 7 < 3), refused * i64::from(n % 7 < 3)), 400, judge);
            assert!(year.opened.is_empty(), "{year:?}");
        }
    }
}

#[test]
fn an_alert_closes_after_a_clear_day_and_its_days_stay_out_of_the_baseline() {
    // Silent on days 100 to 130, then as before.
    let year = live(|n| counts(20, i64::from(!(100..130).contains(&n))), 300, judge_zero);
    assert_eq!((year.opened.as_slice(), year.closed.as_slice()), ([107].as_slice(), [132].as_slice()));
    assert!(year.messages[0].contains("49 of 980") || year.messages[0].contains("56 of 1,120"), "{}", year.messages[0]);
}

#[test]
fn what_hovers_around_its_threshold_is_one_alert() {
    let now = Utc.with_ymd_and_hms(2026, 4, 2, 9, 0, 0).unwrap();
    let (fires, clear) = (high(counts(100, 12), &learnt(40, 1_000)), high(counts(100, 4), &learnt(40, 1_000)));
    let too_few = high(counts(10, 4), &learnt(40, 1_000));
    let mut open = follow(None, &fires, now).open();
    for hour in 1..200 {
        let found = match hour % 3 {
            0 => &fires,
            _ => &clear,
        };
        open = follow(open, found, now + TimeDelta::hours(hour)).open();
        assert!(open.is_some(), "hour {hour}");
    }
    let since = open.as_ref().unwrap().since;
    assert_eq!(since, now, "still the first");
    let at = |hours| now + TimeDelta::hours(200) + TimeDelta::hours(hours);
    open = follow(open, &clear, at(0)).open();
    // Too little volume proves nothing, so the clear day begins anew.
    open = follow(open, &too_few, at(23)).open();
    open = follow(open, &clear, at(24)).open();
    assert!(open.is_some());
    open = follow(open, &clear, at(47)).open();
    assert!(open.is_some());
    assert_eq!(follow(open.clone(), &clear, at(48)), Followed::Closed);
    assert!(matches!(follow(open, &fires, at(48)), Followed::Open(_)));
    assert_eq!(follow(None, &clear, now), Followed::None);
    assert_eq!(follow(None, &too_few, now), Followed::None);
}

#[test]
fn a_rate_alert_needs_samples_and_an_hour_without_any_is_no_zero() {
    let usual = learnt(40, 1_000);
    for (processed, parked, zero_side, high_side) in [
        (1, 1, Standing::NotEnoughVolume, Standing::NotEnoughVolume),
        (0, 0, Standing::NothingCame, Standing::NothingCame),
        (200, 0, FIRES, Standing::Clear),
        (200, 60, Standing::Clear, FIRES),
    ] {
        let window = counts(processed, parked);
        assert_eq!((zero(window, &usual).standing, high(window, &usual).standing), (zero_side, high_side));
        assert!(zero(window, &usual).value.is_finite() && high(window, &usual).value.is_finite());
    }
}

#[test]
fn limits_are_reached_where_they_say() {
    let limits = AlertLimits::default();
    let critical = Standing::Fires(Level::Critical);
    for (n, standing, threshold) in
        [(0, Standing::Clear, 5.0), (4, Standing::Clear, 5.0), (5, FIRES, 5.0), (19, FIRES, 5.0), (20, critical, 20.0)]
    {
        let found = judge_dead_letters(n, &limits);
        assert_eq!((found.standing, found.value, found.threshold), (standing, n as f64, threshold));
    }
    assert_eq!(judge_dead_letters(8, &limits).message, "8 dead letters in the last hour (limit 5).");
    for (hours, standing) in [(0, Standing::Clear), (47, Standing::Clear), (48, FIRES), (167, FIRES), (168, critical)] {
        assert_eq!(judge_oldest_letter(Some(hours * 3_600 + 3_599), &limits).standing, standing, "{hours} h");
    }
    assert_eq!(judge_oldest_letter(None, &limits).standing, Standing::Clear);
    assert_eq!(judge_canaries_written(1, Some("extract-invoice")).standing, critical);
    assert_eq!(judge_canaries_written(0, None).standing, Standing::Clear);
    assert_eq!(judge_canaries_overdue(2).standing, FIRES);
    assert_eq!(judge_verdict(true, "Not running? · 3 waiting").standing, critical);
    assert_eq!(judge_verdict(false, "Idle").standing, Standing::Clear);
    assert_eq!(judge_late_answers(1).standing, FIRES);
    let now = Utc.with_ymd_and_hms(2026, 4, 2, 9, 0, 0).unwrap();
    let open = follow(None, &judge_verdict(true, "Not running?"), now).open();
    assert_eq!(follow(open, &judge_verdict(false, "Idle"), now), Followed::Closed, "at once");
}

#[test]
fn words_lead_back_to_their_rules() {
    for rule in AlertRule::ALL {
        assert_eq!(AlertRule::from_word(rule.as_str()), Some(rule));
        assert_eq!(serde_json::to_value(rule).unwrap(), rule.as_str());
    }
    for (n, written) in
        [(0, "0"), (999, "999"), (1_000, "1,000"), (-1_234_567, "-1,234,567"), (i64::MIN, "-9,223,372,036,854,775,808")]
    {
        assert_eq!(counted(n), written);
    }
    assert_eq!(BASELINE_DAYS, 56);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_counts_are_judged(p in any::<i64>(), r in any::<i64>(), k in any::<i64>(), p0 in any::<i64>(), r0 in any::<i64>(), may in any::<bool>()) {
        let baseline = learnt(r0, p0);
        let watched = Watched { may_refuse: may, ..watched(Counts { processed: p, refused: r, parked: k }, &baseline) };
        for found in [judge_zero(&watched, &RefusalLimits::default()), judge_high(&watched, &RefusalLimits::default())] {
            prop_assert!(found.value.is_finite() && !found.message.is_empty());
            prop_assert!(may || !found.fires());
            prop_assert!(p >= 75 || !found.fires());
        }
    }
}
