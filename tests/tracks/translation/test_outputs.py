"""Stored outputs: what is written is read again, every form says the same, and what is wrong is named by its line."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shiftbench.errors import ArrayError, PredictionsError, TableError, TableWarning
from shiftbench.tracks.translation import lines, outputs
from shiftbench.tracks.translation.assessing import score_files
from shiftbench.tracks.translation.definition import TASKS
from shiftbench.tracks.translation.outputs import Outputs, published

GOLDEN = Path(__file__).resolve().parents[2] / "golden/translation"

FULL = (
    {
        "id": "one", "source": "شكرا ё̈ 👍", "reference": ["x y", "y"],
        "hypotheses": [
            {"text": "x", "token_log_probabilities": [[-1.0, -2.5], [-0.5, -800.0]], "tokens": ["x", "</s>"],
             "confidence": 0.25, "score": -1.0, "log_probability": -2.0},
            {"text": "", "token_log_probabilities": [[-0.5], [0.0]], "tokens": ["</s>"], "confidence": 0.75,
             "score": -2.0, "log_probability": -2.0},
        ],
        "samples": [{"text": "x"}, {"text": "<b>y</b>"}, {"text": "x"}], "uncertainty": {"a": 0.5, "b": -1.0},
        "error": 3.0, "quality": 97.0, "correct": True, "domain": "chat", "slang": True,
    },
    {
        "id": "two", "source": "b", "reference": "y",
        "hypotheses": [{"text": "y", "token_log_probabilities": [[-1.0], [-3.0]], "tokens": ["y"], "confidence": 1.0,
                        "score": -3.0, "log_probability": -3.0}],
        "samples": [{"text": "y"}], "uncertainty": {"a": 0.25, "b": 2.0}, "error": 0.0, "quality": 100.0,
        "correct": False, "slang": False,
    },
)  # fmt: skip


def written(path: Path, *records: object) -> Path:
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in records), "utf-8")
    return path


def refused(path: Path, *records: object) -> list[str]:
    with pytest.raises(TableError, match=path.name) as caught:
        outputs.read(written(path, *records))
    return [each.removeprefix(f"{path}: ") for each in caught.value.problems]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outputs.jsonl"


@pytest.fixture
def full(path: Path) -> Outputs:
    return outputs.read(written(path, *FULL))


def test_json_lines_hold_all_that_is_known(full):
    assert full.ids == ["one", "two"]
    assert full.texts == ["x", "", "y"]
    assert full.counts.tolist() == [2, 1]
    assert full.references == [("x y", "y"), ("y",)]
    assert full.log_probabilities.tolist() == [[-1, -2.5, -0.5, -1], [-0.5, -800, 0, -3]]
    assert full.lengths.tolist() == [2, 1, 1]
    assert full.tokens == ["x", "</s>", "</s>", "y"]
    assert full.samples.texts == ["x", "<b>y</b>", "x", "y"]
    assert full.samples.sampled
    assert not full.sampled
    assert full.uncertainties["b"].tolist() == [-1, 2]
    assert (full.error.tolist(), full.quality.tolist(), full.correct.tolist()) == ([3, 0], [97, 100], [True, False])
    assert full.columns == {"domain": ["chat", None], "slang": [True, False]}
    assert full.hypotheses().members == 2


@pytest.mark.parametrize("name", ["again.jsonl", "again.jsonl.gz"])
def test_what_is_written_is_read_again_and_is_the_same_bytes(full, tmp_path, name):
    again = outputs.read(outputs.write(tmp_path / name, full))
    twice = outputs.write(tmp_path / f"twice-{name}", again)
    assert twice.read_bytes() == (tmp_path / name).read_bytes()
    data = gzip.decompress(twice.read_bytes()) if name.endswith("gz") else twice.read_bytes()
    assert [json.loads(line) for line in data.splitlines()] == [*FULL]


def test_records_are_selected_with_all_that_is_theirs(full):
    chosen = full.select([1, 0])
    assert chosen.select([1]).texts == full.select(slice(0, 1)).texts == ["x", ""]
    assert chosen.tokens == ["y", "x", "</s>", "</s>"]
    assert chosen.log_probabilities.tolist() == [[-1, -1, -2.5, -0.5], [-3, -0.5, -800, 0]]
    assert chosen.samples.texts == ["y", "x", "<b>y</b>", "x"]
    assert chosen.uncertainties["a"].tolist() == [0.25, 0.5]
    assert chosen.columns["domain"] == [None, "chat"]
    assert full.select([]).texts == []


def test_weights_are_confidences_or_the_softmax_of_means_or_equal():
    counts, texts = np.array([2, 1]), ["a", "b", "c"]
    scores = np.array([-1.0, -801.0, -900.0])
    assert Outputs(["1", "2"], counts, texts, scores=scores).weights().tolist() == [1, 0, 1]
    assert Outputs(["1", "2"], counts, texts).weights().tolist() == [0.5, 0.5, 1]
    assert Outputs(["1", "2"], counts, texts, scores=scores, sampled=True).weights().tolist() == [0.5, 0.5, 1]
    given = Outputs(["1", "2"], counts, texts, scores=scores, confidences=np.array([0.25, 0.75, 1.0]))
    assert given.weights().tolist() == [0.25, 0.75, 1]
    assert given.answers() == ["b", "c"]
    lengths = np.array([4, 2, 1])
    sums = Outputs(["1", "2"], counts, texts, log_likelihoods=np.array([-8.0, -4.0, -1.0]), lengths=lengths)
    assert sums.weights().tolist() == [0.5, 0.5, 1]
    assert sums.answers() == ["a", "c"]  # of equal ones the first
    tokens = np.log([[0.5, 0.5, 0.1], [0.1, 0.3, 0.1]])
    means = Outputs(["1"], np.array([1]), ["a"], lengths=np.array([3]), log_probabilities=tokens)
    assert means.mean_log_likelihoods() == pytest.approx(np.log([0.3, 0.4, 0.1]).mean(), rel=1e-12)


def test_samples_alone_are_the_texts(path):
    found = outputs.read(written(path, {"id": 1, "samples": ["a", "b", "b", "b"]}))
    assert (found.sampled, found.samples, found.weights().tolist()) == (True, None, [0.25] * 4)


def test_a_single_text_may_stand_beside_its_reference_and_its_tokens(path):
    line = {"id": 1, "text": "a b", "reference": "a c", "token_log_probabilities": [-1, -2, -3], "tokens": ["a", "b"]}
    found = outputs.read(written(path, line))
    assert (found.answers(), found.references, found.lengths.tolist()) == (["a b"], [("a c",)], [3])
    assert found.tokens == ["a", "b", "</s>"]  # whose log-probability was given


def test_keys_may_have_other_names(path):
    written(path, {"key": 7, "answer": "a", "gold": "b"})
    found = outputs.read(path, names={"id": "key", "hypothesis": "answer", "reference": "gold"})
    assert (found.ids, found.texts, found.references) == (["7"], ["a"], [("b",)])
    with pytest.raises(TableError, match="hypothesis: expected 'anwser', found 'key', 'answer', 'gold'"):
        outputs.read(path, names={"hypothesis": "anwser"})


def test_keys_of_texts_that_are_not_read_are_told(path):
    written(path, {"id": 1, "hypotheses": [{"text": "a", "logprob": -1, "rank": 1}, {"text": "b", "logprob": -2}]})
    with pytest.warns(TableWarning, match="keys of texts that are not read: 'logprob', 'rank'; those that are: conf"):
        assert outputs.read(path).texts == ["a", "b"]


def test_records_without_ids_are_counted(path):
    assert outputs.read(written(path, {"text": "a"}, "", {"text": "b"})).ids == ["1", "2"]
    assert refused(path, {"text": "a", "id": 3}, {"text": "b"}) == [
        "line 2: id: expected it of each record, or of none, found one without."
    ]


def test_a_missing_line_end_loses_no_character(path):
    path.write_bytes(b'\xef\xbb\xbf{"id": 1, "text": "a"}\r\n{"id": 2, "text": "b\\u2028"}')
    assert outputs.read(path).texts == ["a", "b\u2028"]


# --- what is wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('{"id": 1, "text": "a"', "line 1: expected a JSON object, found: Expecting ',' delimiter"),
        ("[1]", "line 1: expected a JSON object, found a list."),
        ("[" * 100_000, "line 1: expected a JSON object, found: "),
        ('{"id": 1, "id": 2}', "line 1: expected a JSON object, found: the key 'id' more than once."),
        ('{"id": 1, "text": "\\ud800"}', "line 1: expected text, found half a surrogate pair"),
        ('{"id": true, "text": "a"}', "line 1: id: expected a text or a whole number, found true."),
        ('{"id": 1, "text": 3}', "line 1 (id '1'): text: expected a text, found a number."),
        ('{"id": 1, "hypotheses": []}', "line 1 (id '1'): hypotheses: expected a list of texts, found []."),
        ('{"id": 1, "hypotheses": "a"}', "line 1 (id '1'): hypotheses: expected a list of texts, found 'a'."),
        ('{"id": 1, "source": null}', "line 1 (id '1'): source: expected a text, found null."),
        ('{"id": 1, "text": null}', "line 1 (id '1'): text: expected a text, found null."),
        ('{"id": 1, "samples": [null]}', "line 1 (id '1'): text: expected a text, found null."),
        ('{"id": 1, "hypotheses": null}', "line 1 (id '1'): hypotheses: expected a list of texts, found null."),
        ('{"id": 1, "quality": null}', "line 1 (id '1'): quality: expected a finite number, found null."),
        ('{"id": 1, "text": "", "tokens": [null]}', "line 1 (id '1'): tokens: expected a list of texts, found [null]."),
        ("null", "line 1: expected a JSON object, found null."),
        (f'{{"error": {"1" * 5000}}}', "line 1: expected a JSON object, found: a whole number of 5,000 digits."),
        ('{"id": 1, "reference": []}', "line 1 (id '1'): reference: expected a text, found a list."),
        ('{"id": 1, "quality": 101}', "line 1 (id '1'): quality: expected 0 to 100, found 101. Give scores on another"),
        ('{"id": 1, "error": NaN}', "line 1 (id '1'): error: expected a finite number, found nan."),
        ('{"id": 1, "error": "3"}', "line 1 (id '1'): error: expected a finite number, found '3'."),
        ('{"id": 1, "x": Infinity}', "line 1 (id '1'): x: expected a finite number, found inf."),
        ('{"id": 1, "correct": "maybe"}', "line 1 (id '1'): correct: expected true or false (or 1 or 0), found 'mayb"),
        ('{"id": 1, "uncertainty": {"u": 1e999}}', "line 1 (id '1'): uncertainty 'u': expected a finite number, found"),
        ('{"id": 1, "error": 1%s}' % ("0" * 400), "line 1 (id '1'): error: expected a finite number, found 100000"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named(path, line, found):
    problems = refused(path, line)
    assert problems[0].startswith(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ({"token_log_probabilities": [-1.0, float("nan")]}, "expected finite numbers of at most 0, found nan."),
        ({"token_log_probabilities": [-1.0, 2.0]}, "expected finite numbers of at most 0, found 2. Give natural"),
        ({"token_log_probabilities": [0.5, 0.25]}, "expected finite numbers of at most 0, found 0.5. They look like"),
        ({"token_log_probabilities": [float("-inf")]}, "expected finite numbers of at most 0, found -inf."),
        ({"token_log_probabilities": ["-1"]}, 'expected a list of numbers, or one for each member, found ["-1"].'),
        ({"token_log_probabilities": [[-1], [-1, -2]]}, "expected as many numbers of each member, found 1 to 2."),
        ({"token_log_probabilities": [[-1], -1]}, "expected a list of numbers, or one for each member, found [[-1],"),
        ({"log_probability": 0.5}, "expected finite numbers of at most 0, found 0.5. They look like probabilities"),
        ({"score": 3}, "expected finite numbers of at most 0, found 3. Give natural logarithms."),
        ({"length": 0}, "expected a whole number of tokens, at least 1, found 0."),
        ({"length": 1.5}, "expected a whole number of tokens, at least 1, found 1.5."),
        ({"tokens": ["a", 3]}, 'expected a list of texts, found ["a", 3].'),
        ({"confidence": 0.5}, "that sum to 1 over the texts of a record, found a sum of 0.5. Divide by it"),
        ({"confidence": -1}, "expected values of at least 0 that sum to 1 over the texts of a record, found -1."),
    ],
)
def test_bad_numbers_of_a_text_are_named_by_line_and_id(path, text, found):
    problems = refused(path, {"id": "x7", "hypotheses": [{"text": "a", **text}]})
    key = next(iter(text))
    assert any(each.startswith(f"line 1 (id 'x7'): {key}: ") and found in each for each in problems)


def test_all_problems_are_told_at_once_and_those_of_a_kind_counted(path):
    good = {"id": "good", "hypotheses": [{"text": "a", "score": -1}]}
    bad = [{"id": f"b{at}", "hypotheses": [{"text": "a", "score": 1 + at}]} for at in range(9)]
    lacking = [{"id": "c", "hypotheses": [{"text": "a"}]}, {"id": "good", "hypotheses": [{"text": "a", "score": -1}]}]
    problems = refused(path, good, *bad, *lacking, {"id": "d"})
    assert [each for each in problems if "line 12" in each] == [
        "line 12: id: expected each once, found 'good', which line 1 has, too."
    ]
    assert "line 13 (id 'd'): hypotheses: expected it of each record, or of none, found one without." in problems
    assert "line 11 (id 'c'): score: expected one for each text, or for none, found a text without." in problems
    told = [each for each in problems if "at most 0" in each]
    assert [each.split(":")[0] for each in told] == [f"line {at} (id 'b{at - 2}')" for at in range(2, 7)]
    assert "… and 4 more like these." in problems


def test_tokens_and_log_probabilities_are_of_the_same_number(path):
    text = {"text": "a", "tokens": ["a", "b", "c"], "token_log_probabilities": [-1.0]}
    assert refused(path, {"id": 1, "hypotheses": [text]}) == [
        "line 1 (id '1'): token_log_probabilities and tokens: expected the same number of tokens, found 1 and 3."
    ]


def test_members_are_of_the_same_number_in_all_lines(path):
    lines_of = [
        {"id": at, "text": "a", "token_log_probabilities": [[-1.0]] * members} for at, members in ((1, 2), (2, 3))
    ]
    assert refused(path, *lines_of)[0] == (
        "line 2 (id '2'): token_log_probabilities: expected 2 members as in the lines before, found 3."
    )


def test_memory_stays_below_that_of_what_is_kept(path):
    text = {"text": "some words " * 3, "token_log_probabilities": [-0.25] * 100}
    records = [{"id": at, "hypotheses": [text] * 5} for at in range(200)]
    written(path, *records)
    tracemalloc.start()
    try:
        found = outputs.read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.log_probabilities.nbytes == 800_000
    assert peak < 1_600_000  # neither the lines nor their numbers as objects, which take four times as much, are kept


def test_a_text_of_a_megabyte_is_refused(path):
    problems = refused(path, {"id": 1, "text": "a" * 10**6})
    assert problems == [
        "line 1 (id '1'): text: expected at most 250,000 characters, found 1,000,000. Split it into sentences."
    ]


def test_a_line_without_end_is_not_read_into_memory(path, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", 1_000)
    assert "expected at most 1,000 bytes, found more" in refused(path, {"id": 1, "text": "a" * 2_000})[0]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'{"id": 1, "text": "\xff"}', r"line 1: expected UTF-8, found byte 0xff at byte 20\. Convert the file"),
        (b"", r"expected at least one record, found none\. Was its writing cut off"),
        (gzip.compress(b'{"id": 1, "text": "a"}' * 99, mtime=0)[:-20], "It may be cut off or damaged"),
    ],
)
def test_files_that_cannot_be_read_are_refused(path, data, found):
    path.write_bytes(data)
    with pytest.raises(TableError, match=found):
        outputs.read(path)


def test_a_missing_file_and_a_folder_of_other_files_are_refused(tmp_path):
    with pytest.raises(TableError, match="expected a file, found nothing there"):
        outputs.read(tmp_path / "none.jsonl")
    with pytest.raises(TableError, match=r"expected a folder with hypos\.txt, found none"):
        outputs.read(tmp_path)


def test_outputs_that_do_not_fit_together_are_refused():
    with pytest.raises(ArrayError, match=r"texts: expected 3 values \[H\], found 2") as caught:
        Outputs(["a", "a"], np.array([1, 2]), ["x", "y"], scores=np.array([1.0, 0.0]), tokens=["t"])
    assert {"scores: expected 3 values [H], found 2.", "tokens: expected lengths as well, found none."} < {
        *caught.value.problems
    }
    with pytest.raises(ArrayError, match="ids: expected each once, found some more than once") as caught:
        Outputs(["a", "a"], np.array([1, 1]), ["x", "y"], scores=np.array([1.0, np.nan]))
    assert caught.value.problems[1:] == ("scores: expected numbers, found 1 NaN or infinite.",)
    with pytest.raises(ArrayError, match="lengths: expected numbers of at least 1, found 0"):
        Outputs(["a"], np.array([1]), ["x"], lengths=np.array([0]))
    with pytest.raises(ArrayError, match="counts: expected a text for each record, or for none"):
        Outputs(["a", "b"], np.array([1, 0]), ["x"])
    with pytest.raises(ArrayError, match="confidences: expected values of at least 0 that sum to 1"):
        Outputs(["a"], np.array([1]), ["x"], confidences=np.array([0.9]))
    with pytest.raises(ArrayError, match="texts: expected one for each record"):
        Outputs(["a"], np.array([0]), []).best()


# --- other forms ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def golden() -> tuple[Outputs, Outputs]:
    """The outputs of the golden vectors, in-domain and shifted."""
    values = json.loads((GOLDEN / "translation.json").read_text("utf-8"))

    def made(split: str) -> Outputs:
        texts = values[f"hyps_{split}"]
        scores = -np.array(values[f"nll_{split}"], dtype=np.float64).ravel()
        return Outputs(
            [str(at) for at in range(len(texts))], np.full(len(texts), len(texts[0])),
            [text for each in texts for text in each], scores=scores,
            references=[(each,) for each in values[f"refs_{split}"]],
        )  # fmt: skip

    return made("in"), made("out")


def same(one: Outputs, other: Outputs) -> bool:
    """Whether ids, texts, references and scores (of the decimals that files have) are the same."""
    texts = (one.ids, one.texts, one.references) == (other.ids, other.texts, other.references)
    return texts and one.scores is not None and np.allclose(one.scores, other.scores, rtol=0, atol=5e-7)


def test_folders_of_the_published_scripts_are_written_and_read(golden, tmp_path):
    measured = Outputs(
        **{**golden[0].__dict__, "uncertainties": {"SCR-PE": np.arange(80) / 7, "EPKL-PE": np.arange(80) / 3}}
    )
    found = outputs.read(published.write_folder(tmp_path / "in", measured))
    assert same(found, golden[0])
    assert {name: values.tolist() for name, values in found.uncertainties.items()} == {
        "SCR-PE": pytest.approx(np.arange(80) / 7), "EPKL-PE": pytest.approx(np.arange(80) / 3),
    }  # fmt: skip


def test_a_folder_of_the_published_scripts_is_assessed(golden, tmp_path):
    folder = published.write_folder(tmp_path / "in", golden[0])
    (found,) = score_files({"in": folder}, folder, TASKS[:1])
    ((records, (judged,)),) = found.parts
    vectors = np.load(GOLDEN / "translation.npz")
    assert (records.n, judged.errors.shape) == (80, (80,))
    assert judged.errors == pytest.approx(vectors["errors"][:80], abs=1e-4)  # weights of single precision there


def test_a_measure_in_a_folder_is_averaged_over_the_hypotheses_of_a_record(tmp_path):
    for file, text in {"hypos": "a\nb\nc\n", "hypo_ids": "7\n3\n7\n", "ref_ids": "3\n7\n", "mkl": "1\n2\n4"}.items():
        (tmp_path / f"{file}.txt").write_text(text)
    found = outputs.read(tmp_path)
    assert (found.ids, found.texts, found.counts.tolist()) == (["3", "7"], ["b", "a", "c"], [1, 2])
    assert found.uncertainties["Reverse Mutual Information"].tolist() == [2, 2.5]


def test_what_is_wrong_in_a_folder_is_told_at_once(tmp_path):
    files = {
        "hypos": "a\nb\nc\n",
        "ref_ids": "3\n7\n",
        "refs": "x\n",
        "epkl": "1\n2",
        "hypo_likelihoods": "-1\nx\n-1\n",
    }
    for file, text in files.items():
        (tmp_path / f"{file}.txt").write_text(text)
    with pytest.raises(TableError, match=r"epkl\.txt: expected 3 lines, found 2") as caught:
        outputs.read(tmp_path)
    assert [each.removeprefix(f"{tmp_path}: ") for each in caught.value.problems[1:]] == [
        "refs.txt: expected 2 lines, found 1. Was its writing cut off?",
        "hypos.txt: expected as many hypotheses for each of 2 ids, found 3. Add hypo_ids.txt.",
    ]
    for file in ("refs", "epkl"):
        (tmp_path / f"{file}.txt").unlink()
    (tmp_path / "hypo_ids.txt").write_text("3\n3\n9\n")
    with pytest.raises(TableError, match=r"hypo_ids\.txt: line 3: expected an id of ref_ids\.txt, found '9'"):
        outputs.read(tmp_path)
    (tmp_path / "hypo_ids.txt").write_text("3\n3\n7\n")
    with pytest.raises(TableError, match=r"line 1 \(id '3'\): score: expected a finite number, found 'x'"):
        outputs.read(tmp_path)


def test_what_fairseq_prints_is_written_and_read(golden, tmp_path):
    assert same(outputs.read(published.write_fairseq(tmp_path / "generate.txt", golden[1])), golden[1])


PRINTED = """| loading model(s)
S-3\ta@@ b c
T-3\ty
H-3\t-0.5\tx@@ y
P-3\t-0.25 -0.75
T-EOE-3\t0.1 0.2
SU-3\t1\t2\t3\t4\t5\t6\t7
H-3\t-1.5\tz
P-3\t-1.5
SU-3\t2\t4\t6\t8\t1\t1\t1
S-0\td
T-0\te
H-0\t-2.0\te
P-0\t-2.0
SU-0\t0\t0\t0\t1\t0\t0\t0
"""


def test_lines_of_fairseq_are_joined_by_their_ids(tmp_path):
    path = tmp_path / "generate.txt"
    path.write_text(PRINTED)
    found = outputs.read(path)
    assert (found.ids, found.sources, found.references) == (["3", "0"], ["ab c", "d"], [("y",), ("e",)])
    assert (found.texts, found.counts.tolist()) == (["xy", "z", "e"], [2, 1])
    assert (found.scores.tolist(), found.log_probabilities.tolist()) == ([-0.5, -1.5, -2], [[-0.25, -0.75, -1.5, -2]])
    assert {name: values.tolist() for name, values in found.uncertainties.items()} == {
        "Total Uncertainty-PE": [1.5, 0], "Data Uncertainty": [3, 0], "Mutual Information-PE": [4.5, 0],
        "EPKL-PE": [6, 1],
    }  # fmt: skip


def test_later_versions_of_fairseq_print_logarithms_to_base_2_and_detokenised_texts(tmp_path):
    path = tmp_path / "generate.txt"
    path.write_text("H-1\t-1.0\ta ,\nD-1\t-1.0\ta,\nP-1\t-0.5 -1.5\n")
    found = outputs.read(path)
    assert found.texts == ["a,"]
    assert found.scores == pytest.approx(-np.log(2))
    assert found.log_probabilities[0] == pytest.approx(np.array([-0.5, -1.5]) * np.log(2))


def test_a_line_of_fairseq_that_is_cut_off_is_named(tmp_path):
    path = tmp_path / "generate.txt"
    path.write_text("S-1\ta\nH-1\t-0.5\nP-1\t-0.5\n")
    with pytest.raises(TableError, match=r"line 2 \(id '1'\): H-: expected a number, a tab and a text, found '-0.5'"):
        outputs.read(path)


def test_submissions_are_written_and_read_as_the_challenge_has_them(golden, tmp_path):
    uncertainty = np.linspace(0, 1, 80)
    path = published.write_submission(tmp_path / "sub.json", golden[0], uncertainty)
    first = json.loads(path.read_text("utf-8").splitlines()[0])
    assert list(first) == ["id", "uncertainty", "hypos"]
    assert (first["id"], list(first["hypos"][0])) == (0, ["text", "confidence"])
    found = outputs.read(path)
    assert found.texts == golden[0].texts
    assert found.weights().tolist() == golden[0].weights().tolist()
    assert found.uncertainties["uncertainty"].tolist() == uncertainty.tolist()
    shifted = Outputs(**{**golden[0].__dict__, "columns": {"shifted": [True] * 80}})
    truth = outputs.read(published.write_references(tmp_path / "refs.json", shifted))
    assert (truth.references, truth.columns["shifted"]) == (golden[0].references, [True] * 80)


def test_submissions_that_the_published_scorer_refuses_are_not_written(full, golden, tmp_path):
    with pytest.raises(PredictionsError, match="expected the same number for each record, 1 to 10, found 1, 2"):
        published.write_submission(tmp_path / "sub.json", full, np.zeros(2))
    with pytest.raises(PredictionsError, match="uncertainty: expected 80 finite numbers, found 79"):
        published.write_submission(tmp_path / "sub.json", golden[0], np.zeros(79))
    several = Outputs(["1"], np.array([1]), ["a\nb"], scores=np.array([-1.0]))
    with pytest.raises(PredictionsError, match=r"hypotheses: expected texts of one line, found 1 of several"):
        published.write_folder(tmp_path / "folder", several)
    with pytest.raises(PredictionsError, match="scores: expected the score of each text, found none"):
        published.write_fairseq(tmp_path / "x.txt", Outputs(["1"], np.array([1]), ["a"]))
    with pytest.raises(PredictionsError, match="reference: expected one of each record, found none"):
        published.write_references(tmp_path / "x.json", several)
    assert list(tmp_path.iterdir()) == [tmp_path / "outputs.jsonl"]


@pytest.mark.needs_shared
def test_the_published_files_of_the_golden_vectors_are_read(golden, shared):
    files = shared / "golden/inputs/mt_files"
    for split, own in zip(("in", "out"), golden, strict=True):
        assert same(outputs.read(files / split), own)
    submission, references = outputs.read(files / "sub.json"), outputs.read(files / "refs.json")
    assert submission.texts == golden[0].texts + golden[1].texts
    weights = np.concatenate([each.weights() for each in golden])
    assert np.allclose(submission.weights(), weights, rtol=0, atol=1e-6)  # of single precision
    assert references.references == golden[0].references + golden[1].references


# --- tables -----------------------------------------------------------------------------------------------------------

TABLE = 'doc_id\tsrc_en\tref_a\tref_b\thyp_one\thyp_two\tslang\nd1\ta\tx\ty\tx\t\t1\nd1\t"b\tz\t\tz\tq\t0\n'


def test_a_table_has_a_column_for_each_system(tmp_path):
    path = tmp_path / "systems.tsv"
    path.write_text(TABLE)
    found = outputs.read_systems(path)
    assert {name: each.texts for name, each in found.items()} == {"one": ["x", "z"], "two": ["", "q"]}
    for each in found.values():
        assert each.references == [("x", "y"), ("z",)]
        assert each.sources == ["a", '"b']
        assert each.columns == {"document": ["d1", "d1"], "slang": [True, False]}
    assert outputs.read(path, system="two").texts == ["", "q"]
    with pytest.raises(TableError, match=r"expected one system, found 2: 'one', 'two'\. Name one"):
        outputs.read(path)
    with pytest.raises(LookupError, match=r"Unknown system 'tow'\. Did you mean 'two'"):
        outputs.read(path, system="tow")


def test_columns_may_have_other_names_and_tokens_stand_with_blanks(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text('ru,en,logs,pieces,da\n"a, b",c,-1 -2.5,c,70\nd,e f,-1 -2 -3,e f,80.5\n')
    names = {"source": "ru", "hypothesis": "en", "token_log_probabilities": "logs", "tokens": "pieces", "quality": "da"}
    found = outputs.read(path, names=names)
    assert (found.sources, found.texts) == (["a, b", "d"], ["c", "e f"])
    assert found.log_probabilities.tolist() == [[-1, -2.5, -1, -2, -3]]
    assert found.tokens == ["c", "</s>", "e", "f", "</s>"]
    assert found.quality.tolist() == [70, 80.5]
    with pytest.raises(TableError, match=r"hypothesis: expected a column 'e', found 'ru', 'en', .*Did you mean 'en'"):
        outputs.read(path, names={"hypothesis": "e"})


def test_rows_of_other_widths_and_cells_that_are_no_numbers_are_named(tmp_path):
    path = tmp_path / "bad.tsv"
    path.write_text("source\thypothesis\terror\na\tb\tx\n")
    with pytest.raises(
        TableError, match=r"line 2 \(id '.*\): error: expected a finite number, found 'x'|line 2: error"
    ):
        outputs.read(path)
    path.write_text("source\thypothesis\terror\na\tb\n")
    with pytest.raises(TableError, match="line 2: expected 3 columns as in the first line, found 2"):
        outputs.read(path)
    path.write_text("source\tsource\n")
    with pytest.raises(TableError, match="expected a header that names each column once, found 'source' twice"):
        outputs.read(path)


def test_no_message_grows_with_what_a_file_holds(tmp_path):
    long = "lang " * 2_000
    texts = {
        "system.tsv": "source\t" + "\t".join(f"hyp_{'s' * 30}{at}" for at in range(200)) + "\n" + "a\t" * 200 + "a\n",
        "twice.tsv": "\t".join(f"{name}{at}" for at in range(200) for name in ("column_", "column_")) + "\n",
        "cut.txt": f"S-0\t{long}\nH-0\t{long}\n",
        "long.txt": f"S-0\t{long}\nH-0\t-0.1\t{long * 30}\nP-0\t{'x ' * 2_000}\n",
        "members.jsonl": json.dumps({"text": "a", "token_log_probabilities": [[-1.0] * n for n in range(1, 400)]}),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
        with pytest.raises(TableError, match="expected") as caught:
            outputs.read(tmp_path / name)
        assert max(map(len, caught.value.problems)) - len(str(tmp_path)) < 1_000, name


def test_a_broken_line_of_fairseq_is_told_once(tmp_path):
    path = tmp_path / "generate.txt"
    path.write_text("S-0\ta\nH-0\t-0.1\tb\nS-1\ta\nH-1\tcut\n", "utf-8")
    with pytest.raises(TableError, match="H-: expected a number, a tab and a text") as caught:
        outputs.read(path)
    assert "found []" not in str(caught.value)


def test_ids_of_thousands_of_digits_are_written_as_texts(full, tmp_path):
    found = replace(full, ids=["9" * 5_000, *full.ids[1:]], references=[("a",)] * len(full))
    written = published.write_references(tmp_path / "refs.jsonl", found)
    assert json.loads(written.read_text("utf-8").splitlines()[0])["id"] == "9" * 5_000
