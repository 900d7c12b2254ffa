"""The only module that validates arrays. Code below it may rely on its input."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.errors import ArrayError, quoted

Vector = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

MOST_LISTED = 3
MOST_VALUES = 2**36  # of an array; a view can repeat one value more often than any memory could hold
LONGEST_EDGE = 1e50  # mm: volumes of longer edges are infinite, those of their inverse 0
SHRINKAGE = 2.0**-600  # of values whose squares or sums are infinite
LARGEST = 1e150  # for values >= 0: sums of their squares stay finite
SMALLEST = 1.5e-154  # for differences: squares of smaller ones lose digits, or are 0
THRESHOLD = "Give the largest acceptable error, in the unit of the errors."
CORRECT = "Drop or correct these records."
ALIGN = "Select the same rows by label, or give all as arrays (.to_numpy()) if their rows correspond as they are."
LOSSES = "Errors are losses: lower is better and 0 is perfect."


def plain(values: Any) -> Any:
    """Tensors as arrays: without their gradients, copied from another device to this one; anything else as it is."""
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        values = values.detach().cpu()
        try:
            return values.numpy()
        except TypeError:  # NumPy has no such type: bfloat16
            return values.float().numpy()
    if isinstance(values, (list, tuple)) and any(
        hasattr(value, "detach") or isinstance(value, tuple) for value in values
    ):
        return [plain(value) for value in values]
    return values


def require_computed(name: str, values: Any) -> None:
    """Refuse a query of polars, Dask or their kin, which holds no values yet.

    Raises:
        ArrayError: naming the remedy.
    """
    for method in ("collect", "compute"):
        if hasattr(values, method) and not hasattr(values, "__array__"):
            found = type(values).__name__
            raise ArrayError(f"{name}: expected values, found {found}, which has none yet. Give its .{method}().")


def as_array(name: str, values: Any, kind: str = "numbers") -> npt.NDArray[Any]:
    """`values` as an array of any shape, those of tensors too; objects that are all booleans as booleans.

    Raises:
        ArrayError: for values of unequal lengths, masked ones, and those that cannot become an array in this process.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ArrayError(f"{name}: expected a value for every record, found masked ones. Drop these records.")
    require_computed(name, values)
    try:
        found = np.asarray(plain(values))
    except Exception as error:  # of any library whose values these are
        if "inhomogeneous" in str(error):
            raise ArrayError(f"{name}: expected an array of {kind}, found a ragged sequence.") from None
        wanted = f"{name}: expected an array of {kind}, found {type(values).__name__}"
        raise ArrayError(f"{wanted}, which does not become one ({error}). Copy it to a NumPy array first.") from None
    if found.size > MOST_VALUES:
        raise ArrayError(f"{name}: expected at most {MOST_VALUES:,} values, found {found.size:,}. Give fewer records.")
    if found.dtype == np.longdouble:
        with np.errstate(over="ignore"):  # becomes infinite, which is then refused
            return found.astype(np.float64)
    if found.dtype.kind == "O" and found.size and all(isinstance(value, (bool, np.bool_)) for value in found.flat):
        return found.astype(np.bool_)
    return found


def row_labels(values: Any) -> Any:
    """The pandas index that names the records of `values`, or None: only position says which is which."""
    index = getattr(values, "index", None)
    return index if hasattr(index, "get_indexer") else None


def aligned(named: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the same records, by name; those with a pandas index in the order of the first that has one.

    Values of another length are left to the checks of lengths, unless they have all labels and more.

    Raises:
        ArrayError: if an index has other labels than the first, or more, or the same in another order while they repeat
            or some values have no index, so that their order is unknown.
    """
    indices = {name: index for name, values in named.items() if (index := row_labels(values)) is not None}
    found = dict(named)
    if len(indices) < 2:
        return found
    first, reference = next(iter(indices.items()))
    unnamed = [name for name, values in named.items() if values is not None and name not in indices]
    problems = []
    for name, index in indices.items():
        if len(index) > len(reference) and _shared(reference, index).all():
            problems.append(
                f"{name}: expected the {len(reference):,} records of {first}, found {len(index):,}, with these among "
                "them. Select them by label (.loc)."
            )
        if len(index) != len(reference) or index.equals(reference):
            continue
        if problem := _label_problem(index, reference, unnamed):
            twice = "" if reference.is_unique else f" (whose labels repeat, first {_repeated(reference)})"
            problems.append(f"{name}: expected the index of {first}{twice}, found {problem}. {ALIGN}")
            continue
        order = index.get_indexer(reference)
        found[name] = named[name].iloc[order] if hasattr(named[name], "iloc") else named[name].select(order)
    if problems:
        raise ArrayError(*problems)
    return found


def _label_problem(index: Any, reference: Any, unnamed: list[str]) -> str:
    """Why values with the one index cannot be put into the order of the other, of the same length; "" if they can.

    unnamed: the names of values without an index.
    """
    absent = ~_shared(index, reference)
    if absent.any():
        label = index[absent].tolist()[0]
        twice = "" if index.is_unique else f", and labels repeat, first {_repeated(index)}"
        return f"another: {np.count_nonzero(absent):,} of {len(index):,} labels are not in it, first {label!r}{twice}"
    if not (index.is_unique and reference.is_unique):
        return "the same labels in another order, some of them repeated"
    return f"the same labels in another order, which {unnamed[0]} does not have" if unnamed else ""


def _repeated(index: Any) -> str:
    """The first label of an index that it has before, for a message."""
    return repr(index[index.duplicated()].tolist()[0])


def _shared(index: Any, other: Any) -> Flags:
    """Which labels of an index [N] another has, too: none if one has more levels than the other."""
    return np.asarray(index.isin(other) if index.nlevels == other.nlevels else np.zeros(len(index), dtype=bool))


def _numeric(name: str, values: Any) -> npt.NDArray[Any]:
    array = as_array(name, values)
    if array.dtype.kind not in "biuf":
        raise ArrayError(f"{name}: expected numbers, found dtype {array.dtype}. Convert to float first.")
    return array


def _places(bad: Flags, *, rows: bool = False) -> str:
    """The number of bad values and their first indices, or rows of a file, counted from 1."""
    places = np.argwhere(bad) + rows
    shown = ", ".join(str(place[0] if len(place) == 1 else tuple(map(int, place))) for place in places[:MOST_LISTED])
    return f"{len(places):,} of {bad.size:,}, first {'in row' if rows else 'at index'} {shown}"


def first(values: Vector, bad: Flags) -> str:
    """The first bad value [N], its index and the number of bad ones, for a message."""
    place = int(np.argmax(bad))
    return f"{values[place]:.4g} at index {place} ({np.count_nonzero(bad):,} of {len(bad):,} records)"


def value_problems(
    name: str,
    array: npt.NDArray[Any],
    *,
    nonnegative: bool = False,
    positive: bool = False,
    advice: str = CORRECT,
    rows: bool = False,
) -> list[str]:
    """Problems of the values of a numeric array: NaN, infinity, and values beyond their limits.

    nonnegative, positive: whether values must be >= 0 (and <= LARGEST), or > 0.
    advice: for values that are not.
    rows: the values are a column of a file, whose rows are counted from 1.
    """
    # One pass suffices for the common case without problems: min is NaN if any value is, infinite if any value is.
    if array.dtype.kind in "biu":
        low, high = (array.min(), array.max()) if array.size else (0, 0)
    else:
        with np.errstate(invalid="ignore"):
            low, high = (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
    too_low = array.size > 0 and ((nonnegative and low < 0) or (positive and low <= 0))
    too_high = array.size > 0 and nonnegative and high > LARGEST
    if np.isfinite(low) and np.isfinite(high) and not (too_low or too_high):
        return []
    problems, places = [], functools.partial(_places, rows=rows)
    if (bad := np.isnan(array)).any():
        problems.append(f"{name}: expected finite numbers, found NaN ({places(bad)}). Drop or fill these records.")
    if (bad := np.isinf(array)).any():
        found = "infinity" if array[bad].max() > 0 else "-infinity"
        problems.append(f"{name}: expected finite numbers, found {found} ({places(bad)}). Drop or clip these records.")
    if too_high and (bad := (array > LARGEST) & np.isfinite(array)).any():
        found = f"{array[bad].max():g} ({places(bad)})"
        problems.append(
            f"{name}: expected values <= {LARGEST:g}, whose squares can be added up, found {found}. {CORRECT}"
        )
    for limited, sign, bad in ((nonnegative, ">=", array < 0), (positive, ">", array <= 0)):
        if limited and bad.any():
            problems.append(f"{name}: expected values {sign} 0, found {np.nanmin(array):g} ({places(bad)}). {advice}")
    return problems


def difference_problems(name: str, differences: npt.NDArray[Any]) -> list[str]:
    """A problem if differences [N] are not all 0, but so small that their squares lose digits or underflow."""
    largest = float(np.abs(differences).max()) if differences.size else 0.0
    if not 0 < largest < SMALLEST:
        return []
    return [
        f"{name}: expected the largest >= {SMALLEST:g} (or all 0), whose square keeps its digits, found {largest:g}. "
        "Rescale targets and answers to a smaller unit."
    ]


def vector(
    name: str,
    values: Any,
    *,
    length: int | None = None,
    nonnegative: bool = False,
    positive: bool = False,
    advice: str = CORRECT,
) -> Vector:
    """`values` as a finite float64 [N], N >= 1; `nonnegative`, `positive` and `advice` as in `value_problems`.

    Raises:
        ArrayError: naming every problem: not one-dimensional, empty, wrong length, NaN, infinity, too low.
    """
    array = _numeric(name, values)
    problems: list[str] = []
    if array.ndim != 1:
        problems.append(
            f"{name}: expected one dimension [N], found shape {array.shape}. Use .ravel() or pick a column."
        )
    elif array.size == 0:
        problems.append(f"{name}: expected at least one record, found none.")
    elif length is not None and len(array) != length:
        problems.append(f"{name}: expected {length:,} records like the others, found {len(array):,}.")
    problems += value_problems(name, array, nonnegative=nonnegative, positive=positive, advice=advice)
    if problems:
        raise ArrayError(*problems)
    return np.ascontiguousarray(array, dtype=np.float64)


def vectors(
    *, nonnegative: tuple[str, ...] = (), positive: tuple[str, ...] = (), advice: str = CORRECT, **named: Any
) -> tuple[Vector, ...]:
    """Several vectors of equal length, lined up by `aligned`; the problems of all are reported together.

    nonnegative, positive: names of vectors whose values must be >= 0, or > 0; `advice`: for values that are not.
    """
    arrays: list[Vector] = []
    lengths: dict[str, int] = {}
    problems: list[str] = []
    for name, values in aligned(named).items():
        try:
            array = _numeric(name, values)
            if array.ndim == 1 and array.size:
                lengths[name] = len(array)
            limits = {"nonnegative": name in nonnegative, "positive": name in positive}
            arrays.append(vector(name, array, **limits, advice=advice))
        except ArrayError as error:
            problems += error.problems
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} has {length:,}" for name, length in lengths.items())
        problems.append(f"expected the same number of records in each, found: {found}.")
    if problems:
        raise ArrayError(*problems)
    return tuple(arrays)


def flags(name: str, values: Any, *, length: int | None = None) -> Flags:
    """`values` as booleans [N]; accepts booleans and the numbers 0 and 1."""
    array = as_array(name, values, "booleans")
    if array.dtype.kind in "OUT" and array.size:
        words = sorted({str(value) for value in array.flat})
        shown = ", ".join(map(repr, words[:MOST_LISTED]))
        advice = f"Say which are true, as in {name}=(values == {words[-1]!r})."
        if missing(array.reshape(-1)).any():
            advice = "Fill missing ones."
        raise ArrayError(f"{name}: expected booleans, or 0 and 1, found {shown}. {advice}")
    if array.dtype.kind == "M" and array.size:
        latest = str(np.fmax.reduce(array.ravel()))[:10]
        advice = f"Say which are true, as in {name}=(values >= np.datetime64({latest!r}))."
        raise ArrayError(f"{name}: expected booleans, or 0 and 1, found dates. {advice}")
    array = _numeric(name, array)
    if array.dtype.kind != "b":
        array = vector(name, array, length=length)
        odd = (array != 0) & (array != 1)
        if odd.any():
            found = f"{array[odd][0]:g} ({_places(odd)})"
            advice = f"Say which are true, as in {name}=(values == {array[odd][0]:g})."
            raise ArrayError(f"{name}: expected only 0 and 1, found {found}. {advice}")
    if array.ndim != 1 or (length is not None and len(array) != length):
        wanted = "[N]" if length is None else f"[{length}]"
        raise ArrayError(f"{name}: expected shape {wanted}, found {array.shape}.")
    return array.astype(np.bool_, copy=False)


def masks(*, volume: bool = False, **named: Any) -> tuple[Flags, ...]:
    """Masks of one shape as booleans [...]: of booleans, or of numbers that are all 0 or 1; `volume`: [X, Y, Z] only.

    Raises:
        ArrayError: naming every problem: no voxel, other axes, NaN, other numbers, shapes that differ.
    """
    arrays, problems = [], []
    for name, values in named.items():
        array, wrong = _mask(name, values, volume=volume)
        arrays.append(array)
        problems += wrong
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1 and not problems:
        found = ", ".join(f"{name} has {array.shape}" for name, array in zip(named, arrays, strict=True))
        problems.append(f"expected masks of one shape, found: {found}. Are they of the same record and resolution?")
    if problems:
        raise ArrayError(*problems)
    return tuple(arrays)


def spacing(values: Any) -> Vector:
    """The three edges of a voxel in mm, finite and above 0: [3]."""
    try:
        edges = _numeric("spacing", values).astype(np.float64)
    except ArrayError:
        edges = np.zeros(0)
    if edges.shape != (3,) or not ((edges >= 1 / LONGEST_EDGE) & (edges <= LONGEST_EDGE)).all():
        raise ArrayError(f"spacing: expected three edges of a voxel above 0 in mm, found {quoted(values, 100)}.")
    return edges


def voxels(name: str, values: Any, *, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Finite numbers, one for each voxel of a mask of this shape, in their own type."""
    array = _numeric(name, values)
    problems = value_problems(name, array)
    if array.shape != shape:
        problems.append(f"{name}: expected the shape {shape} of the masks, found {array.shape}.")
    if problems:
        raise ArrayError(*problems)
    return array


def _mask(name: str, values: Any, *, volume: bool) -> tuple[Flags, list[str]]:
    """Values as booleans, and why they are no mask."""
    try:
        array = _numeric(name, values)
    except ArrayError as error:
        return np.zeros(0, np.bool_), list(error.problems)
    problems = []
    if volume and array.ndim != 3:
        advice = "An image becomes a volume by [:, :, None]; of 4D files, pick one volume."
        problems.append(f"{name}: expected a volume [X, Y, Z], found shape {array.shape}. {advice}")
    if not array.size:
        problems.append(f"{name}: expected at least one voxel, found shape {array.shape}.")
    flags = array.astype(np.bool_, copy=False)
    if array.dtype.kind == "b" or np.array_equal(array, flags):
        return flags, problems
    odd = array != flags
    return flags, [*problems, f"{name}: expected only 0 and 1, found {_odd_voxels(name, array, odd)}"]


def _odd_voxels(name: str, array: npt.NDArray[Any], odd: Flags) -> str:
    """Values other than 0 and 1 in an array, their positions, and what to do."""
    value = array[odd][0]
    found = f"{value:g} ({_places(odd)})"
    if np.isnan(array).any():
        return f"NaN ({_places(np.isnan(array))}). Fill these voxels, or leave them out of the region."
    if (array[array != 0] == value).all():
        return f"{found} instead of 1. Compare it with 0: {name} > 0."
    if array.min() >= 0 and array.max() <= 1:
        return f"{found}. Probabilities? Compare them with a threshold: {name} >= 0.5."
    return f"{found}. Labels of several classes? Select one of them: {name} == 1."


def codes(name: str, values: Any, *, length: int | None = None) -> npt.NDArray[np.int64]:
    """Any labels [N] (text, integers, dates) as integers 0 … K-1 in sorted order of the labels."""
    array = as_array(name, values, "labels")
    if array.ndim != 1 or (length is not None and len(array) != length):
        wanted = "[N]" if length is None else f"[{length}]"
        raise ArrayError(f"{name}: expected shape {wanted}, found {array.shape}.")
    if (gaps := missing(array)).any():
        raise ArrayError(
            f"{name}: expected a label for every record, found missing ones ({_places(gaps)}). Fill or drop them."
        )
    if array.dtype.kind == "O":
        try:
            array = array.astype(str)
        except UnicodeError as error:
            raise ArrayError(f"{name}: expected labels that are text, found bytes: {error}. Decode them.") from None
        except ValueError:  # tuples, as of a pandas.MultiIndex
            array = np.array([str(label) for label in array])
    return np.unique(array, return_inverse=True)[1].astype(np.int64).reshape(-1)


def missing(labels: npt.NDArray[Any]) -> Flags:
    """A mask of labels [N] that are None, NaN, NaT, infinite or pandas.NA."""
    absent = np.zeros(len(labels), dtype=np.bool_)
    if labels.dtype.kind == "f":
        absent = ~np.isfinite(labels)
    elif labels.dtype.kind in "mM":
        absent = np.isnat(labels)
    elif labels.dtype.kind == "O":  # missing values do not equal themselves; pandas.NA is recognised by its text
        absent = np.array([label is None or not _equals_itself(label) for label in labels], dtype=np.bool_)
    return absent


def _equals_itself(label: Any) -> bool:
    try:
        return str(label == label) == "True"
    except Exception:  # of a label that is an array, say: it is no missing value, and refused as no text
        return True


def threshold(value: Any) -> float:
    """An acceptable-error threshold: a finite number >= 0."""
    found = number(value)
    if not found >= 0 or found == np.inf:
        raise ArrayError(f"threshold: expected a finite number >= 0, found {quoted(value)}. {THRESHOLD}")
    return found


def levels(values: Any) -> Vector:
    """Levels [L], each strictly between 0 and 1; ArrayError for others."""
    found = vector("levels", values)
    outside = (found <= 0) | (found >= 1)
    if outside.any():
        raise ArrayError(f"levels: expected values strictly between 0 and 1, found {found[outside][0]:g}.")
    return found


def shrunk(
    values: npt.NDArray[np.float64], targets: Vector, *others: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], Vector, float]:
    """Values and targets times a power of two, which is 1 unless they or others are so large that sums are infinite."""
    largest = max(float(np.abs(each).max()) for each in (values, targets, *others))
    if largest <= LARGEST:
        return values, targets, 1.0
    return values * SHRINKAGE, targets * SHRINKAGE, SHRINKAGE


def number(value: Any) -> float:
    """A value as a float; NaN if it is no number, or too large for one."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def names(name: str, values: Any) -> tuple[Any, ...]:
    """Names in a sequence as a tuple of distinct ones.

    Raises:
        ArrayError: for no sequence, or names such as lists.
    """
    try:
        found = tuple(as_array(name, values) if isinstance(values, np.ndarray) else values)
        hash(found)
    except (TypeError, ValueError):
        raise ArrayError(f"{name}: expected a sequence of names, found {quoted(values)}.") from None
    return found


def kind(name: str, value: Any, expected: type[Any] | tuple[type[Any], ...]) -> None:
    """Require a value of a class, or of one of several.

    Raises:
        ArrayError: naming the class that was found.
    """
    if not isinstance(value, expected):
        several = expected if isinstance(expected, tuple) else (expected,)
        known = " or ".join("None" if each is type(None) else each.__name__ for each in several)
        raise ArrayError(f"{name}: expected {known}, found {type(value).__name__}.")
