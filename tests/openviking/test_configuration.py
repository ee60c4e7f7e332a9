"""Which directory wins: the order of places, what each of them said, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import folders
import pytest
from samples import memory, prompt

import ovstore
from ovstore import bundled
from ovstore.openviking import MemoryTypeRegistry, MissingDirectoryError, PromptManager, configuration
from ovstore.openviking.configuration import CONFIG_VARIABLE, TEMPLATES_VARIABLE, sources

Write = Callable[..., Path]


@pytest.fixture
def conf(tmp_path: Path) -> Write:
    """Write an ov.conf where it is looked for, or elsewhere."""

    def write(settings: Mapping[str, Any] | str, place: Path | None = None) -> Path:
        path = place or tmp_path / "home" / ".openviking" / "ov.conf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(settings if isinstance(settings, str) else json.dumps(settings), encoding="utf-8")
        return path

    return write


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with four directories of templates."""
    for name in ("given", "variable", "configured", "custom"):
        folders.write(tmp_path / name, {"semantic/note.yaml": prompt(template=f"{name} {{{{ q }}}}")})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def templates_dir(path: str) -> dict[str, Any]:
    return {"prompts": {"templates_dir": path}}


def test_the_order_is_given_variable_configuration_bundled(
    here: Path, conf: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sources().prompts is None
    conf(templates_dir("configured"))
    assert sources().prompts == Path("configured")
    monkeypatch.setenv(TEMPLATES_VARIABLE, str(here / "variable"))
    assert sources().prompts == here / "variable"
    assert sources("given").prompts == Path("given")


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_what_is_blank_is_not_set(here: Path, conf: Write, monkeypatch: pytest.MonkeyPatch, blank: str | None) -> None:
    conf({"prompts": {"templates_dir": blank}, "memory": {"custom_templates_dir": blank}})
    monkeypatch.setenv(TEMPLATES_VARIABLE, blank or "")
    found = sources("")
    assert found.nothing
    assert str(found) == "bundled"


def test_a_home_is_expanded_and_blanks_around_a_path_are_not_part_of_it(
    tmp_path: Path, conf: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home" / "mine").mkdir()
    conf(templates_dir("  ~/mine "))
    assert sources().prompts == tmp_path / "home" / "mine"
    monkeypatch.setenv(TEMPLATES_VARIABLE, "~/mine")
    assert sources("~/mine").prompts == sources().prompts == tmp_path / "home" / "mine"


def test_each_place_tells_what_it_said_and_why_it_won_or_lost(
    here: Path, conf: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = conf({**templates_dir("configured"), "memory": {"custom_templates_dir": "custom"}})
    folders.write(here / "variable", {"memory/habits.yaml": memory()})
    monkeypatch.setenv(TEMPLATES_VARIABLE, "variable")
    assert [(tried.what, tried.value, tried.taken) for tried in sources().tried] == [
        ("prompts", None, False),
        ("prompts", "variable", True),
        ("prompts", "configured", False),
        ("prompts", "the seed layer", True),
        ("memory", "custom", True),
        ("memory", "variable/memory", False),
        ("memory", "the seed layer", True),
        ("experimental memory", None, False),
    ]
    lines = [str(tried) for tried in sources().tried]
    assert lines[2] == (
        f"prompts: prompts.templates_dir of {path}: configured - not taken: {TEMPLATES_VARIABLE} goes before it"
    )
    assert lines[5].endswith(f"not taken: memory.custom_templates_dir of {path} is set")


def test_memory_schemas_come_from_their_own_directory_else_from_the_prompts(here: Path, conf: Write) -> None:
    folders.write(here / "given", {"memory/habits.yaml": memory()})
    folders.write(here / "custom", {"memory.yaml": memory("customs"), "semantic/note.yaml": ""})
    (here / "custom" / "semantic" / "note.yaml").unlink()
    path = conf({"memory": {"custom_templates_dir": "custom"}})
    files = {file.path: str(file.place) for file in sources("given", path).listing().files}
    assert files == {"memory/memory.yaml": "custom/memory.yaml", "semantic/note.yaml": "given/semantic/note.yaml"}
    assert {file.path for file in sources("given").listing().files} == {"memory/habits.yaml", "semantic/note.yaml"}


def test_a_directory_given_means_that_no_configuration_is_looked_for(here: Path, conf: Write) -> None:
    conf("this is no JSON")
    assert sources("given").prompts == Path("given")


def test_a_configuration_is_found_by_its_variable_before_the_home(
    here: Path, conf: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf(templates_dir("configured"))
    monkeypatch.setenv(CONFIG_VARIABLE, str(conf(templates_dir("custom"), here / "other.conf")))
    assert sources().prompts == Path("custom")


@pytest.mark.parametrize("variable", [CONFIG_VARIABLE, TEMPLATES_VARIABLE])
def test_what_a_variable_names_has_to_exist(here: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "nowhere")
    with pytest.raises(FileNotFoundError, match=variable) as caught:
        sources()
    assert isinstance(caught.value, MissingDirectoryError)
    assert isinstance(caught.value, ovstore.InvalidArgumentError)


@pytest.mark.parametrize("section", ["prompts", "memory"])
def test_what_a_configuration_names_has_to_exist(here: Path, conf: Write, section: str) -> None:
    setting = "templates_dir" if section == "prompts" else "custom_templates_dir"
    path = conf({section: {setting: "nowhere"}})
    with pytest.raises(MissingDirectoryError, match=f"{section}.{setting} of {path} names nowhere"):
        sources()


def test_a_directory_given_has_to_exist(here: Path) -> None:
    for missing in ("nowhere", "given/semantic/note.yaml"):
        with pytest.raises(FileNotFoundError, match="no directory"):
            PromptManager(missing)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('{"prompts": {}, "key": "sk-secret', "line 1, column"),
        ("[]", "no JSON object"),
        ("[" * 200_000, "cannot be read as JSON"),
        ('{"a": ' + "9" * 5_000 + "}", "cannot be read as JSON"),
        ({"prompts": "x"}, "prompts takes an object"),
        (templates_dir(7), "prompts.templates_dir takes a text"),  # type: ignore[arg-type]
        ({"memory": {"experimental_memory_switch": "yes"}}, "experimental_memory_switch takes true or false"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_configuration_that_cannot_be_read_is_refused_without_its_secrets(
    here: Path, conf: Write, settings: Mapping[str, Any] | str, said: str
) -> None:
    path = conf(settings)
    with pytest.raises(ovstore.InvalidArgumentError, match=said) as caught:
        sources()
    assert str(path) in str(caught.value)
    assert "sk-secret" not in f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__dict__}"


def test_a_configuration_that_is_no_utf_8_is_refused(here: Path, conf: Write) -> None:
    conf("").write_bytes(b"\xff\xfe{}")
    with pytest.raises(ovstore.InvalidArgumentError, match="UTF-8"):
        sources()


def test_the_bundled_directory_by_its_name_is_the_seed_layer(here: Path, conf: Write) -> None:
    conf(templates_dir("configured"))
    found = sources(bundled.folder("seed_templates"))
    assert found.nothing
    assert found.listing().files == ()


def test_the_experimental_switch_is_about_the_bundled_schemas(conf: Write) -> None:
    conf({"memory": {"experimental_memory_switch": True}})
    manager = PromptManager()
    assert "experimental_memory" in manager.store.versions("profile")[0].path
    assert len(MemoryTypeRegistry(store=manager.store).list_names()) > 5
    manager.close()


def test_a_manager_is_filled_by_all_that_is_configured(store: ovstore.Store, here: Path, conf: Write) -> None:
    folders.write(here / "types", {"customs.yml": memory("customs")})
    conf({**templates_dir("configured"), "memory": {"custom_templates_dir": "types"}})
    manager = PromptManager(store=store)
    assert manager.render("semantic.note", {"q": "x"}) == "configured x"
    assert MemoryTypeRegistry(store=store).list_names() == ["customs"]
    assert {entry.reason for entry in store.audit()} == {"read from configured and types"}


def test_a_stamp_changes_with_the_files(here: Path) -> None:
    found = sources("given")
    before = found.stamp()
    assert found.stamp() == before
    folders.write(here / "given", {"semantic/more.yaml": prompt("semantic.more")})
    assert found.stamp() != before


def test_the_usual_places_are_upstreams() -> None:
    assert configuration.CONFIG_FILES[0] == "~/.openviking/ov.conf"
