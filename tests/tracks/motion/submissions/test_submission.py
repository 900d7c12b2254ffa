"""Submissions: the official protobuf and our Parquet, read and written, and everything that may be wrong with them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import ArrayError, PredictionsError, TableError
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.submissions.submission import Submission, read_submission, reading, write_submission
from tests.tracks.motion.made_scene import GOLDEN

FIELDS = ("scene_ids", "track_ids", "trajectories", "weights", "counts", "uncertainty", "is_ood")


@pytest.fixture
def parts(rng):
    """The fields of a right submission: five requests with 1 to 5 modes."""
    counts = np.array([2, 1, 5, 3, 2])
    return {
        "scene_ids": np.array(["a", "a", "b", "c", "d"], dtype=object),
        "track_ids": np.array([1, 2, 1, 2**63 + 5, 0], dtype=np.uint64),
        "trajectories": rng.normal(0, 20, (13, 25, 2)),
        "weights": np.concatenate([rng.dirichlet(np.ones(count)) for count in counts]),
        "counts": counts,
        "uncertainty": rng.normal(size=5),
        "is_ood": np.array([True, False, False, True, False]),
    }


def same(first: Submission, second: Submission, *, weights: float = 0.0) -> None:
    for name in FIELDS:
        one, other = getattr(first, name), getattr(second, name)
        if name in ("weights", "uncertainty"):
            assert one == pytest.approx(other, rel=weights, abs=weights)
        else:
            assert np.array_equal(one, other), name


def slow_read(data: bytes) -> list[tuple[object, ...]]:
    """Every request of a message through protobuf's own objects."""
    return [
        (
            prediction.scene_id,
            prediction.track_id,
            [[(p.x, p.y) for p in mode.trajectory.points] for mode in prediction.weighted_trajectories],
            [mode.weight for mode in prediction.weighted_trajectories],
            prediction.uncertainty_measure,
            prediction.is_ood,
        )
        for prediction in protobuf.parse_submission(data).predictions
    ]


def agrees(submission: Submission, data: bytes) -> None:
    requests = slow_read(data)
    assert len(requests) == len(submission)
    for row, (scene, track, modes, weights, uncertainty, is_ood) in enumerate(requests):
        start = submission.modes.starts[row]
        part = slice(start, start + submission.counts[row])
        assert (submission.scene_ids[row], submission.track_ids[row]) == (scene, track)
        assert np.array_equal(submission.trajectories[part], np.array(modes))
        assert submission.weights[part].tolist() == weights
        assert (submission.uncertainty[row], submission.is_ood[row]) == (uncertainty, is_ood)


def message_of(parts, change=lambda predictions: None) -> bytes:
    """A message as protobuf itself writes it, with something spoilt."""
    message = protobuf.message("Submission")()
    place = 0
    for row, count in enumerate(parts["counts"]):
        prediction = message.predictions.add(
            scene_id=parts["scene_ids"][row],
            track_id=int(parts["track_ids"][row]),
            uncertainty_measure=parts["uncertainty"][row],
            is_ood=bool(parts["is_ood"][row]),
        )
        for mode in range(place, place + count):
            added = prediction.weighted_trajectories.add(weight=parts["weights"][mode])
            for x, y in parts["trajectories"][mode]:
                added.trajectory.points.add(x=x, y=y)
        place += count
    change(message.predictions)
    return message.SerializeToString()


# --- there and back ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["submission.pb", "groundtruth.pb"])
def test_the_official_file_is_read_as_protobuf_reads_it(name):
    agrees(read_submission(GOLDEN / name), (GOLDEN / name).read_bytes())


def test_the_official_file_is_written_byte_for_byte(tmp_path):
    path = write_submission(read_submission(GOLDEN / "submission.pb"), tmp_path / "again.pb")
    assert path.read_bytes() == (GOLDEN / "submission.pb").read_bytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["made.parquet", "made.pb"])
def test_what_is_written_is_read_again(tmp_path, parts, name, dtype):
    submission = Submission(**(parts | {"trajectories": parts["trajectories"].astype(dtype)}))
    found = read_submission(write_submission(submission, tmp_path / name))
    if name.endswith(".parquet"):
        same(found, submission)
        assert found.trajectories.dtype == dtype
    else:  # the wire holds positions as double, weights and uncertainties as float
        same(found, submission, weights=1e-6)
        agrees(found, (tmp_path / name).read_bytes())
        assert found.trajectories.dtype == np.float64


def test_equal_submissions_are_equal_files(tmp_path, parts):
    for suffix in (".parquet", ".pb"):
        files = [write_submission(Submission(**parts), tmp_path / f"{k}{suffix}").read_bytes() for k in range(2)]
        assert files[0] == files[1]


def test_points_with_a_height_or_a_coordinate_of_zero_are_read_as_protobuf_reads_them(tmp_path, parts):
    parts["trajectories"][0, 3] = 0.0  # both are left out by protobuf
    parts["trajectories"][4, :, 1] = 0.0

    def heights(predictions):
        for points in (mode.trajectory.points for mode in predictions[2].weighted_trajectories):
            for point in points:
                point.z = 1.5
        predictions[3].weighted_trajectories[0].trajectory.points[7].z = 2.0  # one among points without

    data = message_of(parts, heights)
    (tmp_path / "made.pb").write_bytes(data)
    agrees(read_submission(tmp_path / "made.pb"), data)


def test_many_modes_are_read_in_blocks(tmp_path, parts, monkeypatch):
    data = message_of(parts)
    (tmp_path / "made.pb").write_bytes(data)
    monkeypatch.setattr("shiftbench.tracks.motion.submissions.packed._BLOCK_MODES", 4)
    agrees(read_submission(tmp_path / "made.pb"), data)


def test_tables_of_other_writers_are_read(tmp_path, parts):
    import pyarrow.parquet as pq

    submission = Submission(**parts)
    write_submission(submission, tmp_path / "ours.parquet")
    lists = pl.col("trajectories").cast(pl.List(pl.List(pl.List(pl.Float64))))
    pq.write_table(
        pl.read_parquet(tmp_path / "ours.parquet").with_columns(lists).to_arrow(), tmp_path / "lists.parquet"
    )
    same(read_submission(tmp_path / "lists.parquet"), submission)


def test_scenes_as_categories_are_text(tmp_path, parts):
    path = write_submission(Submission(**parts), tmp_path / "plain.parquet")
    categories = pl.col("scene_id").cast(pl.Categorical)
    pl.read_parquet(path).with_columns(categories).write_parquet(tmp_path / "other.parquet")
    same(read_submission(tmp_path / "other.parquet"), read_submission(path))


def test_as_many_modes_for_each_request_come_from_arrays(tmp_path, rng):
    modes, weights = rng.normal(size=(4, 3, 25, 2)), rng.dirichlet(np.ones(3), 4)
    submission = Submission.of((["a", "b", "c", "d"], range(4)), modes, weights, np.arange(4))
    assert np.array_equal(submission.trajectories.reshape(modes.shape), modes)
    assert not submission.is_ood.any()
    frame = pl.DataFrame(
        {"scene_id": list("abcd"), "track_id": [0, 1, 2, 3], "trajectories": modes, "weights": weights,
         "uncertainty": [0.0, 1.0, 2.0, 3.0]}
    )  # fmt: skip
    frame.write_parquet(tmp_path / "arrays.parquet")
    same(read_submission(tmp_path / "arrays.parquet"), submission)


def test_selected_requests_keep_their_modes(parts):
    whole = Submission(**parts)
    part = whole.select([3, 0])
    assert [part.name(row) for row in range(2)] == [f"c/{2**63 + 5}", "a/1"]
    assert np.array_equal(part.trajectories, np.concatenate([whole.trajectories[8:11], whole.trajectories[:2]]))
    assert part.weights.tolist() == [*whole.weights[8:11], *whole.weights[:2]]


# --- bad input --------------------------------------------------------------------------------------------------------


def test_all_problems_of_a_protobuf_are_reported_together_with_scene_and_track(tmp_path, parts):
    def spoil(predictions):
        predictions[0].weighted_trajectories[1].weight *= 0.5
        del predictions[2].weighted_trajectories[4].trajectory.points[20:]
        del predictions[1].weighted_trajectories[:]
        predictions[3].weighted_trajectories[0].trajectory.points[3].x = float("nan")
        predictions[3].uncertainty_measure = float("inf")
        predictions[4].weighted_trajectories[0].weight = -1
        predictions.add().CopyFrom(predictions[0])
        predictions[5].uncertainty_measure += 1

    (tmp_path / "bad.pb").write_bytes(message_of(parts, spoil))
    with pytest.raises(PredictionsError) as caught:
        read_submission(tmp_path / "bad.pb")
    text = str(caught.value)
    for expected in (
        "expected 25 points (5 s at 5 Hz) in each mode, found 20 in b/1",
        "expected each request once, found more than one of a/1",
        "modes: expected at least one for each request, found none in a/2",
        f"found nan in c/{2**63 + 5}",
        f"uncertainty: expected finite numbers, found inf in c/{2**63 + 5}",
        "weights: expected numbers >= 0, found -1 in d/0",
        "weights: expected a sum of 1 (within 0.001) over the modes of a request, found 0.",
    ):
        assert expected in text
    assert all(problem.startswith(str(tmp_path / "bad.pb")) for problem in caught.value.problems)


def test_all_problems_of_a_table_are_reported_together(tmp_path, parts):
    write_submission(Submission(**parts), tmp_path / "good.parquet")
    rows = pl.read_parquet(tmp_path / "good.parquet").to_dicts()
    rows[0]["weights"] = [0.5, 0.33]
    rows.append(rows[0] | {"scene_id": "e", "weights": [1.0]})
    rows.append(rows[0] | {"scene_id": "f", "weights": [-0.2, 1.2]})
    rows[1]["trajectories"] = [rows[1]["trajectories"][0][:24]]
    rows[2]["uncertainty"] = None
    rows[3]["scene_id"] = None
    rows[4]["trajectories"], rows[4]["weights"] = [], []
    schema = {
        "trajectories": pl.List(pl.List(pl.List(pl.Float64))), "weights": pl.List(pl.Float64), "track_id": pl.UInt64,
    }  # fmt: skip
    pl.DataFrame(rows, schema_overrides=schema).write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(PredictionsError) as caught:
        read_submission(tmp_path / "bad.parquet")
    text = str(caught.value)
    for expected in (
        "found 0.83 in a/1",
        "found 24 in a/2",
        "uncertainty: expected finite numbers, found nan in b/1",
        f"scene_id: expected text for each request, found none in 1 of 7 (such as track {2**63 + 5})",
        "weights: expected one for each mode, found 1 for 2 in e/1. Give each mode one.",
        "weights: expected numbers >= 0, found -0.2 in f/1",
        "modes: expected at least one for each request, found none in d/0",
    ):
        assert expected in text
    assert len(caught.value.problems) == 7  # none follows from what another was filled with


def test_all_problems_of_the_columns_are_reported_together(tmp_path, parts):
    write_submission(Submission(**parts), tmp_path / "good.parquet")
    frame = pl.read_parquet(tmp_path / "good.parquet").drop("weights")
    frame.with_columns(pl.col("track_id", "uncertainty").cast(pl.String)).write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(PredictionsError, match="expected a column 'weights', found none") as caught:
        read_submission(tmp_path / "bad.parquet")
    assert ["track_id" in each or "uncertainty" in each for each in caught.value.problems[1:]] == [True, True]


def test_what_a_wrong_file_is_about_is_known_as_far_as_its_ids_can_be_read(tmp_path, parts):
    write_submission(Submission(**parts), tmp_path / "good.parquet")
    frame = pl.read_parquet(tmp_path / "good.parquet")
    for name, change in {"weights": frame.drop("weights"), "uncertainty": frame.with_columns(uncertainty=None)}.items():
        change.write_parquet(tmp_path / f"{name}.parquet")
        found = reading(tmp_path / f"{name}.parquet")
        assert found.submission is None
        assert found.problems
        assert [found.requests.name(row) for row in range(5)] == [Submission(**parts).name(row) for row in range(5)]
    frame.drop("track_id").write_parquet(tmp_path / "bad.parquet")
    assert reading(tmp_path / "bad.parquet").requests is None
    right = reading(tmp_path / "good.parquet")
    assert (len(right.submission), len(right.requests), right.problems) == (5, 5, ())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop("weights"), "expected a column 'weights', found none"),
        (lambda f: f.with_columns(pl.col("track_id").cast(pl.String)), "column 'track_id': expected whole numbers"),
        (
            lambda f: f.with_columns(pl.lit(-1).alias("track_id")),
            "column 'track_id': expected numbers from 0 to 2.64 - 1, found -1 in 5 rows",
        ),
        (
            lambda f: f.with_columns(pl.col("trajectories").list.first()),
            "column 'trajectories': expected a list of modes, each a list of 25 pairs, found Array",
        ),
        (
            lambda f: f.with_columns(pl.col("weights").list.head(1)),
            r"weights: expected one for each mode, found 1 for 2 in a/1, 1 for 5 in b/1",
        ),
        (lambda f: f.with_columns(pl.lit("high").alias("uncertainty")), "column 'uncertainty': expected numbers"),
        (lambda f: f.head(0), "expected at least one row, found none"),
    ],
)
def test_a_table_of_other_columns_is_refused(tmp_path, parts, change, message):
    write_submission(Submission(**parts), tmp_path / "good.parquet")
    change(pl.read_parquet(tmp_path / "good.parquet")).write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(PredictionsError, match=message):
        read_submission(tmp_path / "bad.parquet")


@pytest.mark.parametrize("cut", [1, 100, 16_000, 165_070])
def test_a_truncated_file_is_refused(tmp_path, cut):
    (tmp_path / "cut.pb").write_bytes((GOLDEN / "submission.pb").read_bytes()[:cut])
    with pytest.raises(PredictionsError, match=r"cut\.pb: expected one serialised Submission message, found .* bytes"):
        read_submission(tmp_path / "cut.pb")


def test_a_truncated_table_is_refused(tmp_path, parts):
    path = write_submission(Submission(**parts), tmp_path / "cut.parquet")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(PredictionsError, match="expected a readable Parquet file"):
        read_submission(path)


def test_foreign_files_are_refused(tmp_path):
    with pytest.raises(PredictionsError, match=r"expected one serialised Submission message, found 215,326 bytes"):
        read_submission(GOLDEN / "inputs_metrics.npz")
    (tmp_path / "empty.pb").write_bytes(b"")
    with pytest.raises(PredictionsError, match="found an empty file"):
        read_submission(tmp_path / "empty.pb")
    with pytest.raises(PredictionsError, match="expected a file, found: No such file"):
        read_submission(tmp_path / "none.pb")


@pytest.mark.parametrize("scene_id", ["synthetic", "eval-000000", "\x0a\x01a", "0"])
def test_a_scene_is_told_from_a_submission_whatever_its_id(tmp_path, scene_id):
    # The bytes of some ids are those of a prediction without fields that we know, of others they are none.
    scene = protobuf.parse_scene((GOLDEN / "synthetic_scene_1.pb").read_bytes())
    scene.id = scene_id
    (tmp_path / "scene.pb").write_bytes(scene.SerializeToString())
    with pytest.raises(PredictionsError, match=r"scene\.pb: expected one serialised Submission message, found a Scene"):
        read_submission(tmp_path / "scene.pb")


def test_damaged_bytes_never_end_in_a_librarys_traceback(tmp_path, rng):
    data = np.frombuffer((GOLDEN / "submission.pb").read_bytes()[:30_000], dtype=np.uint8)
    for _ in range(150):
        damaged = data.copy()
        damaged[rng.integers(0, len(data), 3)] = rng.integers(0, 256, 3)
        (tmp_path / "bad.pb").write_bytes(damaged.tobytes())
        with pytest.raises(PredictionsError, match="expected"):  # at least for the cut
            read_submission(tmp_path / "bad.pb")


@pytest.mark.parametrize("name", ["huge.pb", "huge.parquet"])
def test_a_file_of_more_than_two_gigabytes_is_not_read(tmp_path, name):
    with (tmp_path / name).open("wb") as file:
        file.truncate(2**31)  # sparse: it takes no room
    with pytest.raises(PredictionsError, match=r"expected at most 2,147,483,647 bytes, found 2,147,483,648"):
        read_submission(tmp_path / name)


def test_more_than_protobuf_can_hold_is_not_written(tmp_path, parts, monkeypatch):
    monkeypatch.setattr("shiftbench.tracks.motion.scenes.protobuf.MESSAGE_BYTES", 5_000)
    with pytest.raises(PredictionsError, match=r"the most protobuf allows, found about .* Write Parquet instead"):
        write_submission(Submission(**parts), tmp_path / "made.pb")
    with pytest.raises(PredictionsError, match=r"expected a name that ends in \.parquet or \.pb"):
        write_submission(Submission(**parts), tmp_path / "made.csv")


def test_an_uncertainty_that_the_wire_cannot_hold_is_not_written(tmp_path, parts):
    parts["uncertainty"][2] = 1e300
    with pytest.raises(PredictionsError, match=r"numbers that float32 can hold, found 1 beyond it \(b/1\)"):
        write_submission(Submission(**parts), tmp_path / "made.pb")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("uncertainty", [0.0], r"uncertainty: expected shape \(5,\) like the scene ids, found \(1,\)"),
        ("trajectories", np.zeros((13, 24, 2)), r"trajectories: expected \[M, 25, 2\], found shape \(13, 24, 2\)"),
        ("trajectories", np.zeros((12, 25, 2)), r"weights: expected shape \(12,\), one for each mode, found \(13,\)"),
        ("counts", [2, 1, 5, 3, 3], "counts: expected to sum to 13 modes, found 14"),
        ("track_ids", [1.5, 2, 3, 4, 5], "track_ids: expected values of type uint64, found dtype float64"),
        ("track_ids", [-1, 2, 3, 4, 5], "track_ids: expected values of type uint64, found -1"),
        ("trajectories", np.full((13, 25, 2), 1e9), r"expected positions within 1e\+08 m, found 1e\+09 in a/1"),
        ("scene_ids", [], "expected at least one request"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(parts, name, value, message):
    with pytest.raises(PredictionsError, match=message):
        Submission(**(parts | {name: value}))


def test_arrays_of_other_shapes_make_no_submission():
    with pytest.raises(PredictionsError, match=r"expected trajectories \[N, D, 25, 2\] and weights \[N, D\], found"):
        Submission.of((["a"], [1]), np.zeros((1, 25, 2)), [[1.0]], [0.0])


def test_rows_of_different_lengths_make_no_submission(parts):
    ragged = [[np.zeros((25, 2))], [np.zeros((25, 2))] * 2]
    with pytest.raises(
        ArrayError, match=r"trajectories: expected the same number of modes for each request, .* found rows"
    ) as told:
        Submission.of((["a", "b"], [1, 2]), ragged, [[1.0], [0.5, 0.5]], [0.0, 0.0])
    assert [each.split(":")[0] for each in told.value.problems] == ["trajectories", "weights"]
    with pytest.raises(PredictionsError, match=r"trajectories: expected .* found rows of different lengths") as several:
        Submission(**parts | {"trajectories": ragged, "uncertainty": "high"})
    assert len(several.value.problems) == 2


def test_the_value_of_a_submission_needs_no_protobuf():
    code = (
        "import sys; sys.modules['google.protobuf'] = None\nfrom shiftbench.tracks.motion.submissions import submission"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    code += (
        "\nfrom shiftbench.errors import MissingExtraError\ntry: submission.read_submission(sys.argv[1])\n"
        "except MissingExtraError as error: assert 'shiftbench[motion]' in str(error)\nelse: sys.exit(1)"
    )
    done = subprocess.run([sys.executable, "-c", code, GOLDEN / "submission.pb"], check=False)
    assert done.returncode == 0


def test_endings_in_capitals_are_read_too(tmp_path, parts):
    for name in ("a.parquet", "a.pb"):
        path = write_submission(Submission(**parts), tmp_path / name)
        assert len(read_submission(path.rename(tmp_path / name.upper()))) == 5


def test_tracks_beyond_64_bits_are_refused(tmp_path, parts):
    write_submission(Submission(**parts), tmp_path / "good.parquet")
    frame = pl.read_parquet(tmp_path / "good.parquet")
    frame.with_columns(pl.col("track_id").cast(pl.Int128) + 2**100).write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(PredictionsError, match=r"'track_id': expected numbers from 0 to 2.64 - 1, found \d{31} in 5"):
        read_submission(tmp_path / "bad.parquet")


def test_a_place_that_cannot_be_written_to_is_named(tmp_path, parts):
    (tmp_path / "file").write_text("")
    for name in ("a.pb", "a.parquet"):
        with pytest.raises(TableError, match=rf"{name}: expected .* found"):
            write_submission(Submission(**parts), tmp_path / "file" / name)


def test_ids_that_would_break_a_message_are_shown_short(parts):
    ids = np.array(["a", "x" * 10_000, "two\nlines", "c", "d"], dtype=object)
    with pytest.raises(PredictionsError) as raised:
        Submission(**parts | {"scene_ids": ids, "uncertainty": np.full(5, np.nan)})
    (told,) = raised.value.problems
    assert "\n" not in told
    assert f"{'x' * 60}…/2" in told
    assert r"two\nlines/1" in told
