"""Values of one kind by name: our own, registered ones, and those of other packages' entry points."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from threading import RLock
from typing import Any, TypeVar

from shiftbench.errors import SettingsError, ShiftbenchWarning, UnknownNameError

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """A read-only mapping from names to values with a `name`; nothing is imported before the first lookup.

    Looking up one name loads our own values and, of other packages, only this one; iterating loads all. Entry points
    that do not load, or whose names are taken, are left out with one warning that names all of them.

    Args:
        kind: of the values, for messages: "metric".
        value: its type.
        group: of entry points of other packages: "shiftbench.metrics". An entry point's name is that of its value.
        homes: locations of our own values, as "module:attribute", each a value or several, in the order of the
            mapping. All are imported with the first lookup of any name.
        lazy: name → "module:attribute" of our own values that are imported one by one.
        families: locations of functions that make the value of a name, or None: of values that are too many to be
            listed. These can be looked up, but are not among those that are iterated over.
    """

    def __init__(
        self, kind: str, value: type[T], group: str, *, homes: Sequence[str] = (),
        lazy: Mapping[str, str] | None = None, families: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.kind, self.value, self.group = kind, value, group
        self._homes = list(homes)
        self._lazy = dict(lazy or {})
        self._families = tuple(families)
        self._held: dict[str, T] = {}
        self._offered: dict[str, Any] | None = None  # entry points not loaded yet, by name; None before discovery
        self._problems: list[str] = []  # of entry points, not yet warned of
        self._failed: set[str] = set()  # names of entry points that did not load
        self._lock = RLock()

    def register(self, value: T) -> T:
        """Register a value under its name.

        Raises:
            SettingsError: if the name is taken.
        """
        self._load_homes()
        self._load_lazy(value.name)  # type: ignore[attr-defined]
        self._add(value)
        return value

    def register_home(self, name: str, home: str) -> None:
        """Register the location of the value of this name, as "module:attribute"; it is imported at lookup."""
        self._lazy.setdefault(name, home)

    def names(self) -> tuple[str, ...]:
        """All names, including values not imported yet and entry points that may not load."""
        self._load_homes()
        with self._lock:
            self._look()
            return tuple(dict.fromkeys((*self._lazy, *self._held, *(self._offered or ()))))

    def __getitem__(self, name: str) -> T:
        if (found := self._found(name)) is None:
            raise UnknownNameError(self.kind, name, self.names(), failed=isinstance(name, str) and name in self._failed)
        return found

    def __contains__(self, name: object) -> bool:
        return self._found(name) is not None

    def get(self, name: str, default: Any = None) -> Any:
        """The value of this name, or else the default."""
        found = self._found(name)
        return default if found is None else found

    def _found(self, name: object) -> T | None:
        if not isinstance(name, str):
            return None
        if not self._homes and (known := self._held.get(name)) is not None:
            return known  # as nearly always: no lock
        self._load_homes()
        if name not in self._held:
            self._load_lazy(name)
            self._load_offered(name)
        if (found := self._held.get(name)) is not None:
            return found
        return next((made for family in self._families if (made := _at(family)(name)) is not None), None)

    def __iter__(self) -> Iterator[str]:
        self._load_homes()
        for name in self._lazy:
            self._load_lazy(name)
        self._load_offered()
        return iter(tuple(dict.fromkeys((*self._lazy, *self._held))))

    def __len__(self) -> int:
        return len(tuple(iter(self)))

    def _add(self, value: T) -> None:
        name: str = value.name  # type: ignore[attr-defined]
        if self._held.setdefault(name, value) is not value:
            raise SettingsError(
                f"{self.kind}: expected a new name, found {name!r}, which is taken. Choose another name."
            )

    def _load_homes(self) -> None:
        with self._lock:
            while self._homes:
                found = _at(self._homes.pop(0))
                for value in (found,) if isinstance(found, self.value) else found:
                    self._add(value)

    def _load_lazy(self, name: object) -> None:
        with self._lock:
            if name in self._lazy and name not in self._held:
                self._add(found := _at(self._lazy[str(name)]))
                assert found.name == name, f"{self._lazy[str(name)]} is called {found.name}"

    def _load_offered(self, name: object = None) -> None:
        """Load the entry point of this name, or all of them, and warn of those that fail."""
        with self._lock:
            self._look()
            assert self._offered is not None
            problems, self._problems = self._problems, []
            for each in tuple(self._offered) if name is None else (name,):
                if (point := self._offered.pop(str(each), None)) is not None:
                    problems += (why := [*self._loaded(point)])
                    self._failed.update([point.name] if why else ())
        if problems:
            found = "; ".join(problem.rstrip(".") for problem in problems)
            warnings.warn(
                ShiftbenchWarning(
                    f"{self.group}: expected entry points that load, each a {self.kind} of a new name, found "
                    f"{found}. Everything else works without; correct or uninstall the package."
                ),
                stacklevel=4,
            )

    def _look(self) -> None:
        """Discover the entry points of the group, once; duplicate names are problems."""
        if self._offered is not None:
            return
        from importlib.metadata import entry_points  # slow to import

        self._offered = {}
        try:
            points = entry_points(group=self.group)
        except Exception as error:  # some installed package has damaged metadata
            self._problems.append(f"lists that cannot be read ({type(error).__name__}: {error})")
            return
        for point in points:
            if point.name in {*self._held, *self._lazy, *self._offered}:
                self._problems.append(f"{_described(point)}: the name is taken")
            else:
                self._offered[point.name] = point

    def _loaded(self, point: Any) -> Iterator[str]:
        """Add the value of an entry point; yields a problem if there is one."""
        try:
            found = point.load()
        except (Exception, SystemExit) as error:  # importing other packages may raise anything
            yield f"{_described(point)}: {type(error).__name__}: {error}"
            return
        if not isinstance(found, self.value):
            yield f"{_described(point)}: a {type(found).__name__} instead of a {self.value.__name__}"
        elif found.name != point.name:  # type: ignore[attr-defined]
            yield f"{_described(point)}: its {self.kind} is called {found.name!r}"  # type: ignore[attr-defined]
        elif self._held.setdefault(point.name, found) is not found:
            yield f"{_described(point)}: the name is taken"


def _at(reference: str) -> Any:
    """The object at "module:attribute"."""
    module, _, attribute = reference.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _described(point: Any) -> str:
    package = f" of {point.dist.name}" if point.dist is not None else ""
    return f"{point.name} = {point.value}{package}"
