"""A challenge in the middle of its life, with words in it that only some may read, and a visitor of each role."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from argon2 import PasswordHasher

from shiftbench.challenge import definition
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.challenge.store.records import DAY, NewScore, User
from shiftbench.challenge.web.security import Limits, Passwords
from shiftbench.challenge.web.server import Server, opened

from ..conftest import PASSWORD, START, Clock, Visitor

LABEL = "sealed-label-7f3a"
OPEN = Phase("development", START - DAY, START + 9 * DAY, per_day=50)
HIDDEN = Phase("evaluation", START - DAY, START + 9 * DAY, per_day=50, hidden=True)
OVER = Phase("warm-up", START - DAY, START + DAY // 2, per_day=50, hidden=True)
BOARD = Board("table", "Table", "r_auc", (OPEN, HIDDEN, OVER))
# Of one hidden submission of Ben's team: what the Ladder does not tell to anybody …
UNTOLD = ("0.841", "0.829", "0.8527", "0.853", "a-note-about-labels")
# … and what his team and organisers alone may read.
OWN = ("bens-file.csv", "bens-problem", "ben@example.org")


def challenge() -> Challenge:
    return Challenge("wind", "Wind", "Predict it.", (BOARD,), rules="Be kind.")


@dataclass
class World:
    """The server, its clock, and visitors by role: visitor, other, participant, organiser, admin."""

    server: Server
    clock: Clock
    roles: dict[str, Visitor] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)

    def user(self, name: str) -> User:
        return next(user for user in self.server.ledger.users() if user.email.startswith(f"{name}@"))

    def scored(self, user: User, phase: Phase, score: NewScore | None, name: str = "answers.csv") -> int:
        """A submission that a worker has scored, or failed."""
        number, ledger = self.queued(user, phase, name), self.server.ledger
        claimed = ledger.claim("w")
        assert claimed is not None
        assert claimed.id == number
        if score is None:
            assert ledger.fail(number, "w", "submission", ["bens-problem, line 3"])
        else:
            assert ledger.finish(number, "w", score)
        return number

    def queued(self, user: User, phase: Phase, name: str = "answers.csv") -> int:
        data = f"{name} {phase.name} {len(self.server.ledger.submissions())}".encode()
        assert user.team is not None
        upload = self.server.ledger.begin("table", phase, user, team=user.team, file=(name, len(data)))
        self.server.uploads.append(upload.id, 0, data)
        return self.server.uploads.complete(upload.id)


def score(value: float, width: float = 0.01, *, noise: float = 0.01, notes: tuple[str, ...] = ()) -> NewScore:
    return NewScore("1abe15", "shiftbench 1", value, value - width, value + width, noise, notes)


def build(folder: Path, database: str = "") -> World:
    """A world in a folder."""
    files = {"public/table/inputs.csv": "id,x\n1,2\n", "public/table/more/example.csv": "id,answer,uncertainty\n"}
    files |= {f"sealed/table/{phase.name}/truth.csv": f"id,y\n1,{LABEL}\n" for phase in BOARD.phases}
    files |= {f"sealed/table/{phase.name}/nonce": f"{LABEL}-nonce\n" for phase in BOARD.phases}
    files["sealed/table/seed.json"] = f'"{LABEL}-seed"'
    for name, text in files.items():
        path = folder / "wind" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    definition.write(folder / "wind" / definition.FILE, challenge())
    world = _opened(folder, database)
    ledger, hashed = world.server.ledger, world.server.passwords.hash(PASSWORD)
    admin = ledger.sign_up("admin@example.org", hashed, role="admin")
    ledger.sign_up("host@example.org", hashed, role="organiser")
    for name, team in (("ben", "Ben's"), ("eve", "Eve's")):
        ledger.found(team, ledger.sign_up(f"{name}@example.org", hashed).id)
    ben = world.user("ben")
    world.numbers["open"] = world.scored(ben, OPEN, score(0.5))
    world.numbers["best"] = world.scored(ben, HIDDEN, score(0.7))
    world.numbers["hidden"] = world.scored(ben, HIDDEN, score(0.8411, 0.01165, notes=(UNTOLD[-1],)), "bens-file.csv")
    world.numbers["failed"] = world.scored(ben, HIDDEN, None, "bens-file.csv")
    world.numbers["waiting"] = world.queued(ben, OPEN, "bens-file.csv")
    ledger.announce("Welcome.", admin)
    for role, name in {"other": "eve", "participant": "ben", "organiser": "host", "admin": "admin"}.items():
        world.roles[role] = Visitor(world.server)
        answer = world.roles[role].post("/sign-in", email=f"{name}@example.org", password=PASSWORD)
        assert answer.status_code == 303
    world.roles["visitor"] = Visitor(world.server)
    return world


def _opened(folder: Path, database: str = "") -> World:
    clock, cheap = Clock(), Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    limits = Limits(whole=2**20, largest=2**24, seconds=0.3, passwords=1_000, acts=100_000)
    parts = {"clock": clock, "passwords": cheap, "limits": limits}
    return World(opened(folder / "wind", folder / "state", database=database, **parts), clock)


def copied(world: World, folder: Path) -> World:
    """The same world again, in another folder: quicker than to build it."""
    shutil.copytree(world.server.folder.parent, folder, dirs_exist_ok=True)
    found = _opened(folder)
    found.numbers |= world.numbers
    for role, visitor in world.roles.items():
        found.roles[role] = Visitor(found.server)
        if cookie := visitor.client.cookies.get("shiftbench"):
            found.roles[role].client.cookies.set("shiftbench", cookie, domain="testserver.local", path="/")
    return found


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
