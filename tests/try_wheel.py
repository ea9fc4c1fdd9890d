"""Give the built wheel its platform's tag, install it in an empty environment, and use it there: `make wheel`.

    python tests/try_wheel.py FOLDER

FOLDER/built holds a source distribution and the wheel that was made from it; both end in FOLDER, the wheel tagged for
the oldest Linux that it runs on. No compiler can be found while it is installed and used.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

SECONDS_TO_IMPORT = 0.2  # of CPU, the least of several starts less that of an empty program
STARTS = 7

_IMPORT = "import chaffinch"
_USE = """
import pathlib
import pickle
import chaffinch
from chaffinch import Classifier, Tagger, load
tagger = Tagger().fit([["a", "dog", "barks"], ["the", "cat", "sleeps"]] * 20, [["D", "N", "V"]] * 40)
tagger.save("m.chaff")
assert load("m.chaff").predict([["the", "dog", "sleeps"]]) == [["D", "N", "V"]]
assert pickle.loads(pickle.dumps(tagger)).predict([["a", "cat"]]) == [["D", "N"]]
texts, labels = ["good tea", "bad tea", "good dog", "bad cat"] * 10, ["+", "-", "+", "-"] * 10
assert list(Classifier().fit(texts, labels).predict(["good cat"])) == ["+"]
page = pathlib.Path(chaffinch.__file__).parent / "serve" / "page"
for name in ("index.html", "page.js", "style.css", "icon.svg", "vendor/preact.mjs", "vendor/preact.LICENSE"):
    assert (page / name).is_file(), name
"""


def tagged(built: Path, folder: Path) -> Path:
    """The wheel in its final place; on Linux, repaired and tagged by auditwheel."""
    (wheel,) = built.glob("*.whl")
    if platform.system() == "Linux":
        subprocess.run(["auditwheel", "repair", "--wheel-dir", folder, wheel], check=True)
    else:
        shutil.copy(wheel, folder)
    (source,) = built.glob("*.tar.gz")
    shutil.copy(source, folder)
    shutil.rmtree(built)
    (final,) = folder.glob("*.whl")
    return final


def cpu_seconds(python: Path, program: str) -> float:
    """The CPU time of one start of Python with a program, the least of several."""
    spent = []
    for _ in range(STARTS):
        before = os.times()
        subprocess.run([python, "-I", "-c", program], check=True)
        after = os.times()
        spent.append(
            after.children_user + after.children_system - before.children_user - before.children_system
        )
    return min(spent)


def tried(wheel: Path) -> None:
    """Install the wheel where there is no compiler, import it, train with it, and run its command."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        venv.create(home / "env", with_pip=True)
        programs = home / "env" / ("Scripts" if os.name == "nt" else "bin")
        python = programs / "python"
        no_compiler = {**os.environ, "PATH": str(programs), "CC": "no-compiler", "CXX": "no-compiler"}
        subprocess.run(
            [
                python,
                "-m",
                "pip",
                "--disable-pip-version-check",
                "install",
                "--quiet",
                "--only-binary=:all:",
                wheel,
            ],
            check=True,
            env=no_compiler,
        )
        subprocess.run([python, "-I", "-c", _USE], check=True, env=no_compiler, cwd=home)
        command = [programs / "chaffinch"]
        samples = [[*command, "samples", "ingredients", "-o", "s"], [*command, "--version"]]
        for line in samples:
            subprocess.run(line, check=True, env=no_compiler, cwd=home, stdout=subprocess.DEVNULL)
        seconds = cpu_seconds(python, _IMPORT) - cpu_seconds(python, "")
    if seconds > SECONDS_TO_IMPORT:
        raise SystemExit(f"import chaffinch takes {seconds:.2f} s of CPU, more than {SECONDS_TO_IMPORT}")
    size = wheel.stat().st_size / 1e6
    print(f"{wheel.name}: {size:.1f} MB, installed and used without a compiler, imported in {seconds:.3f} s")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    tried(tagged(target / "built", target))
