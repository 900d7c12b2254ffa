"""Rules over columns that assign records to partitions, as plain settings that can be stored in a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shiftbench.errors import PartitionError, UnknownNameError, quoted
from shiftbench.partition import settings
from shiftbench.partition.settings import IN_DOMAIN, SHIFTED, Moment, Range, Window

FRACTIONS = (0.6, 0.1, 0.15, 0.15)
SHARES = {"train": 0.7, "dev_in": 0.1, "eval_in": 0.2}


@dataclass(frozen=True)
class Rules:
    """The definition of the five partitions. All given axes must agree: time, group and condition.

    On an axis without a rule, a partition accepts every record. Without an in-domain rule on an axis,
    in-domain is what no shift rule of that axis claims (in time: what lies before the first shifted window), so it
    cannot overlap them. Explicit in-domain rules may overlap; such records are counted and refused.
    Records that satisfy both shifted partitions (if no windows separate them) are divided by the hash of their id.

    id: column of unique ids; None uses the row number.
    seed: key of the hash, 0 … 2^64 - 1.
    time: column of dates, times or numbers. Without windows it is cut by `fractions`.
    fractions: of all records sorted by time: the in-domain window, a gap, the window of dev_out, that of eval_out
        (fractions of 1, percents, or text such as "60/10/15/15"; default 0.6, 0.1, 0.15, 0.15). See `windows.cuts`.
    eval_first: eval_out lies before dev_out in time, as in the published weather split.
    windows: instead of fractions: "in_domain", "dev_out", "eval_out" → (start, end), start included, end not,
        None (in files "") for open.
    shifted_from: instead of fractions or windows: the cut-off; records at this time or later are shifted, all others
        in-domain.
    gap: minimum distance in time between in-domain and shifted records: "7d", "36h", "90m", "30s", "2w", or a number
        if time is a number; shifted records that are nearer are left out.
    group: column of group names, with the values that are `in_domain` (default: all that are not shifted) and those
        that are `shifted` (default: all that are not in-domain), or `shifted_dev` and `shifted_eval` for each.
    ranges: partition → column → (low, high): low <= value < high, None (in files "") for open.
    where: partition → condition, see `shiftbench.partition.expression`. Both take the five partitions, "in_domain" and
        "shifted" (dev_out and eval_out). A condition of train, dev_in or eval_in itself replaces its sampling.
    shares: of the in-domain records: the probability of an id to fall into each (also "70/10/20"). Ids are drawn
        independently, so adding records moves none of the old ones.
    exact: meet the shares exactly: of n in-domain records a partition gets its share of n rounded down, and the last
        of train, dev_in, eval_in with a share gets the rest. The records with the smallest hashes go to dev_in, the
        next to eval_in, the others to train; so adding records may move old ones. Records beyond `at_most` of dev_in
        or eval_in then go to train. Not together with `sizes` or `by`.
    sizes: exact number of records of a partition, smallest hashes first. An in-domain partition without a size then
        gets its share rounded, and train without a size the rest.
    at_most: maximum number of records of partitions, smallest hashes first.
    by: column (or "a+b", a combination) whose groups (cities, patients) stay whole when sampling; shares are then
        approximate.
    dev_share: probability that a record that satisfies both shifted partitions falls into dev_out.
    apart: column (or "a+b", a combination) of clusters whose records are all on one side of train, dev (dev_in and
        dev_out) and eval (eval_in and eval_out); shares are then approximate, see `shiftbench.partition.clusters`.
        Shifted records whose cluster is on another side are left out. Not together with `exact`, or `sizes` in-domain.
    """

    id: str | None = None
    seed: int = 0
    time: str | None = None
    fractions: tuple[float, float, float, float] | None = None
    eval_first: bool = False
    windows: Mapping[str, Window] = field(default_factory=dict)
    shifted_from: Moment = None
    gap: str | float | None = None
    group: str | None = None
    in_domain: tuple[str, ...] = ()
    shifted: tuple[str, ...] = ()
    shifted_dev: tuple[str, ...] = ()
    shifted_eval: tuple[str, ...] = ()
    ranges: Mapping[str, Mapping[str, Range]] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=lambda: dict(SHARES))
    exact: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)
    at_most: Mapping[str, int] = field(default_factory=dict)
    by: str | None = None
    dev_share: float = 0.5
    apart: str | None = None

    def __post_init__(self) -> None:
        problems: list[str] = []
        for name, form in settings.FORMS.items():
            try:
                object.__setattr__(self, name, form(name, getattr(self, name)))
            except PartitionError as error:
                problems += error.problems
        if not problems:
            if self.time and not self.windows and self.fractions is None and self.shifted_from is None:
                object.__setattr__(self, "fractions", FRACTIONS)
            problems = _disagreements(self)
        if problems:
            raise PartitionError(*problems)

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Rules:
        """Rules from plain values, as a TOML or JSON file holds them.

        Raises:
            UnknownNameError: for an unknown key; the message suggests the closest rule.
            PartitionError: listing every invalid value.
        """
        if not isinstance(values, Mapping):
            raise PartitionError(f"rules: expected settings by name, found {quoted(values)}.")
        known = [entry.name for entry in dataclasses.fields(cls)]
        for name in values:
            if name not in known:
                raise UnknownNameError("partition setting", name, known)
        return cls(**values)

    def to_settings(self) -> dict[str, Any]:
        """Plain values for TOML or JSON, with defaults; `from_settings` restores equal rules.

        `exact` and `apart` are written only if set, so that manifests older than these rules keep their hash.
        """
        values = {entry.name: _plain(getattr(self, entry.name)) for entry in dataclasses.fields(self)}
        if not self.exact:
            del values["exact"]
        return {name: value for name, value in values.items() if value not in ("", [], {})}

    def columns(self) -> list[str]:
        """The columns with a role (id, time, group, by, apart), each once."""
        named = (self.id, self.time, self.group, self.by, self.apart)
        return list(dict.fromkeys(name for name in named if name))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return "" if value is None else value


def _disagreements(rules: Rules) -> list[str]:
    """Contradictions between rules that are valid one by one."""
    problems = []
    timed = [name for name in ("fractions", "windows", "shifted_from", "gap") if getattr(rules, name) not in (None, {})]
    if timed and rules.time is None:
        problems.append(f"{', '.join(timed)}: expected a time column with it, found none. Set time.")
    cuts = [name for name in timed if name != "gap"]
    if len(cuts) > 1:
        both = "both" if len(cuts) == 2 else "all of them"
        problems.append(f"expected one of {', '.join(cuts[:-1])} and {cuts[-1]}, found {both}. Drop the others.")
    if len(set(SHIFTED) & set(rules.windows)) == 1:
        found = ", ".join(rules.windows)
        problems.append(f"windows: expected dev_out and eval_out, found only {found}. Add the other.")
    listed = [name for name in ("in_domain", "shifted", "shifted_dev", "shifted_eval") if getattr(rules, name)]
    if bool(rules.group) != bool(listed):
        found = f"group {rules.group!r} alone" if rules.group else f"{', '.join(listed)} alone"
        problems.append(
            f"expected a group column together with its in_domain or shifted values, found {found}. Give both, or none."
        )
    if rules.shifted and (rules.shifted_dev or rules.shifted_eval):
        problems.append("expected shifted, or shifted_dev and shifted_eval, found both. Drop one.")
    if rules.exact and (others := [name for name in ("sizes", "by") if getattr(rules, name)]):
        problems.append(f"exact: expected neither sizes nor by with it, found {' and '.join(others)}. Drop one.")
    if rules.by and (cut := [name for name in IN_DOMAIN if name in rules.sizes]):
        problems.append(f"sizes of {', '.join(cut)}: exact sizes would cut the groups of by={rules.by!r}. Use shares.")
    counted = [*(["exact"] if rules.exact else []), *(f"sizes.{name}" for name in IN_DOMAIN if name in rules.sizes)]
    if rules.apart and counted:
        problems.append(
            f"{', '.join(counted)}: would cut the clusters of {rules.apart!r}, which stay on one side of train, dev "
            "and eval. Use shares, or allow clusters on both sides with --cut-clusters."
        )
    return problems
