"""What requests to the API carry, and the small answers."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Header, Path, Query
from pydantic import BaseModel, Field

Slug = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9-]{0,39}$")]
Name = Annotated[str, Field(min_length=1, max_length=60)]
Reason = Annotated[str, Field(min_length=1, max_length=500)]
Number = Annotated[int, Path(ge=1, le=2**53)]
Offset = Annotated[int, Header(ge=0, le=2**53)]
Entries = Annotated[list[Annotated[int, Field(ge=1, le=2**53)]], Query(min_length=1, max_length=6)]


class Problems(BaseModel):
    """What was expected, what was found and what to do."""

    problems: list[str]


class Begin(BaseModel, extra="forbid"):
    """The file that is to be uploaded. for_team: a team's name, for organisers who hand in for it."""

    board: Slug
    phase: Slug | None = None
    name: Annotated[str, Field(min_length=1, max_length=255)]
    size: Annotated[int, Field(ge=0, le=2**53, strict=True)]
    for_team: Name | None = None


class Complete(BaseModel, extra="forbid"):
    """The SHA-256 of the whole file, to be compared with what arrived."""

    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Choice(BaseModel, extra="forbid"):
    """Whether a submission is to count at the end."""

    chosen: bool


class Named(BaseModel, extra="forbid"):
    """A name: of a team, or of a token."""

    name: Name


class Code(BaseModel, extra="forbid"):
    """The code that others join a team with."""

    code: Name


class Because(BaseModel, extra="forbid"):
    """A reason that everybody reads."""

    reason: Reason


class Old(BaseModel, extra="forbid"):
    """A version of labels whose scores are to count no more, and why."""

    labels: Annotated[str, Field(pattern="^[0-9a-f]{1,64}$")]
    reason: Reason


class Role(BaseModel, extra="forbid"):
    """What an account may do."""

    role: Literal["participant", "organiser", "admin"]


class Invite(Role, extra="forbid"):
    """An account that may be made, perhaps by one address alone."""

    email: Annotated[str, Field(min_length=3, max_length=254)] | None = None


class Text(BaseModel, extra="forbid"):
    """What everybody is told."""

    text: Annotated[str, Field(min_length=1, max_length=4_000)]


class Told(BaseModel):
    """Lines of text."""

    text: str


class Me(BaseModel):
    """The account of the token."""

    email: str
    role: str
    team: str | None


class Secret(BaseModel):
    """What is shown once."""

    secret: str


class Token(BaseModel):
    """A token of the account; `number` revokes it."""

    number: int
    name: str


class Count(BaseModel):
    """How many."""

    count: int


class Progress(BaseModel):
    """How far work of the server is: none, running, done or failed, and why."""

    state: str
    problems: list[str]


class Layers(BaseModel):
    """What stands between a stranger's file and the server: active, or why not."""

    layers: dict[str, bool | str]
