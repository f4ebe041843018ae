# ruff: noqa: E501 (texts are as long as the lines they are found in)
"""What `ablation` takes away: for each variant, which text of which file of `hippozoo.ensemble` is replaced."""

from __future__ import annotations

__all__ = ["VARIANTS", "Edit"]

Edit = tuple[str, str, str]  # file below ensemble/, text, what takes its place


def _without(expert: str, after: str) -> list[Edit]:
    """Without a line of the table, which stands after another; simple experts only, whose count nothing else knows."""
    return [("experts/__init__.py", f"    {after},\n    {expert},\n", f"    {after},\n")]


def _trends(kept: str) -> list[Edit]:
    every = "[(0.8, 0.2, 0.9), (0.5, 0.05, 0.97)]"
    return [("experts/damped_trend.py", every, kept)]


def _without_way(name: str) -> list[Edit]:
    text = "        if expected[j] > least:\n"
    return [
        (
            "scale.py",
            f"{text}            {after}",
            f"        if j != {name} and expected[j] > least:\n            {after}",
        )
        for after in ("best", "# The")
    ]


def _default(text: str, other: str) -> list[Edit]:
    return [("defaults.py", text, other)]


_SEASON, _LEVEL, _FADING = (
    "            work.forecasts[at, k] = past.bases[s, k]\n",
    "            work.forecasts[at + 1, k] = past.bases[s, k] + ahead\n",
    "            work.forecasts[at + 2, k] = past.bases[s, k] + ahead * fade\n",
)
_NAMES = '[f"season {season}", f"season {season} and level", f"season {season} and fading level"]'
_TWO = [("experts/seasonal.py", "        at += 3\n", "        at += 2\n")]
_SHRUNK = [("experts/ridge_map.py", "    if guard and leverage > HIGH_LEVERAGE:", "    if False:")]
_FAR_PAIRS = [("moments.py", "is_near = not plan.guard or bool((leverage <= HIGH_LEVERAGE).all())", "is_near = True")]
_OWN = "0.5 * ((own[k, e] if is_scored else average[e]) + average[e]) + late[e]"

VARIANTS: dict[str, list[Edit]] = {
    "all": [],
    # experts
    "without the mean": _without("mean", after="naive"),
    "without drift": _without("drift", after="mean"),
    "without recent drift": _without("recent_drift", after="drift"),
    "without damped trends": _without("damped_trend", after="recent_drift"),
    "quick damped trend only": _trends("[(0.8, 0.2, 0.9)]"),
    "slow damped trend only": _trends("[(0.5, 0.05, 0.97)]"),
    "without seasonal experts": _without("seasonal", after="damped_trend"),
    "without the season as it was": [
        ("experts/seasonal.py", _SEASON, ""),
        ("experts/seasonal.py", _LEVEL, _LEVEL.replace("at + 1", "at")),
        ("experts/seasonal.py", _FADING, _FADING.replace("at + 2", "at + 1")),
        ("experts/seasonal.py", _NAMES, '["level", "fading level"]'), *_TWO,
    ],
    "without season and level": [
        ("experts/seasonal.py", _LEVEL, ""),
        ("experts/seasonal.py", _FADING, _FADING.replace("at + 2", "at + 1")),
        ("experts/seasonal.py", _NAMES, '["season", "fading level"]'), *_TWO,
    ],
    "without season and fading level": [
        ("experts/seasonal.py", _FADING, ""), ("experts/seasonal.py", _NAMES, '["season", "level"]'), *_TWO,
    ],
    "level shifts of last season are repeated": [("experts/seasonal.py", "ahead = _ahead(change, made)", "ahead = change")],
    "outliers of last season are repeated": [
        ("experts/seasonal.py", "settled_value(log, now + k + 1 - m * (k // m + 1), now)",
         "log[now + k + 1 - m * (k // m + 1)].value"),
    ],
    "maps of the long window only": _default("usual_histories(reach, step, 48)", "usual_histories(reach, step, 48)[1:]"),
    "maps of the short window only": _default("usual_histories(reach, step, 48)", "usual_histories(reach, step, 48)[:1]"),
    "maps of order 32 at most": _default("usual_histories(reach, step, 48)", "usual_histories(reach, step, 32)"),
    "maps of order 24 at most": _default("usual_histories(reach, step, 48)", "usual_histories(reach, step, 24)"),
    "no maps on the mean": _default(
        '("last", "none") if season is None else ("last", "none", "season")',
        '("last",) if season is None else ("last", "season")'),
    "no maps on the last value": _default(
        '("last", "none") if season is None else ("last", "none", "season")',
        '("none",) if season is None else ("none", "season")'),
    "no maps on the season": _default('("last", "none", "season")', '("last", "none")'),
    "one ridge, 0.1": [("configuration.py", "= (1e-1, 1e-2)", "= 1e-1")],
    "one ridge, 0.01": [("configuration.py", "= (1e-1, 1e-2)", "= 1e-2")],
    # ridge maps
    "high leverage is not shrunk": _SHRUNK,
    "pairs of high leverage count in full": _FAR_PAIRS,
    "without leverage": [*_SHRUNK, *_FAR_PAIRS],
    "surprising futures count in full": [("moments.py", "    if plan.guard:\n        weights", "    if False:\n        weights")],
    # cleaner
    "without the cleaner": [
        ("cleaner.py", "    return guard and cleaner.age > WARMUP and at_hand and apart > most", "    return False")
    ],
    "outliers are not taken back": [("cleaner.py", "    if is_surprise and most > 0 and", "    if False and")],
    "forecasts from outliers are scored": [("pending.py", "            if plan.guard and is_outlier(", "            if False and is_outlier(")],
    "a missing value is the last one": [
        ("cleaner.py", "    if cleaner.silent > plan.silence:\n        return mean_of(cleaner)\n", "    if cleaner.age >= 0:\n        return log[now - 1].value\n")
    ],
    # scores
    "scores by error, not by regret": [
        ("scores.py", "regret[e] * keep + trust * (abs(value - forecasts[e]) - least)", "regret[e] * keep + trust * abs(value - forecasts[e])"),
        ("scores.py", "here.least * keep + trust * winsorised", "0.0 * winsorised"),
    ],
    "latest regret is not looked at": [
        ("scores.py", "max(scores.experts[e].latest - _USUAL_ERRORS * usual, 0.0) if guard else 0.0", "0.0")
    ],
    "the least error is not winsorised": [("scores.py", "if guard and usual > 0 else least", "if False else least")],
    "weights of each lead by its own errors": [("scores.py", _OWN, "(own[k, e] if is_scored else average[e]) + late[e]")],
    "the same weights at all leads": [("scores.py", _OWN, "average[e] + late[e]")],
    "maps count before they were scored": [("scores.py", "    if simple > 0:\n        for e", "    if False:\n        for e")],
    "forecasts after surprises are scored in full": [
        ("_kernels.py", "(brake.trust if plan.guard else 1.0)", "1.0")
    ],
    # brake
    "without trust after a surprise": [("brake.py", "    if surprise > SURPRISE:", "    if False:")],
    "without the brake on losses": [("brake.py", "        if owed > credit:", "        if False:")],
    "without the brake on stuck sensors": [("brake.py", "    if brake.run > limit:", "    if False:")],
    "errors are not widened when braked": [("_kernels.py", "        if share < 1.0 and brake.lately_weight > 0:", "        if False:")],
    # scale
    "scale by the long mean alone": [
        ("scale.py", f"        if expected[j] > least:\n            {after}", f"        if j == 0 and expected[j] > least:\n            {after}")
        for after in ("best", "# The")
    ],
    "scale without the mean of 8": _without_way("SHORT"),
    "scale without the mean of 32": _without_way("MIDDLE"),
    "scale without the phase of the season": _without_way("SEASONAL"),
    "scale without the spread of experts": _without_way("SPREAD"),
    "errors at a phase are not winsorised": [("scale.py", "        if plan.guard:\n            # What", "        if False:\n            # What")],
    "errors do not grow in a gap": [("_kernels.py", "    if own.silent > 0:\n        scale", "    if False:\n        scale")],
    # calibration
    "all early errors count in full": [
        ("calibration.py", "min(age / beginning(horizon), 1.0) ** BEGINNER_POWER", "1.0"),
        ("calibration.py", "        if beginning > 0:", "        if False:"),
    ],
    "without doubt": [("calibration.py", "= 1.5, 2.0, 4.0, 0.0005", "= 0.0, 0.0, 4.0, 0.0005")],
    "the same doubt in tails": [("calibration.py", "= 1.5, 2.0, 4.0, 0.0005", "= 1.5, 0.0, 4.0, 0.0005")],
    "no Pareto tail": [
        ("calibration.py", "    body = _crossing(beyond, np.maximum(wanted, inside))\n    if (wanted >= inside).all():",
         "    body = _crossing(beyond, wanted)\n    if True:"),
    ],
    "one Pareto tail": [
        ("calibration.py", "np.linspace(-0.2, 0.6, 17)", "np.array([0.1])"),
        ("calibration.py", "np.array([0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 1.05, 1.2, 1.4])", "np.array([0.9])"),
    ],
    "bands reach beyond all errors": [("forecast.py", "np.where(told, limit, np.inf)[:, leads]", "np.full(limit.shape, np.inf)[:, leads]")],
    "overlapping errors count in full": [
        ("calibration.py", "np.zeros(len(leads)) if alike is None else", "np.zeros(len(leads)) if True else")],
    "leads lend each other nothing": [("calibration.py", "_LENT, _USUAL = 20.0, 4.0", "_LENT, _USUAL = 0.1, 4.0")],
    "errors of all leads count in full": [("calibration.py", "_SAME = 0.5", "_SAME = 0.0")],
    "both sides alike": [
        ("calibration.py", "        if beginning > 0:", "        counts = 0.5 * (counts + counts[:, :, ::-1])\n        if beginning > 0:")],
    "half as many bins": [("calibration.py", "= 64, 6.0, -3.0", "= 32, 3.0, -3.0")],
}  # fmt: skip
