"""Commands built from functions: groups of shared options, and options declared by a track.

A function declares the options of a command once. A parameter whose type is a dataclass expands to the options that
are its fields, and so do fields of such a type. A command about a track is built for the track that is named: its help
and its parser have the options of this track only.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand
from typer.main import get_command_from_info
from typer.models import CommandInfo

from shiftbench.cli.options import named, starting, track_names
from shiftbench.errors import SettingsError, ShiftbenchError, UnknownNameError

if TYPE_CHECKING:
    from shiftbench.track import Option

Act = Callable[..., None]
HELP = ("--help", "-h")
LISTED = "list_names"  # the parameter of --list


def flat(
    function: Act,
    options: Sequence[Option] = (),
    first: object = None,
    listing: Callable[[], None] | None = None,
    **arguments: Any,
) -> Act:
    """A function for typer: groups of options are expanded, and `**own` is replaced by a track's options.

    options: passed as keyword arguments if given. first: a fixed first argument, which the command line then omits.
    listing: prints the names that options take, for an option --list. arguments: parameter, also one of a group → the
    annotation that replaces its own.
    """
    hints = get_type_hints(function, localns=dict.fromkeys(("Track", "Import"), object), include_extras=True)
    declared = list(inspect.signature(function).parameters.values())[0 if first is None else 1 :]
    shown, groups = list[inspect.Parameter](), dict[str, Any]()
    for each in declared:
        hint = hints[each.name]
        if each.kind is each.VAR_KEYWORD:
            continue
        if is_dataclass(hint):
            groups[each.name] = hint
            shown += _options(hint)
        else:
            shown.append(each.replace(annotation=hint, kind=each.KEYWORD_ONLY))
    shown = [each.replace(annotation=arguments.get(each.name, each.annotation)) for each in shown]
    place = next((place for place, each in enumerate(shown) if each.name == "out"), len(shown))
    shown[place:place] = [_parameter(option) for option in options]
    if listing is not None:
        shown.append(_lister(listing))

    def act(**given: Any) -> None:
        given.pop(LISTED, None)
        importlib.import_module("shiftbench.tracks")  # tracks register their own methods
        own = {option.name: _checked(option, given.pop(option.name)) for option in options}
        grouped = {name: _group(kind, given) for name, kind in groups.items()}
        leading = () if first is None else (first,)
        function(*leading, **given, **grouped, **{name: value for name, value in own.items() if value is not None})

    act.__name__, act.__doc__ = function.__name__, function.__doc__
    act.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    act.__annotations__ = {each.name: each.annotation for each in shown}
    return act


def _options(group: Any) -> Iterator[inspect.Parameter]:
    """The options of a group, and of the groups in it, in the order of its fields."""
    hints = get_type_hints(group, include_extras=True)
    for each in fields(group):
        if is_dataclass(hint := hints[each.name]):
            yield from _options(hint)
        else:
            default = inspect.Parameter.empty if each.default is MISSING else each.default
            yield inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _group(kind: Any, given: dict[str, Any]) -> Any:
    """A group made from the values of its options, which are removed from `given`."""
    hints = get_type_hints(kind, include_extras=True)
    return kind(
        **{name: _group(hint, given) if is_dataclass(hint) else given.pop(name) for name, hint in hints.items()}
    )


def _parameter(option: Option) -> inspect.Parameter:
    is_name = option.type is str and "=" not in option.metavar  # NAME=VALUE is checked where it is split
    make = named if is_name else typer.Option
    info = make(
        "/".join(option.words), help=option.explained, metavar=option.metavar or None, min=option.least,
        autocompletion=starting(lambda: option.choices) if option.choices else None,
    )  # fmt: skip
    kind = list[option.type] if option.repeatable else option.type  # type: ignore[name-defined]
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, info]
    )


def _lister(listing: Callable[[], None]) -> inspect.Parameter:
    """The option --list, which prints and exits before anything else is checked."""

    def tell(context: typer.Context, value: bool) -> bool:
        if value and not context.resilient_parsing:
            listing()
            raise typer.Exit
        return value

    info = typer.Option("--list", is_eager=True, callback=tell, help="List the names that options take, and exit.")
    return inspect.Parameter(LISTED, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, info])


def _checked(option: Option, value: Any) -> Any:
    """The value of an option, or None if it was not given."""
    if value is None or value == []:
        return None
    for each in value if option.repeatable else [value]:
        if option.choices and each not in option.choices:
            raise UnknownNameError(option.name.replace("_", " "), each, option.choices)
    return tuple(value) if option.repeatable else value


class TrackCommand(TyperCommand):
    """A command whose first argument may name a track, for which the command is then built.

    names: of the tracks. form: the command for one track. is_only: whether a track is required. noun: the kind of name,
    for messages. others: further valid first arguments that are not tracks. otherwise: what the command takes in
    place of a track, for messages. explain: raises a better error for some names that are unknown here.
    """

    names: Callable[[], Sequence[str]]
    form: Callable[[str], Act]
    is_only = False
    noun = "track"
    others: tuple[str, ...] = ()
    otherwise = ""
    explain: Callable[[str], None] = staticmethod(lambda name: None)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse the arguments with the command of the track that they name, or else with this command."""
        try:
            command, rest, name = self.chosen(args)
        except ShiftbenchError:
            if not extra.get("resilient_parsing"):  # else a shell completes a line that is not finished
                raise
            command, rest, name = self, args, ""
        if command is not self:
            return command.make_context(f"{info_name} {name}", rest, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def chosen(self, args: Sequence[str]) -> tuple[TyperCommand, list[str], str]:
        """The command for these arguments, the arguments without the track's name, and this name.

        Raises:
            SettingsError: naming options that only other tracks support.
            UnknownNameError: if a track is required, and the first argument is not one.
        """
        words = [_Word(arg) for arg in args]
        left = _left(self, words)
        if all(word.startswith("-") for word in left):
            names: Sequence[str] = ()
        else:
            names = self.names()
        place = _first(left, names)
        if place is not None and left[place] in names:
            name = str(left[place])
            rest = [str(word) for word in words if word is not left[place]]
            command = self.built(name)
            self._refuse(_left(command, rest), subject=name)
            return command, rest, name
        if place is not None and self.is_only:
            self.explain(str(left[place]))
            raise UnknownNameError(self.noun, left[place], names)
        self._refuse(left, subject="" if place is None else str(left[place]))
        return self, list(args), ""

    def built(self, name: str) -> TyperCommand:
        """The command for one track."""
        info = CommandInfo(name=self.name, callback=self.form(name), no_args_is_help=self.no_args_is_help)
        return get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode=None)  # type: ignore[return-value]

    def _refuse(self, left: Sequence[str], *, subject: str) -> None:
        """Refuse options that only other tracks support; unknown ones are left to the parser."""
        unknown = dict.fromkeys(word.partition("=")[0] for word in left if word.startswith("-") and word != "-")
        if unknown and (found := {word: users for word in unknown if (users := self._users(word))}):
            raise SettingsError(self._unsupported(subject, found))

    def _unsupported(self, subject: str, options: Mapping[str, Sequence[str]]) -> str:
        """The message about options that a subject does not support; options: with those who do."""
        one = len(options) == 1
        if subject in (*self.names(), *self.others):
            users = " ".join(f"{option} is for {', '.join(users)}." for option, users in options.items())
            return f"{subject} does not support {', '.join(options)}. Drop the option{'' if one else 's'}. {users}"
        found = str(UnknownNameError(self.noun, subject, self.names())) if subject else "none"
        return f"{', '.join(options)}: expected a {self.noun}'s name with {'it' if one else 'them'}, found: {found}"

    def _users(self, word: str) -> list[str]:
        """The tracks, and what else the command may be about, that support an option."""
        every = {name: self.built(name) for name in sorted(self.names())} | {self.otherwise: self}
        return [
            name for name, command in every.items() if any(word in (*p.opts, *p.secondary_opts) for p in command.params)
        ]


def by_track(
    form: Callable[[str], Act], *, names: Callable[[], Sequence[str]] | None = None, **others: Any
) -> type[TrackCommand]:
    """The class of a command with a version for each track; see `TrackCommand`."""
    return type(
        "ByTrack", (TrackCommand,), {"form": staticmethod(form), "names": staticmethod(names or track_names), **others}
    )


class _Word(str):
    """A word of the command line, so that equal words are distinct objects."""


def _left(command: TyperCommand, words: Sequence[str]) -> list[str]:
    """The words that a command's own options do not consume: arguments, and options that it does not have."""
    context = command.context_class(
        command, ignore_unknown_options=True, resilient_parsing=True, help_option_names=list(HELP)
    )
    parser = command.make_parser(context)
    parser._args = []  # otherwise its arguments would be consumed, too
    return list(parser.parse_args(args=list(words))[1])


def _first(left: Sequence[str], names: Sequence[str]) -> int | None:
    """The position of the first argument; a word after an unknown option is its value, unless it is a name."""
    for place, word in enumerate(left):
        if word.startswith("-") and word != "-":
            continue
        after = left[place - 1] if place else ""
        if word in names or not after.startswith("-") or "=" in after:
            return place
    return None
