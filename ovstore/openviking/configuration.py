"""Which directories templates are read from, by what the caller, the environment and ov.conf say.

Of the places that name a directory of prompts one wins: the caller, then OPENVIKING_PROMPT_TEMPLATES_DIR, then
`prompts.templates_dir` of ov.conf. Memory schemas come from `memory.custom_templates_dir` of ov.conf and, only where
that is not set, from the folder `memory` of the prompts' directory. Whatever no directory has is the bundled one, in
the seed layer. Each place that was asked is told with the reason why it won or lost. What is named and does not exist
is an error: silence would mean the bundled templates, unseen.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from ovstore import bundled, directories
from ovstore.directories import Listing
from ovstore.errors import InvalidArgumentError

TEMPLATES_VARIABLE: Final = "OPENVIKING_PROMPT_TEMPLATES_DIR"
CONFIG_VARIABLE: Final = "OPENVIKING_CONFIG_FILE"
CONFIG_FILES: Final = ("~/.openviking/ov.conf", "/etc/openviking/ov.conf")

MEMORY: Final = "memory"

Place = str | os.PathLike[str]


class MissingDirectoryError(InvalidArgumentError, FileNotFoundError):
    """A directory or an ov.conf that is named does not exist."""

    def __new__(cls, *args: object, **given: object) -> MissingDirectoryError:
        return FileNotFoundError.__new__(cls, *args)


@dataclass(frozen=True, slots=True)
class Tried:
    """A place that may name a directory: what it says, None for nothing, whether that is taken, and why."""

    what: Literal["prompts", "memory", "experimental memory"]
    source: str
    value: str | None
    taken: bool
    why: str

    def __str__(self) -> str:
        said = "not set" if self.value is None else self.value
        return f"{self.what}: {self.source}: {said}" + (f" - {self.why}" if self.why else "")


@dataclass(frozen=True, slots=True)
class Sources:
    """The directories that won; None stands for the bundled templates."""

    prompts: Path | None
    memory: Path | None
    experimental_memory: bool
    tried: tuple[Tried, ...]

    @property
    def nothing(self) -> bool:
        """Whether all templates are the bundled ones."""
        return self.prompts is None and self.memory is None

    def __str__(self) -> str:
        memory = None if self._inside else self.memory
        return " and ".join(str(path) for path in (self.prompts, memory) if path is not None) or "bundled"

    def listing(self) -> Listing:
        """List the files of the directories as those of one, memory schemas of a directory of theirs in `memory/`.

        Raises MissingDirectoryError for a directory that is gone meanwhile.
        """
        of_prompts = directories.listing(existing(self.prompts, "prompts")) if self.prompts else Listing((), ())
        if self.memory is None or self._inside:
            return of_prompts
        of_memory = directories.listing(existing(self.memory, "memory"))
        files = [file for file in of_prompts.files if file.folders[:1] != (MEMORY,)]
        files += [replace(file, path=f"{MEMORY}/{file.path}") for file in of_memory.files]
        files.sort(key=lambda file: file.path or "")
        return Listing(tuple(files), (*of_prompts.findings, *of_memory.findings))

    def stamp(self) -> tuple[object, ...]:
        """Return what is another value once a file of the directories was written, came or went."""
        return tuple((file.place, *_times(file.place)) for file in self.listing().files)

    @property
    def _inside(self) -> bool:
        return self.prompts is not None and self.memory == self.prompts / MEMORY


def sources(templates_dir: Place | None = None, ov_conf: Place | None = None) -> Sources:
    """Ask every place, and return the directories that won.

    With `templates_dir` ov.conf counts only if it is given. Without, it is the file that OPENVIKING_CONFIG_FILE names,
    else one of CONFIG_FILES, else nothing is set. Raises MissingDirectoryError, and InvalidArgumentError for an ov.conf
    that cannot be read.
    """
    named = None if templates_dir is None else _set(os.fspath(templates_dir))
    conf = _Conf(_config_file(ov_conf) if named is None or ov_conf is not None else None)
    places = (
        ("the call itself", named),
        (TEMPLATES_VARIABLE, _set(os.environ.get(TEMPLATES_VARIABLE))),
        conf.place("prompts", "templates_dir"),
    )
    prompts, tried = _prompts(places)
    memory, of_memory = _memory(conf, prompts)
    experimental = conf.flag("memory", "experimental_memory_switch")
    of_switch = Tried(
        "experimental memory",
        conf.name("memory", "experimental_memory_switch"),
        "true" if experimental else None,
        experimental,
        "about the bundled schemas: `ovstore init --apply --experimental-memory` takes them" if experimental else "",
    )
    return Sources(prompts, memory, experimental, (*tried, *of_memory, of_switch))


def _prompts(places: tuple[tuple[str, str | None], ...]) -> tuple[Path | None, list[Tried]]:
    tried: list[Tried] = []
    winner: str | None = None
    chosen: Path | None = None
    for source, value in places:
        if value is None:
            tried.append(Tried("prompts", source, None, False, ""))
        elif winner is not None:
            tried.append(Tried("prompts", source, value, False, f"not taken: {winner} goes before it"))
        else:
            chosen, winner = existing(value, source), source
            tried.append(Tried("prompts", source, value, True, "taken"))
    if chosen is not None and chosen.resolve() == bundled.folder("seed_templates").resolve():
        chosen = None
    tried.append(_bundled("prompts", chosen))
    return chosen, tried


def _bundled(what: Literal["prompts", "memory"], directory: Path | None) -> Tried:
    why = "taken for what the directory lacks" if directory else "taken"
    return Tried(what, "bundled", "the seed layer", True, why)


def _memory(conf: _Conf, prompts: Path | None) -> tuple[Path | None, list[Tried]]:
    source, value = conf.place("memory", "custom_templates_dir")
    custom = None if value is None else existing(value, source)
    tried = [Tried("memory", source, value, custom is not None, "" if custom is None else "taken")]
    folder = None if prompts is None else prompts / MEMORY
    if folder is not None and folder.is_dir():
        why = "taken" if custom is None else f"not taken: {source} is set"
        tried.append(Tried("memory", "the prompts' directory", str(folder), custom is None, why))
        custom = custom or folder
    tried.append(_bundled("memory", custom))
    return custom, tried


def existing(value: Place, source: str) -> Path:
    """Return the directory that a source names."""
    path = Path(value).expanduser()
    if not path.is_dir():
        raise MissingDirectoryError(f"{source} names {value}, which is no directory", argument=source, value=value)
    return path


def _times(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0  # gone since it was listed
    return found.st_mtime_ns, found.st_size, found.st_ino


def _set(value: str | None) -> str | None:
    """Return what was set, without blanks around it; blank is not set."""
    return (value or "").strip() or None


def _config_file(given: Place | None) -> Path | None:
    named = os.fspath(given) if given is not None else _set(os.environ.get(CONFIG_VARIABLE))
    if named is None:
        usual = (Path(name).expanduser() for name in CONFIG_FILES)
        return next((path for path in usual if path.is_file()), None)
    path = Path(named).expanduser()
    if not path.is_file():
        by = "" if given is not None else f", which {CONFIG_VARIABLE} names"
        raise MissingDirectoryError(f"there is no file {named}{by}", argument="ov_conf", value=named)
    return path


class _Conf:
    """An ov.conf as far as it is about templates. Messages never show what else it holds: there are keys in it."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._data = {} if path is None else _read(path)

    def name(self, section: str, setting: str) -> str:
        return f"{section}.{setting} of {self._path or 'ov.conf'}"

    def place(self, section: str, setting: str) -> tuple[str, str | None]:
        """Return how a setting is called, and the text that it has, None where it is not set."""
        value = self._setting(section, setting)
        if value is not None and not isinstance(value, str):
            raise self._wrong(f"{section}.{setting} takes a text")
        return self.name(section, setting), _set(value)

    def flag(self, section: str, setting: str) -> bool:
        value = self._setting(section, setting)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(f"{section}.{setting} takes true or false")
        return bool(value)

    def _setting(self, section: str, setting: str) -> Any:
        settings = self._data.get(section)
        if settings is None:
            return None
        if not isinstance(settings, Mapping):
            raise self._wrong(f"{section} takes an object")
        return settings.get(setting)

    def _wrong(self, what: str) -> InvalidArgumentError:
        return InvalidArgumentError(f"{self._path}: {what}", argument="ov_conf", value=self._path)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        said = f"{path} cannot be read: {error.strerror}"
        raise InvalidArgumentError(said, argument="ov_conf", value=path) from error
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"{path} is not UTF-8", argument="ov_conf", value=path) from error
    except json.JSONDecodeError as error:
        said = f"{path}, line {error.lineno}, column {error.colno}: this is no JSON: {error.msg}"
        # Without its cause, which holds the whole text.
        raise InvalidArgumentError(said, argument="ov_conf", value=path) from None
    except (ValueError, RecursionError):
        said = f"{path} cannot be read as JSON: it is nested too deep, or has a number of thousands of digits"
        raise InvalidArgumentError(said, argument="ov_conf", value=path) from None
    if not isinstance(data, Mapping):
        raise InvalidArgumentError(f"{path} holds no JSON object", argument="ov_conf", value=path)
    return data
