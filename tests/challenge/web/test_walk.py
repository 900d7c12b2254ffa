"""Every address of the server, as every role: nobody finds what is sealed, or what is another team's."""

from __future__ import annotations

import re
from itertools import product

import pytest

from shiftbench.challenge.web.application import application
from shiftbench.challenge.web.pages import FORMS, PAGES

from .world import LABEL, OWN, UNTOLD, World

ROLES = ("visitor", "other", "participant", "organiser", "admin")
FILES = (
    "inputs.csv", "more/example.csv", "truth.csv", "seed.json", "challenge.toml",
    "../../sealed/table/evaluation/truth.csv",
    "..%2f..%2fsealed%2ftable%2fevaluation%2ftruth.csv", "....//sealed", "/etc/passwd", "%00", "style.css", "page.js",
)  # fmt: skip


def addresses(world: World) -> list[str]:
    """Every path of every route, with all values that lead somewhere, and some that should not."""
    values = {
        "board": ["table"], "phase": [phase.name for phase in world.server.challenge.board("table").phases],
        "number": [str(world.numbers[name]) for name in ("open", "hidden", "failed")], "key": ["x"],
        "link": ["x"], "name": FILES, "act": ["requeue"],
    }  # fmt: skip
    app, found = application(world.server), set[str]()
    documented = {path for path, acts in app.openapi()["paths"].items() if "get" in acts}
    for path in documented | {getattr(route, "path", "") for route in app.routes if _is_get(route)}:
        names = re.findall(r"{(\w+)(?::path)?}", path)
        plain = path.replace(":path", "")
        found |= {
            plain.format(**dict(zip(names, each, strict=True))) for each in product(*(values[name] for name in names))
        }
    entries = [f"entry={world.numbers[name]}" for name in ("open", "best", "hidden")]
    queries = ["", f"?{entries[0]}", f"?{entries[1]}&{entries[2]}", "?phase=evaluation", "?phase=warm-up", "?first=1"]
    queries += [f"?phase=evaluation&{each}" for each in entries]
    return sorted(path + query for path, query in product(found, queries) if path and _takes(path, query))


def _is_get(route: object) -> bool:
    return "GET" in (getattr(route, "methods", None) or ())


def _takes(path: str, query: str) -> bool:
    """A query is tried where it may mean something: elsewhere it is only time."""
    if not query:
        return True
    return (
        ("entry" in query and "compare" in path) or ("first" in query and "growth" in path) or path == "/boards/table"
    )


@pytest.fixture(scope="module")
def answers(world: World) -> dict[str, dict[str, str]]:
    """What each role reads at each address; an answer is a page, never a fault."""
    found: dict[str, dict[str, str]] = {}
    paths = addresses(world)
    for role in ROLES:
        found[role] = {}
        for path in paths:
            answer = world.roles[role].client.get(path)
            assert answer.status_code < 500, (role, path, answer.text)
            found[role][path] = answer.text
    return found


def places(answers: dict[str, str], *words: str) -> list[str]:
    return [path for path, text in answers.items() if any(word in text for word in words)]


def test_the_walk_reaches_all_pages(answers: dict[str, dict[str, str]]) -> None:
    assert len(answers["visitor"]) > 90
    seen = answers["participant"]
    assert "Ben" in seen["/boards/table"]
    assert "x" in seen["/boards/table/files/inputs.csv"]
    assert "uncertainty" in seen["/boards/table/files/more/example.csv"]


@pytest.mark.parametrize("role", ROLES)
def test_nobody_finds_a_sealed_label(answers: dict[str, dict[str, str]], role: str) -> None:
    assert places(answers[role], LABEL) == []


@pytest.mark.parametrize("role", ROLES)
def test_nobody_finds_what_the_ladder_does_not_tell(answers: dict[str, dict[str, str]], role: str) -> None:
    assert places(answers[role], *UNTOLD) == []


@pytest.mark.parametrize("role", ["visitor", "other"])
def test_other_teams_find_nothing_of_a_teams_files(answers: dict[str, dict[str, str]], world: World, role: str) -> None:
    ledger = world.server.ledger
    code = ledger.code(world.user("ben").team or 0)
    hashes = [each.sha256 for each in ledger.submissions(team=world.user("ben").team)]
    assert places(answers[role], *OWN, code, *hashes) == []


def test_a_team_and_the_organisers_read_its_problems(answers: dict[str, dict[str, str]], world: World) -> None:
    place = f"/submissions/{world.numbers['failed']}"
    assert all("bens-problem, line 3" in answers[role][place] for role in ("participant", "organiser", "admin"))
    code = world.server.ledger.code(world.user("ben").team or 0)
    assert places(answers["participant"], code) == ["/account"]
    assert places(answers["admin"], code) == []


def test_desks_are_closed_to_all_but_organisers(world: World) -> None:
    app = application(world.server)
    api = [(act, path) for path, acts in app.openapi()["paths"].items() for act in acts if "/desk" in path]
    forms = [("get", page.path) for page in PAGES if page.who == "organiser"]
    forms += [("post", form.path) for form in FORMS if form.who == "organiser"]
    values = {"board": "table", "phase": "evaluation", "number": "1", "act": "fail"}
    assert len(api + forms) > 25
    for act, path in api + forms:
        for role, allowed in {"visitor": {401, 303}, "other": {403}, "participant": {403}}.items():
            visitor = world.roles[role]
            headers = {"X-CSRF-Token": visitor.csrf()} if "/api/" in path else {}
            body = {} if act == "get" or "/api/" in path else {"data": {"csrf": visitor.csrf()}}
            answer = visitor.client.request(act.upper(), path.format(**values), headers=headers, **body)
            assert answer.status_code in allowed, (role, act, path, answer.status_code)
    assert world.server.ledger.submission(1).state == "scored"


@pytest.mark.parametrize("role", ROLES)
def test_pages_load_nothing_from_elsewhere(answers: dict[str, dict[str, str]], role: str) -> None:
    outside = re.compile(r"""(?:src|href|action|hx-get)=["']?(?:[a-z]+:)?//""", re.IGNORECASE)
    assert {path for path, text in answers[role].items() if outside.search(text)} == set()
    style = answers[role]["/static/style.css"]
    assert "url(" not in style
    assert "@import" not in style
