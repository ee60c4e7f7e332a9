"""Promise 4: what was imported is exported byte for byte, and importing an export changes nothing. And nothing that is
not ovstore's is overwritten on the way, nor anything written outside the folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from folders import CASES, contents, write
from samples import flow, memory, patch, prompt

import ovstore
from ovstore import Store, checking, exporting, lifecycle, names, sources, verbs
from ovstore.exporting import is_safe
from ovstore.planning import Plan

HEAD = b"""metadata:
  id: kinds.%s
  name: Kind
  description: A kind of file
  version: "1"
  language: en
  category: kinds
"""

SCRIPTS = "摘要 日本語 한국어 עברית العربية हिन्दी ไทย Ελληνικά Русский አማርኛ 🦊👩‍👩‍👧 e\u0301 ﷽ 𝔘𝔫𝔦"


def of_kind(name: str, body: bytes) -> bytes:
    return HEAD % name.encode() + body


KINDS = {
    "plain": of_kind("plain", b"template: |\n  Text\n"),
    "crlf": of_kind("crlf", b"template: |\n  One\n\n  Two\n").replace(b"\n", b"\r\n"),
    "no_newline": of_kind("no_newline", b"template: Text"),
    "many_newlines": of_kind("many_newlines", b"template: |+\n  Text\n\n\n\n"),
    "comments": b"# first\n" + of_kind("comments", b"# between\ntemplate: Text  # behind\n# last\n#"),
    "tabs": of_kind("tabs", b"template: |\n  a\tb\n  \t{# tab #}\tc\t\n"),
    "document_marks": b"%YAML 1.1\n--- # begin\n" + of_kind("document_marks", b"template: Text\n...\n"),
    "anchors": of_kind(
        "anchors", b"output_schema: {a: &text {type: string}, b: *text}\nllm_config: &c {x: 1}\ntemplate: Text\n"
    ),
    "quotes": of_kind("quotes", b'template: "a\\tb \\u00e9 \\\n   joined"\n'),
    "flow": of_kind("flow", b'llm_config: {a: 1.0e-3, "b": [1, 2.50, null]}\ntemplate: Text\n'),
    "unknown_keys": of_kind("unknown_keys", b"notes: {kept: in the source}\ntemplate: Text\n"),
    "scripts": of_kind("scripts", f"template: |\n  {SCRIPTS}\n".encode()),
    "decomposed": of_kind("decomposed", "template: cafe\u0301 vs caf\u00e9\n".encode()),
    "white_space": of_kind("white_space", b"template: |\n  trailing   \n   \n  more\n   \n"),
    "long": of_kind("long", b"template: |\n" + b"  0123456789 abcdef\n" * 52_000 + b"  end\n"),
    "one_long_line": of_kind("one_long_line", b"template: >-\n  " + "長".encode() * 340_000 + b"\n"),
}


def bring_in(store: Store, folder: Path, tenant: str | None = None, **options: bool) -> None:
    store.apply(store.plan_import(folder, tenant=tenant, **options), actor="ann", accept_risk="very_high", reason="r")


def actions(plan: Plan) -> set[str]:
    return {row.action for row in plan.rows}


def files(folder: Path) -> set[str]:
    return set(contents(folder))


def publish_at(store: Store, path: str, source: str) -> None:
    """Publish as if the file had lain at a path that no import would take."""
    given = lifecycle.order(actor="ann", reason="", change_set=None)
    key, new = sources.new_version(checking.check_source(source.encode()), path=path, category=None)
    verbs.publish(store._database, "global", key, new, given)


def test_files_of_every_kind_come_out_as_they_went_in(store: Store, tmp_path: Path) -> None:
    given = {f"kinds/{name}.yaml": source for name, source in KINDS.items()}
    write(tmp_path / "in", given)
    bring_in(store, tmp_path / "in", "acme")
    written = store.export(tmp_path / "out", tenant="acme")
    assert written == tuple(tmp_path / "out" / path for path in sorted(given))
    assert contents(tmp_path / "out") == given


def test_importing_an_export_changes_nothing(store: Store, tmp_path: Path) -> None:
    write(tmp_path / "in", {f"kinds/{name}.yml": source for name, source in KINDS.items() if len(source) < 10_000})
    write(tmp_path / "in", {"x/habits.yaml": memory(), "x/experimental_memory/tools.yaml": memory("tools")})
    bring_in(store, tmp_path / "in", experimental_memory=True)
    store.export(tmp_path / "out")
    plan = store.plan_import(tmp_path / "out", prune=True)
    assert (actions(plan), plan.risk) == ({"unchanged"}, "none")
    assert actions(store.plan_import(tmp_path / "out", prune=True, strict=True, experimental_memory=True)) == {
        "unchanged"
    }


def test_an_export_fills_an_empty_store_with_the_same(store: Store, tmp_path: Path) -> None:
    write(tmp_path / "in", {"x/habits.yaml": memory(), "kinds/crlf.yaml": KINDS["crlf"]})
    bring_in(store, tmp_path / "in", "acme")
    store.export(tmp_path / "out", tenant="acme")
    bring_in(store, tmp_path / "out", "globex")
    one, other = (
        {v.key: v for t in store.templates(tenant=name) for v in store.versions(t.key, tenant=name)}
        for name in ("acme", "globex")
    )
    assert {k: (v.path, v.source) for k, v in one.items()} == {k: (v.path, v.source) for k, v in other.items()}
    assert {t.key: t.category for t in store.templates(tenant="globex")} == {"habits": "x", "kinds.crlf": "kinds"}


def test_a_byte_order_mark_is_no_part_of_the_source(store: Store, tmp_path: Path) -> None:
    write(tmp_path / "in", {"semantic/note.yaml": b"\xef\xbb\xbf" + prompt().encode()})
    bring_in(store, tmp_path / "in")
    store.export(tmp_path / "out")
    assert contents(tmp_path / "out") == {"semantic/note.yaml": prompt().encode()}


def test_order_comments_and_scripts_survive_to_the_byte(store: Store, tmp_path: Path) -> None:
    case = CASES / "35_order_comments_unicode_export"
    bring_in(store, case)
    (out,) = store.export(tmp_path / "out")
    assert out.read_bytes() == (case / "prompt.yaml").read_bytes()


def test_a_generated_document_keeps_order_and_reads_well(store: Store, tmp_path: Path) -> None:
    bring_in(store, CASES / "35_order_comments_unicode_export")
    (out,) = store.export(tmp_path / "out", tenant="acme", effective=True)
    text = out.read_text(encoding="utf-8")
    sections = [line.split(":")[0] for line in text.splitlines() if line[:1].isalpha()]
    assert sections == ["metadata", "variables", "template", "output_schema", "llm_config"]
    inner = [text.index(f"\n    {name}:") for name in ("zeta", "id", "abstract", "b")]
    assert inner == sorted(inner)
    assert "摘要 🦊 שלום {{ q }}  # not a comment" in text
    assert "template: |\n" in text
    assert "temperature: 0.0\n" in text


def test_keys_of_one_upstream_path_come_out_as_files_of_their_own(store: Store, tmp_path: Path) -> None:
    case = CASES / "38_export_path_collision"
    refused = store.plan_import(case)
    assert {(Path(f.path or "").name, f.code) for f in refused.findings if f.severity == "error"} == {
        ("c.yaml", "bad-id")
    }
    for name in ("a.yaml", "b.yaml"):
        store.publish(case / name, actor="ann")
    written = store.export(tmp_path / "out")
    assert {p.name for p in written} == {"doc.summary.yaml", "doc_summary.yaml"}
    bring_in(store, tmp_path / "out", "acme", strict=True)
    for key, text in {"semantic.doc.summary": "dotted\n", "semantic.doc_summary": "underscored\n"}.items():
        assert store.resolve(key, tenant="acme").document["template"] == text


def test_two_keys_with_one_path_get_files_of_their_own(store: Store, tmp_path: Path) -> None:
    for key in ("semantic.one", "semantic.two", "semantic.three"):
        write(tmp_path / key, {"semantic/Note.yaml" if key.endswith("e") else "semantic/note.yaml": prompt(key)})
        bring_in(store, tmp_path / key)
    written = store.export(tmp_path / "out")
    assert len({names.folded(str(path)) for path in written}) == 3
    assert actions(store.plan_import(tmp_path / "out", prune=True)) == {"unchanged"}


def test_one_key_is_written_to_the_same_place_with_and_without_the_others(store: Store, tmp_path: Path) -> None:
    for key in ("semantic.one", "semantic.two"):
        write(tmp_path / key, {"semantic/note.yaml": prompt(key)})
        bring_in(store, tmp_path / key)
    store.export(tmp_path / "out")
    before = contents(tmp_path / "out")
    assert store.export(tmp_path / "out", ["semantic.two"]) == (tmp_path / "out/semantic/two.yaml",)
    assert contents(tmp_path / "out") == before


def test_a_memory_type_and_a_prompt_with_one_default_path_do_not_collide(store: Store, tmp_path: Path) -> None:
    store.publish(memory("profile"), actor="ann")
    store.publish(prompt("memory.profile"), actor="ann")
    store.export(tmp_path / "out")
    assert files(tmp_path / "out") == {"memory/profile.yaml", "memory/profile-2.yaml"}


@pytest.mark.parametrize(
    "path",
    [
        *("../../evil.yaml", "/etc/evil.yaml", "a/../../evil.yaml", "a//evil.yaml", "", ".", "..", "a/", "evil.txt"),
        *(".evil.yaml", ".git/evil.yaml", "a\\evil.yaml", "a\nb/evil.yaml", "x.yaml/evil.yaml", "a/con.yaml"),
        *("NUL.yaml", "lpt1/evil.yaml", "a" * 300 + ".yaml", "a/" * 600 + "evil.yaml"),
    ],
)
def test_a_path_from_the_database_is_never_trusted(store: Store, tmp_path: Path, path: str) -> None:
    publish_at(store, path, prompt())
    assert not is_safe(path)
    out = tmp_path / "deep" / "out"
    assert store.export(out) == (out / "semantic/note.yaml",)
    assert [p for p in files(tmp_path) if not p.startswith("ovstore.db")] == ["deep/out/semantic/note.yaml"]


def test_a_key_that_is_a_device_elsewhere_is_not_a_file_name(store: Store, tmp_path: Path) -> None:
    store.publish(prompt("semantic.con"), actor="ann")
    assert store.export(tmp_path / "out") == (tmp_path / "out/semantic/con-2.yaml",)


def test_an_earlier_export_is_brought_up_to_date(store: Store, tmp_path: Path) -> None:
    for key in ("semantic.note", "semantic.old", "vision.old"):
        store.publish(prompt(key), actor="ann")
    store.export(tmp_path / "out")
    store.publish(prompt(template="New {{ q }}"), actor="ann")
    for key in ("semantic.old", "vision.old"):
        store.withdraw(key, actor="ann", reason="unused", accept_risk="high")
    assert store.export(tmp_path / "out") == (tmp_path / "out/semantic/note.yaml",)
    assert contents(tmp_path / "out") == {"semantic/note.yaml": prompt(template="New {{ q }}").encode()}
    assert not (tmp_path / "out/vision").exists()


def test_an_export_over_the_folder_that_was_imported_and_edited_keeps_what_was_edited(
    store: Store, tmp_path: Path
) -> None:
    write(tmp_path, {"in/semantic/note.yaml": prompt(), "in/semantic/other.yaml": prompt("semantic.other")})
    bring_in(store, tmp_path / "in")
    store.publish(prompt(template="Better {{ q }}"), actor="bob")
    edited = prompt("semantic.other", template="Edited {{ q }}")
    write(tmp_path, {"in/semantic/other.yaml": edited})
    before = contents(tmp_path / "in")
    with pytest.raises(ovstore.ConflictError, match=r"other\.yaml"):
        store.export(tmp_path / "in")
    assert contents(tmp_path / "in") == before
    store.publish(edited, actor="ann")
    store.export(tmp_path / "in")
    assert contents(tmp_path / "in")["semantic/note.yaml"] == prompt(template="Better {{ q }}").encode()


@pytest.mark.parametrize("place", ["semantic/note.yaml", "semantic/mine.yaml", "vision/deep/mine.yml"])
def test_files_of_others_are_never_overwritten_or_removed(store: Store, tmp_path: Path, place: str) -> None:
    store.publish(prompt(), actor="ann")
    write(tmp_path / "out", {place: "# mine\n"})
    with pytest.raises(ovstore.ConflictError) as caught:
        store.export(tmp_path / "out")
    assert caught.value.found == (str(tmp_path / "out" / place),)
    assert contents(tmp_path / "out") == {place: b"# mine\n"}


def test_files_that_no_import_would_read_may_lie_beside(store: Store, tmp_path: Path) -> None:
    store.publish(prompt(), actor="ann")
    write(tmp_path / "out", {"README.md": "#", ".git/config": "x", "semantic/notes.txt": "x"})
    store.export(tmp_path / "out")
    assert files(tmp_path / "out") == {"README.md", ".git/config", "semantic/notes.txt", "semantic/note.yaml"}


def test_the_export_of_another_tenant_is_not_overwritten(store: Store, tmp_path: Path) -> None:
    store.publish(prompt(template="Acme {{ q }}"), tenant="acme", actor="ann")
    store.publish(prompt(template="Globex {{ q }}"), tenant="globex", actor="ann")
    store.export(tmp_path / "out", tenant="acme")
    with pytest.raises(ovstore.ConflictError):
        store.export(tmp_path / "out", tenant="globex")
    assert b"Acme" in contents(tmp_path / "out")["semantic/note.yaml"]


@pytest.mark.parametrize("link", ["semantic", "semantic/note.yaml"])
def test_a_link_in_the_folder_leads_nobody_out_of_it(store: Store, tmp_path: Path, link: str) -> None:
    store.publish(prompt(), actor="ann")
    write(tmp_path / "elsewhere", {"note.yaml": prompt()})
    place = tmp_path / "out" / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(tmp_path / "elsewhere" / ("" if link == "semantic" else "note.yaml"))
    store.publish(prompt(template="New {{ q }}"), actor="ann")
    for keys in (None, ["semantic.note"]):
        with pytest.raises(ovstore.ConflictError):
            store.export(tmp_path / "out", keys)
    assert contents(tmp_path / "elsewhere") == {"note.yaml": prompt().encode()}


def test_a_pipe_in_the_way_is_no_file_to_wait_for(store: Store, tmp_path: Path) -> None:
    store.publish(prompt(), actor="ann")
    (tmp_path / "semantic").mkdir()
    os.mkfifo(tmp_path / "semantic/note.yaml")
    with pytest.raises(ovstore.ConflictError):
        store.export(tmp_path, ["semantic.note"])


def test_a_folder_in_the_way_of_a_file_is_told(store: Store, tmp_path: Path) -> None:
    store.publish(prompt(), actor="ann")
    (tmp_path / "semantic/note.yaml").mkdir(parents=True)
    with pytest.raises(ovstore.ConflictError):
        store.export(tmp_path)


def test_some_keys_are_written_beside_others(store: Store, tmp_path: Path) -> None:
    for key in ("semantic.note", "semantic.other"):
        store.publish(prompt(key), actor="ann")
    write(tmp_path / "out", {"mine.yaml": "x"})
    assert store.export(tmp_path / "out", ["semantic.other"]) == (tmp_path / "out/semantic/other.yaml",)
    assert files(tmp_path / "out") == {"mine.yaml", "semantic/other.yaml"}


def test_a_key_that_is_not_overridden_is_not_found_with_near_names(store: Store, tmp_path: Path) -> None:
    store.publish(prompt(), actor="ann")
    with pytest.raises(ovstore.NotFoundError, match=r"semantic\.nota.*did you mean semantic\.note"):
        store.export(tmp_path / "out", ["semantic.nota"])
    with pytest.raises(ovstore.NotFoundError):
        store.export(tmp_path / "out", ["semantic.note"], tenant="acme")
    assert not (tmp_path / "out").exists()


def test_a_scope_that_overrides_nothing_gives_an_empty_folder(store: Store, tmp_path: Path) -> None:
    assert store.export(tmp_path / "out", tenant="acme") == ()
    assert contents(tmp_path / "out") == {}


def test_a_file_is_no_folder_to_export_into(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"out": "x"})
    with pytest.raises(ovstore.InvalidArgumentError, match="is a file"):
        store.export(tmp_path / "out")


def test_an_export_that_fails_halfway_is_done_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        store.publish(prompt(f"semantic.n{n}"), actor="ann")
    replace = Path.replace

    def full(self: Path, target: Path) -> Path:
        if target.name == "n2.yaml":
            raise OSError(28, "No space left on device", str(target))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(ovstore.InvalidArgumentError, match=r"n2\.yaml cannot be written: No space left"):
        store.export(tmp_path / "out")
    assert files(tmp_path / "out") == {"semantic/n0.yaml", "semantic/n1.yaml"}
    monkeypatch.setattr(Path, "replace", replace)
    assert len(store.export(tmp_path / "out")) == 3


def test_an_effective_export_is_folded_and_its_heads_name_the_versions(store: Store, tmp_path: Path) -> None:
    store.seed.publish(prompt(template="Seed {{ q }}"), actor="ann")
    store.publish(memory(), actor="ann")
    store.publish(patch("semantic.note", llm_config={"temperature": 0.5}), tenant="acme", actor="ann")
    written = store.export(tmp_path / "out", tenant="acme", effective=True)
    assert [p.relative_to(tmp_path / "out").as_posix() for p in written] == ["memory/habits.yaml", "semantic/note.yaml"]
    note = written[1].read_text(encoding="utf-8")
    assert note.startswith("# semantic.note as acme gets it: acme:1 on seed:1\n")
    assert ovstore.check(tmp_path / "out", strict=True) == ()
    bring_in(store, tmp_path / "out", "globex")
    for key in ("habits", "semantic.note"):
        assert (
            store.resolve(key, tenant="globex").document.canonical()
            == store.resolve(key, tenant="acme").document.canonical()
        )


def test_an_effective_export_is_brought_up_to_date_but_not_over_an_edit(store: Store, tmp_path: Path) -> None:
    store.publish(prompt(), actor="ann")
    store.publish(prompt("semantic.old"), actor="ann")
    store.export(tmp_path / "out", effective=True, tenant="acme")
    store.withdraw("semantic.old", actor="ann", reason="unused", accept_risk="high")
    store.publish(prompt(template="New {{ q }}"), actor="ann")
    (place,) = store.export(tmp_path / "out", effective=True, tenant="acme")
    assert b"global:2" in place.read_bytes()
    place.write_bytes(place.read_bytes() + b"# mine\n")
    with pytest.raises(ovstore.ConflictError):
        store.export(tmp_path / "out", effective=True, tenant="acme")


def test_an_effective_export_and_a_plain_one_do_not_mix(store: Store, tmp_path: Path) -> None:
    store.publish(prompt(), actor="ann")
    store.export(tmp_path / "plain")
    store.export(tmp_path / "effective", effective=True)
    with pytest.raises(ovstore.ConflictError):
        store.export(tmp_path / "plain", effective=True)
    with pytest.raises(ovstore.ConflictError):
        store.export(tmp_path / "effective")
    with pytest.raises(ovstore.ConflictError):
        store.export(tmp_path / "effective", effective=True, tenant="acme")


def test_one_effective_key_of_a_layer_below_can_be_exported(store: Store, tmp_path: Path) -> None:
    store.seed.publish(prompt(), actor="ann")
    store.seed.publish(memory(), actor="ann")
    assert store.export(tmp_path / "out", ["habits"], tenant="acme", effective=True) == (
        tmp_path / "out/memory/habits.yaml",
    )
    with pytest.raises(ovstore.NotFoundError):
        store.export(tmp_path / "out", ["habitz"], tenant="acme", effective=True)


def test_an_export_reads_sources_in_pieces(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "_CHUNK", 2)
    write(tmp_path / "in", {f"semantic/n{n}.yaml": prompt(f"semantic.n{n}") for n in range(5)})
    bring_in(store, tmp_path / "in")
    store.export(tmp_path / "out")
    assert contents(tmp_path / "out") == contents(tmp_path / "in")


@pytest.mark.parametrize("size", [30_000, 400_000])
def test_a_prompt_of_many_characters_goes_in_and_out(store: Store, tmp_path: Path, size: int) -> None:
    write(tmp_path / "in", {"semantic/note.yaml": prompt(template="長" * size + "{{ q }}")})
    bring_in(store, tmp_path / "in")
    store.export(tmp_path / "out")
    assert contents(tmp_path / "out") == contents(tmp_path / "in")
    assert len(store.resolve("semantic.note").document["template"]) == size + len("{{ q }}")


def test_a_prompt_beyond_the_limit_is_refused_with_its_size(store: Store, tmp_path: Path) -> None:
    write(tmp_path / "in", {"semantic/note.yaml": flow({"template": "長" * 1_200_000})})
    plan = store.plan_import(tmp_path / "in")
    assert [(f.code, f.severity) for f in plan.findings] == [("too-large", "error")]
    assert "3,600,0" in plan.findings[0].message
