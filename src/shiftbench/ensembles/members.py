"""What fitted models predict, as arrays: ensembles of scikit-learn, several models, PyTorch modules, their outputs.

No library is imported. Models are known by what they can do: `predict`, `predict_proba`, `estimators_`, or a call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shiftbench import check
from shiftbench.ensembles.ensemble import Array
from shiftbench.errors import ArrayError, quoted

FIT = "Fit it first, and give it the columns that it was fitted to, in the form that it takes."
COLUMNS = "Give it the columns that it was fitted to, in the form that it takes."
TWO_CLASSES = "Two classes? Use np.stack([1 - p, p], axis=-1)."
DROPOUT = "For Monte Carlo dropout, give the outputs of draws instead: [model(x) for _ in range(20)]."


class Outputs(NamedTuple):
    """What M members predict for N records.

    values: means [M, N], or probabilities [M, N, C]. variances: [M, N], if the models know them. classes: names of C.
    """

    values: Any
    variances: Array | None = None
    classes: tuple[Any, ...] | None = None


def of_numbers(members: Any, records: Any) -> Outputs:
    """The means of members, with variances if models predict standard deviations: see `Gaussian.from_members`."""
    if not (models := _models(members, records)):
        return Outputs(members_first("members", members))
    found = [_number(model, seen) for model, seen in models]
    if isinstance(members, (list, tuple)):
        return _with_deviations([_name(model) for model, _ in models], found)
    (model, seen), (mean, deviation) = models[0], found[0]
    if deviation is not None:
        return Outputs(mean[None], np.square(deviation)[None])
    inner = [_number(part, own) for part, own in _parts(model, seen)]
    if not inner:
        raise ArrayError(
            "members: expected several models, or one with members of its own (a forest, bagging), found one "
            f"{_name(model)}, whose numbers alone have no uncertainty. Fit several with different seeds. {DROPOUT}"
        )
    if not _agree(np.mean([each for each, _ in inner], axis=0), mean):
        raise ArrayError(
            f"members: expected the members of {_name(model)} to predict what it predicts on average, found other "
            "numbers: they are stages or parts of one model (boosting, stacking, weights). Fit several models instead."
        )
    return _with_deviations([_name(model)] * len(inner), inner)


def variances(values: Any, index: Any) -> Any:
    """The variances [M, N] of members, lined up with the index of their records; None stays."""
    several = values if isinstance(values, (list, tuple)) else [values]
    named = {f"variance of member {k + 1}" if len(several) > 1 else "variance": each for k, each in enumerate(several)}
    lined = check.aligned(named if index is None else {"members": index.to_series(), **named})
    arrays = [lined[name] for name in named]
    return members_first("variance", arrays if isinstance(values, (list, tuple)) else arrays[0])


def of_classes(members: Any, records: Any) -> Outputs:
    """The class probabilities of members: see `Categorical.from_members`."""
    if not (models := _models(members, records)):
        tables = members if isinstance(members, (list, tuple)) else [members]
        if tables and all(_is_table(each) for each in tables):  # a column for each class
            return _with_all_classes(tables, [(each.to_numpy(), tuple(each.columns)) for each in tables])
        if isinstance(members, (list, tuple)) and any(_is_labelled(each) for each in members):
            return _of_labels(members)
        values = check.as_array("members", members)
        if values.dtype.kind in "OUT":
            raise ArrayError(
                f"members: expected probabilities, found dtype {values.dtype}. Use model.predict_proba(X)."
            )
        _require_classes(members, values)
        return Outputs(values[None] if values.ndim == 2 else values)
    found = [_probabilities(model, seen) for model, seen in models]
    if isinstance(members, (list, tuple)):
        return _with_all_classes([model for model, _ in models], found)
    (model, seen), (whole, classes) = models[0], found[0]
    if classes is not None:
        for names in (range(len(classes)), classes):  # a forest fits its trees to the positions of the classes
            parts = [_of_part(part, own, names) for part, own in _parts(model, seen)]
            inner = [each for each in parts if each is not None]
            if inner and len(inner) == len(parts) and _agree(np.mean(inner, axis=0), whole):
                return Outputs(np.stack(inner), classes=classes)
    return Outputs(whole[None], classes=classes)


# --- models -----------------------------------------------------------------------------------------------------------


def _models(members: Any, records: Any) -> list[tuple[Any, Any]]:
    """Models, each with the records as it sees them; [] if the members are arrays."""
    if members is None or isinstance(members, (str, dict)):
        found = "a mapping" if isinstance(members, dict) else repr(members)
        raise ArrayError(
            f"members: expected fitted models or what they predict, found {found}. Give a list or an array."
        )
    several = members if isinstance(members, (list, tuple)) else [members]
    kinds = {_is_model(each) for each in several}
    if True not in kinds:
        if records is not None and check.row_labels(records) is None:
            raise ArrayError(
                "records: expected none beside predictions, found some. Leave them out; variances are variance=…"
            )
        return []
    if False in kinds:
        raise ArrayError("members: expected models only, or arrays only, found both. Give the outputs of all.")
    if records is None:
        raise ArrayError("records: expected what the models are to predict, found none. Use from_members(model, X).")
    return [_unwrapped(each, records) for each in several]


def lined_up(members: Any, records: Any) -> tuple[Any, Any]:
    """Members that are Series or tables in the order of the first of them, and the pandas index of the records."""
    if isinstance(members, (list, tuple)) and any(check.row_labels(each) is not None for each in members):
        members = [*check.aligned({f"member {k + 1}": each for k, each in enumerate(members)}).values()]
        return members, next(index for each in members if (index := check.row_labels(each)) is not None)
    return members, check.row_labels(members if records is None else records)


def _is_table(value: Any) -> bool:
    return hasattr(value, "columns") and hasattr(value, "to_numpy")


def _is_model(value: Any) -> bool:
    return any(map(callable, (value, getattr(value, "predict", None), getattr(value, "predict_proba", None))))


def _unwrapped(model: Any, records: Any) -> tuple[Any, Any]:
    """The model inside a search or a pipeline, and the records as that model sees them."""
    if getattr(model, "training", False) is True:
        raise ArrayError(
            f"{_name(model)}: expected a module in eval mode, found one in training, whose dropout draws at random. "
            f"Call .eval() first. {DROPOUT}"
        )
    if hasattr(model, "best_estimator_"):
        return _unwrapped(model.best_estimator_, records)
    if hasattr(model, "named_steps"):
        *_, (_, last) = model.steps
        return _unwrapped(last, _called(model, model[:-1].transform, records) if len(model.steps) > 1 else records)
    return model, records


def _parts(model: Any, records: Any) -> list[tuple[Any, Any]]:
    """The members inside an ensemble of scikit-learn with the columns that each sees; [] if there are none."""
    inner = getattr(model, "estimators_", ())
    if not isinstance(inner, (list, tuple)):  # an array of stages
        return []
    # The whole has compared the names of columns; members that are fitted to plain arrays, as in a forest, take these.
    values = np.asarray(records) if hasattr(records, "columns") else records
    named = [records if hasattr(part, "feature_names_in_") else values for part in inner]
    if (columns := getattr(model, "estimators_features_", None)) is not None:
        named = [values[:, own] for own in columns]
    return [_unwrapped(part, own) for part, own in zip(inner, named, strict=True)]


def _name(model: Any) -> str:
    return model.__name__ if isinstance(model, type) else type(model).__name__


def _called(model: Any, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """The output of a model; any exception becomes an error that names the model, with the original as its cause."""
    try:
        return function(*arguments, **named)
    except Exception as error:
        found = " ".join(str(error).split()).rstrip(".")
        is_fitted = type(error).__name__ != "NotFittedError" and (
            hasattr(model, "n_features_in_") or not hasattr(model, "fit")
        )
        raise ArrayError(
            f"{_name(model)}: expected a model that predicts these records, found: {found}. "
            f"{COLUMNS if is_fitted else FIT}"
        ) from error


# --- numbers ----------------------------------------------------------------------------------------------------------


def _number(model: Any, records: Any) -> tuple[Array, Array | None]:
    """The numbers [N] that a model predicts, and their standard deviations if it knows them."""
    if hasattr(model, "predict_proba"):
        raise ArrayError(f"{_name(model)}: expected a regressor, found a classifier. Use Categorical.from_members.")
    predict = getattr(model, "predict", model)
    if _knows_deviations(predict):
        mean, deviation = _called(model, predict, records, return_std=True)
        return _vector(model, mean), _vector(model, deviation)
    return _vector(model, _called(model, predict, records)), None


def _knows_deviations(predict: Callable[..., Any]) -> bool:
    try:
        return "return_std" in inspect.signature(predict).parameters
    except (TypeError, ValueError):  # compiled functions may have no signature
        return False


def _vector(model: Any, values: Any) -> Array:
    array = check.as_array(_name(model), values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ArrayError(
            f"{_name(model)}: expected one number for each record, found shape {array.shape}. Choose one target; give "
            "means and variances as Gaussian(mean, variance)."
        )
    return array


def _with_deviations(names: Sequence[str], found: Sequence[tuple[Array, Array | None]]) -> Outputs:
    known = [deviation for _, deviation in found if deviation is not None]
    if known and len(known) < len(found):
        without = names[[deviation is None for _, deviation in found].index(True)]
        raise ArrayError(f"members: expected standard deviations of all or of none, found none of {without}.")
    return Outputs(_stacked(names, [mean for mean, _ in found]), np.square(np.stack(known)) if known else None)


def members_first(name: str, values: Any) -> Any:
    """Numbers [M, N] from an array, a list of [N] or [N, 1], or a table with a column for each member; None stays."""
    if values is None:
        return None
    if _is_table(values):
        return values.to_numpy().T
    array = check.as_array(name, values)
    return array[..., 0] if array.ndim == 3 and array.shape[-1] == 1 else array


def _stacked(names: Sequence[str], arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    shapes = dict(zip((array.shape for array in arrays), names, strict=True))
    if len(shapes) > 1:
        found = ", ".join(f"{shape} of {name}" for shape, name in shapes.items())
        raise ArrayError(f"members: expected the same shape of all, found {found}.")
    return np.stack(arrays)


# --- classes ----------------------------------------------------------------------------------------------------------


def _probabilities(model: Any, records: Any) -> tuple[Array, tuple[Any, ...] | None]:
    """The class probabilities [N, C] of a model, and the names of the classes if it has any."""
    if hasattr(model, "predict") and not hasattr(model, "predict_proba"):
        raise ArrayError(
            f"{_name(model)}: expected predict_proba, found a model without: its answers have no probabilities. "
            "Calibrate it (CalibratedClassifierCV), or let it vote softly."
        )
    array = check.as_array(_name(model), _called(model, getattr(model, "predict_proba", model), records))
    if array.ndim != 2:
        raise ArrayError(
            f"{_name(model)}: expected probabilities [N, C], found shape {array.shape}. "
            + ("Choose one target." if array.ndim > 2 else TWO_CLASSES)
        )
    classes = getattr(model, "classes_", None)
    if classes is None:
        return array, None
    if np.ndim(classes) != 1:
        raise ArrayError(f"{_name(model)}: expected one name for each class in classes_, found {quoted(classes)}.")
    if len(classes) != array.shape[1]:
        raise ArrayError(
            f"{_name(model)}: expected one name for each of {array.shape[1]} classes in classes_, found "
            f"{len(classes)}. Was the model changed after it was fitted?"
        )
    return array, check.names("classes_", np.asarray(classes).tolist())


def _require_classes(members: Any, values: npt.NDArray[Any]) -> None:
    """Refuse vectors of one probability for each record; rows of several that sum to 1 are the records of one model."""
    vectors = isinstance(members, (list, tuple)) and all(getattr(each, "ndim", 0) == 1 for each in members)
    if not (vectors and values.ndim == 2 and values.dtype.kind in "biuf"):
        return
    if ((values >= 0) & (values <= 1)).all() and not np.isclose(values.sum(axis=1), 1, atol=1e-3).any():
        found = f"shape {values.shape[1:]} of each"
        raise ArrayError(f"members: expected probabilities [N, C], found {found}. {TWO_CLASSES}")


def _with_all_classes(models: Sequence[Any], found: Sequence[tuple[Array, Any]]) -> Outputs:
    """Members with the classes that any of them knows; one that has never met a class gives it probability 0."""
    names = [_name(model) for model in models]
    known = [classes for _, classes in found if classes is not None]
    if not known:
        return Outputs(_stacked(names, [array for array, _ in found]))
    if len(known) < len(found) or not set(known[0]).intersection(*known):
        raise ArrayError(
            "members: expected models of the same classes, found "
            f"{' and '.join(str(list(classes or ['no names'])) for _, classes in found)}. Fit all to the same labels."
        )
    every = known[0]
    if any(set(classes) != set(every) for classes in known):
        every = tuple(sorted(set().union(*known), key=lambda label: (str(type(label)), label)))
    return Outputs(_stacked(names, [_spread(array, classes, every) for array, classes in found]), classes=every)


def _spread(array: Array, classes: Sequence[Any], every: Sequence[Any]) -> Array:
    if array.dtype.kind not in "biuf":
        raise ArrayError(f"members: expected probabilities, found dtype {array.dtype}. Use model.predict_proba(X).")
    whole = np.zeros((len(array), len(every)))
    whole[:, [every.index(label) for label in classes]] = array
    return whole


def _is_labelled(value: Any) -> bool:
    """Whether this is the output of a Hugging Face pipeline for a text: one label with its score, or several."""
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    return isinstance(first, dict) and {"label", "score"} <= first.keys()


def _of_labels(found: Sequence[Any]) -> Outputs:
    """One member [1, N, C] from the labels and scores of N texts, the classes in the order of their names."""
    scores = [
        {entry["label"]: entry["score"] for entry in each}
        if isinstance(each, (list, tuple)) and all(_is_labelled(entry) for entry in each)
        else {}
        for each in found
    ]
    classes = tuple(sorted(scores[0], key=lambda label: (str(type(label)), label)))
    odd = next((place for place, each in enumerate(scores) if each.keys() != set(classes) or len(each) < 2), None)
    if odd is not None:
        raise ArrayError(
            f"members: expected the scores of all classes for each text, found {str(found[odd])[:60]} at index {odd}. "
            "Make the pipeline with top_k=None."
        )
    return Outputs(np.array([[[each[label] for label in classes] for each in scores]]), classes=classes)


def _of_part(part: Any, records: Any, every: Sequence[Any]) -> Array | None:
    """The probabilities of a member, if it was fitted to these labels or some of them."""
    if not hasattr(part, "predict_proba"):
        return None
    array, classes = _probabilities(part, records)
    return _spread(array, classes, every) if classes is not None and set(classes) <= set(every) else None


def _agree(members: Array, whole: Array) -> bool:
    """Whether the mean of the members equals the prediction of the whole model, up to rounding."""
    return members.shape == whole.shape and np.allclose(members, whole, rtol=1e-5, atol=1e-6 * np.abs(whole).max())
