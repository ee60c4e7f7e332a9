"""The wheel, built from the sdist and used outside the checkout, sets a store up, seeds it and renders."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VARIABLES = ["-v", "file_name=a.md", "-v", "content=Ovens are hot.", "-v", "output_language=en"]


def run(*command: str | Path, cwd: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OVSTORE_", "PYTHON"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def python(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment that has the wheel; dependencies are looked up in this one."""
    home = tmp_path_factory.mktemp("env")
    venv.create(home, with_pip=False)
    found = home / "bin" / "python"
    (wheel,) = built.glob("*.whl")
    run(sys.executable, "-m", "pip", "--python", found, "install", "-q", "--no-deps", wheel, cwd=home)
    site = Path(run(found, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home).strip())
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return found


def test_the_wheel_carries_migrations_seeds_and_types(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "ovstore/migrations/versions/0001_initial.py" in names
    assert "ovstore/seed_templates/semantic/document_summary.yaml" in names
    assert "ovstore/py.typed" in names
    assert not any(name.endswith((".pyc", ".db", ".env")) for name in names)


def test_the_sdist_has_everything_that_the_tests_need(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        top = {Path(name).parts[1] for name in archive.getnames() if len(Path(name).parts) > 1}
    assert {"ovstore", "migrations", "seed_templates", "tests", "docs", "README.md", "LICENSE"} <= top


def test_the_installed_wheel_migrates_seeds_and_renders_outside_the_checkout(python: Path, tmp_path: Path) -> None:
    where = run(python, "-c", "import ovstore; print(ovstore.__file__)", cwd=tmp_path).strip()
    assert not Path(where).is_relative_to(ROOT)
    command = python.with_name("ovstore")
    assert "templates in the seed layer" in run(command, "init", cwd=tmp_path)
    text = run(command, "render", "semantic.document_summary", *VARIABLES, "--tenant", "acme", cwd=tmp_path)
    assert "Ovens are hot." in text
    assert run(command, "--format", "json", "verify", cwd=tmp_path) == ""
