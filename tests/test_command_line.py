"""Every command under bad input and bad circumstances: one sentence, the right exit code, nothing half-written."""

import gzip
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from commandline import Runner, run
from forked import COMMAND, Forked, forked

__all__ = ["run"]

GOOD = b"the DT\ndog NN\nbarks VB\n\na DT\ncat NN\nsleeps VB\n\n" * 10
KEPT = ("PATH", "HOME", "LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS")  # the last three: make sanitize
CLEAN = {name: os.environ[name] for name in KEPT if name in os.environ}
MAIN = [sys.executable, "-c", COMMAND]

# A shell starts what it runs in the background with Ctrl-C ignored, and a run of these tests may be such.
MIND_INTERRUPTS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    (folder / "good.conll").write_bytes(GOOD)
    done = forked(COMMAND, "train", folder / "good.conll", "-o", folder / "m.chaff", "--recipe", "hmm")
    assert done.returncode == 0
    return folder / "m.chaff"


# Every way in which a command reads a column file; OUT must not exist afterwards.
READERS = {
    "train": "train FILE -o OUT",
    "train, dev": "train GOOD --dev FILE -o OUT",
    "predict": "predict MODEL FILE -o OUT",
    "evaluate, gold": "evaluate FILE GOOD --html OUT",
    "evaluate, output": "evaluate GOOD FILE --html OUT",
    "evaluate, other output": "evaluate GOOD GOOD --against FILE --html OUT",
    "evaluate, training file": "evaluate GOOD GOOD --train FILE --html OUT",
    "evaluate, one file": "evaluate FILE --html OUT",
    "convert": "convert FILE OUT --to columns",
    "cluster": "cluster FILE -o OUT",
}
# What is no fault to a reader of plain text, and what is none to label.
NO_FAULT = {
    "cluster": ("wrong column count", "blank lines only", "duplicate header"),
    "predict": ("empty file", "blank lines only"),
}

# file name, content, what is said behind the file's name
FAULTS = {
    "wrong column count": ("f.conll", b"a X\nb\n", r":2: expected 2 columns as on line 1, found 1: 'b'"),
    "broken UTF-8": ("f.conll", b"a X\ncaf\xe9 Y\n", r":2: not UTF-8: .*"),
    "UTF-16": ("f.conll", GOOD.decode().encode("utf-16"), r":1: (NUL byte|not UTF-8).*"),
    "NUL byte": ("f.conll", b"a X\nb\0 Y\n", r":2: NUL byte, so this is not a text file: .*"),
    "line ends of carriage returns": (
        "f.conll",
        GOOD.replace(b"\n", b"\r"),
        r":1: carriage return inside the line.*",
    ),
    "empty file": ("f.conll", b"", r": is empty"),
    "blank lines only": ("f.conll", b"\n\n", r": holds no sentence"),
    "a line of 10 MB": ("f.conll", b"x" * 10_000_000, r":1: line of more than 8 MiB.*"),
    "truncated gzip": ("f.conll.gz", gzip.compress(GOOD * 50)[:-20], r": is not a whole gzip file: .*"),
    "no gzip": ("f.conll.gz", GOOD, r": is not a whole gzip file: .*"),
    "duplicate header": (
        "f.csv",
        b"text,label,text\na,b,c\n",
        r":1: the header has the column 'text' twice.*|: has no column of tags beside the words",
    ),
    "missing file": ("f.conll", None, r": no such file"),
    "folder": ("f.conll", "folder", r": is a (folder|directory).*"),
    "no permission": ("f.conll", "secret", r": no permission to read it"),
}


def arguments(pattern: str, **paths: Path) -> list[str]:
    return [str(paths[word]) if word in paths else word for word in pattern.split()]


@pytest.mark.parametrize(
    ("reader", "fault"),
    [(r, f) for r in READERS for f in FAULTS if f not in NO_FAULT.get(r, ())],
)
def test_bad_input_is_one_sentence_and_writes_nothing(
    reader: str, fault: str, model: Path, tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, content, said = FAULTS[fault]
    file, good = tmp_path / name, tmp_path / "good.conll"
    good.write_bytes(GOOD)
    if content == "folder":
        file.mkdir()
    elif content == "secret":
        file.write_bytes(GOOD)
        refuse_to_open(file, monkeypatch)
    elif isinstance(content, bytes):
        file.write_bytes(content)
    before = set(tmp_path.iterdir())
    command = arguments(READERS[reader], FILE=file, GOOD=good, MODEL=model, OUT=tmp_path / "out")
    outcome = run(*command)
    assert (outcome.code, outcome.out) == (2, "")
    assert re.fullmatch(rf"chaffinch: {re.escape(str(file))}({said})\n", outcome.err), outcome.err
    assert set(tmp_path.iterdir()) == before


def refuse_to_open(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a user without permission; root, who may run the tests, would be allowed everything."""
    opened = Path.open

    def refuse(self: Path, *arguments: object, **options: object) -> object:
        if self == path:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "open", refuse)


@pytest.mark.parametrize("reader", READERS)
def test_windows_line_ends_and_a_byte_order_mark_change_nothing(
    reader: str, model: Path, tmp_path: Path, run: Runner
) -> None:
    content = re.sub(rb"( \w+)\n", rb"\1\1\n", GOOD) if reader == "evaluate, one file" else GOOD
    (tmp_path / "good.conll").write_bytes(GOOD)
    written = set()
    for changed in (content, b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n")):
        (tmp_path / "f.conll").write_bytes(changed)
        paths = {"FILE": "f.conll", "GOOD": "good.conll", "OUT": "out"}
        places = {word: tmp_path / name for word, name in paths.items()}
        outcome = run(*arguments(READERS[reader], **places, MODEL=model))
        assert outcome.code == 0, outcome.err
        written.add((tmp_path / "out").read_bytes())
        (tmp_path / "out").unlink()
    assert len(written) == 1


WRITERS = {
    "train": "train GOOD -o OUT",
    "predict": "predict MODEL GOOD -o OUT",
    "evaluate": "evaluate GOOD GOOD --html OUT",
    "convert": "convert GOOD OUT --to columns --force",
    "cluster": "cluster GOOD -o OUT",
    "inspect": "inspect MODEL --html OUT",
    "samples": "samples posts --out OUT",
}


@pytest.mark.parametrize("writer", WRITERS)
def test_what_cannot_be_written_is_one_sentence(
    writer: str, model: Path, tmp_path: Path, run: Runner
) -> None:
    good, folder = tmp_path / "good.conll", tmp_path / "folder"
    good.write_bytes(GOOD)
    folder.mkdir()
    places = {
        "inside a file": good / "out",
        "in no folder": tmp_path / "none" / "out",
        "a folder": folder,
    }
    if writer == "samples":  # which makes its folder
        places = {"inside a file": good / "out", "a file": good}
    if writer == "predict":  # which writes a file per input into a folder
        del places["a folder"]
    for out in places.values():
        outcome = run(*arguments(WRITERS[writer], GOOD=good, MODEL=model, OUT=out))
        assert outcome.code == 2
        assert re.fullmatch(rf"chaffinch: {re.escape(str(out))}[^\n]*\n", outcome.err), outcome.err
        assert sorted(tmp_path.iterdir()) == [folder, good]
        assert list(folder.iterdir()) == []


@pytest.mark.parametrize("writer", sorted(WRITERS.keys() - {"samples", "convert"}))
def test_what_cannot_be_written_is_known_before_anything_is_read(
    writer: str, tmp_path: Path, run: Runner
) -> None:
    missing, out = tmp_path / "missing.conll", tmp_path / "none" / "out"
    outcome = run(*arguments(WRITERS[writer], GOOD=missing, MODEL=missing, OUT=out))
    assert outcome.code == 2
    assert outcome.err == f"chaffinch: {out}: the folder {out.parent} does not exist\n"


@pytest.mark.parametrize("writer", [w for w in WRITERS if w != "samples"])
def test_devices_are_written_to_and_stay_what_they_are(
    writer: str, model: Path, tmp_path: Path, run: Runner
) -> None:
    good, out = tmp_path / "good.conll", tmp_path / "pipe"
    good.write_bytes(GOOD)
    os.mkfifo(out)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(out.read_bytes()), daemon=True)
    reader.start()
    outcome = run(*arguments(WRITERS[writer], GOOD=good, MODEL=model, OUT=out))
    assert outcome.code == 0, outcome.err
    reader.join(timeout=60)
    assert received[0]
    assert out.is_fifo()


def test_a_link_stays_a_link_and_a_mode_stays_a_mode(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "good.conll").write_bytes(GOOD)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "real.conll").write_bytes(b"old X\n")
    (tmp_path / "kept" / "real.conll").chmod(0o600)
    (tmp_path / "link.conll").symlink_to(tmp_path / "kept" / "real.conll")
    assert run("convert", tmp_path / "good.conll", tmp_path / "link.conll", "--force").code == 0
    assert (tmp_path / "link.conll").is_symlink()
    assert (tmp_path / "kept" / "real.conll").read_bytes() == GOOD.replace(b" ", b"\t")
    assert (tmp_path / "kept" / "real.conll").stat().st_mode & 0o777 == 0o600


SHOWN = {
    "evaluate": "evaluate GOOD GOOD",
    "predict": "predict MODEL GOOD",
    "convert": "convert GOOD - --to columns",
    "samples": "samples posts --json",
}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", SHOWN)
def test_a_full_disk_is_one_sentence(command: str, model: Path) -> None:
    good = model.with_name("good.conll")
    with open("/dev/full", "w") as full:
        asked = arguments(SHOWN[command], GOOD=good, MODEL=model)
        done = forked(COMMAND, *asked, stdout=full.fileno(), env=CLEAN)
    assert done.returncode == 2
    assert re.fullmatch(rb"chaffinch: [^\n]*No space left on device\n", done.stderr), done.stderr


PAGES = {"help": "--help", "help of a command": "train --help"}


@pytest.mark.parametrize("command", SHOWN | PAGES)
def test_a_reader_who_has_seen_enough_ends_the_command_quietly(command: str, model: Path) -> None:
    good = model.with_name("good.conll")
    read_end, write_end = os.pipe()
    os.close(read_end)
    asked = arguments((SHOWN | PAGES)[command], GOOD=good, MODEL=model)
    done = forked(COMMAND, *asked, stdout=write_end, env=CLEAN)
    os.close(write_end)
    said = [line for line in done.stderr.splitlines() if b"documents:" not in line]
    assert (done.returncode, said) == (141, [])


@pytest.mark.parametrize(
    "pattern", ["train FILE -o OUT", "convert FILE OUT --force", "predict MODEL FILE -o OUT"]
)
def test_ctrl_c_leaves_the_old_file_and_no_other(pattern: str, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.conll"
    out.write_bytes(b"old X\n")
    os.mkfifo(tmp_path / "f.conll")
    command = arguments(pattern, FILE=tmp_path / "f.conll", OUT=out, MODEL=model)
    with tempfile.TemporaryFile() as said:
        process = Forked(f"{MIND_INTERRUPTS}; {COMMAND}", *command, stderr=said, env=CLEAN)
        with open(tmp_path / "f.conll", "wb") as stream:  # opened once the command reads
            stream.write(GOOD)
            stream.flush()
            time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        said.seek(0)
        assert re.fullmatch(rb"chaffinch: interrupted[^\n]*\n", told := said.read()), told
        if not pattern.startswith("convert"):
            assert told == f"chaffinch: interrupted: {out} is as it was before\n".encode()
    assert out.read_bytes() == b"old X\n"
    assert {p.name for p in tmp_path.iterdir()} == {"out.conll", "f.conll"}


def test_ctrl_c_while_writing_removes_what_was_begun(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"old")
    code = (
        "import os, signal, sys; from chaffinch.files import writing\n"
        "with writing(sys.argv[1]) as out:\n"
        "    out.write(b'new'); out.flush(); os.kill(os.getpid(), signal.SIGINT)"
    )
    command = [sys.executable, "-c", f"{MIND_INTERRUPTS}; {code}", out]
    done = subprocess.run(command, capture_output=True, check=False)
    assert b"KeyboardInterrupt" in done.stderr
    assert out.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [out]


def interrupting(place: str, attribute: str) -> str:
    """Code that runs a command and interrupts it after a call of this method."""
    return (
        f"{MIND_INTERRUPTS}; import os; from {place.rpartition('.')[0]} import {place.rpartition('.')[2]} as Owner\n"
        f"real = Owner.{attribute}\n"
        "def then_interrupted(self, *given, **named):\n"
        "    done = real(self, *given, **named)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return done\n"
        f"Owner.{attribute} = then_interrupted\n{COMMAND}"
    )


CACHED = {
    "reading": ("chaffinch.cache.sentences.CacheWriter", "add", False),
    "closing": ("chaffinch.cache.blocks.BlockWriter", "section", False),
    "passes": ("chaffinch.learners.training.Checkpoint", "save", True),
}


@pytest.mark.parametrize("moment", CACHED)
def test_ctrl_c_in_training_from_a_cache_says_whether_it_continues(moment: str, tmp_path: Path) -> None:
    (tmp_path / "good.conll").write_bytes(GOOD)
    place, attribute, continues = CACHED[moment]
    out, cache = tmp_path / "m.chaff", tmp_path / "work"
    asked = ["train", tmp_path / "good.conll", "-o", out, "--cache", cache, "--recipe", "crf"]
    assert forked(COMMAND, *asked, env=CLEAN).returncode == 0
    whole = out.read_bytes()
    out.unlink()
    done = forked(interrupting(place, attribute), *asked, env=CLEAN)
    told = f"; the same command continues from {cache}" if continues else ""
    assert done.stderr.decode() == f"chaffinch: interrupted: {out} was not written{told}\n"
    assert done.returncode == 130
    left = {p.name for p in cache.iterdir()} if cache.exists() else None
    assert left == ({"sentences.cache", "checkpoint"} if continues else None)
    assert forked(COMMAND, *asked, env=CLEAN).returncode == 0
    assert out.read_bytes() == whole
    assert not cache.exists() or not any(cache.iterdir())
    assert {p.name for p in tmp_path.iterdir()} - {cache.name} == {"good.conll", "m.chaff"}


def test_ctrl_c_while_arguments_are_read_says_that_nothing_was_begun(tmp_path: Path) -> None:
    code = (
        f"{MIND_INTERRUPTS}; import os; from chaffinch.cli import LazyGroup\n"
        "LazyGroup.parse_args = lambda *given: os.kill(os.getpid(), signal.SIGINT)\n"
    )
    done = forked(code + COMMAND, "samples", env=CLEAN)
    assert (done.returncode, done.stderr) == (130, b"chaffinch: interrupted: nothing was begun\n")


@pytest.mark.parametrize(("name", "of"), [("good.conll", "/sentences.cache"), ("good.csv", "")])
def test_a_cache_for_which_there_is_no_room_is_named_and_leaves_nothing(
    name: str, of: str, tmp_path: Path
) -> None:
    (tmp_path / "good.conll").write_bytes(GOOD * 20)
    rows = [f"{'tea' if n % 2 else 'rain'} {n} and some more words,{n % 2}" for n in range(400)]
    (tmp_path / "good.csv").write_text("\n".join(["text,label", *rows, ""]))
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))"
    out, cache = tmp_path / "m.chaff", tmp_path / "work"
    done = forked(f"{limit}; {COMMAND}", "train", tmp_path / name, "-o", out, "--cache", cache, env=CLEAN)
    assert done.returncode == 2
    assert done.stderr.decode() == (
        f"chaffinch: {cache}{of}: cannot be written: File too large; "
        "raise the limit on the size of files (ulimit -f)\n"
    )
    assert {p.name for p in tmp_path.iterdir()} == {"good.conll", "good.csv"}


def test_a_folder_or_a_broken_link_among_many_inputs_is_named(
    model: Path, tmp_path: Path, run: Runner
) -> None:
    for folder in ("in", "out"):
        (tmp_path / folder).mkdir()
    for name in ("1.conll", "3.conll"):
        (tmp_path / "in" / name).write_bytes(GOOD)
    (tmp_path / "in" / "2.conll").mkdir()
    asked = ("predict", model, tmp_path / "in" / "*.conll", "-o", tmp_path / "out", "--on-error", "skip")
    outcome = run(*asked)
    assert outcome.code == 2
    assert f"{tmp_path / 'in' / '2.conll'}: is a directory, expected a file" in outcome.err
    (tmp_path / "in" / "2.conll").rmdir()
    (tmp_path / "in" / "2.conll").symlink_to(tmp_path / "nowhere")
    outcome = run(*asked)
    assert outcome.code == 2
    assert f"{tmp_path / 'in' / '2.conll'}: no such file" in outcome.err
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["1.conll"]


@pytest.mark.parametrize("pattern", ["train - -o OUT", "predict MODEL -", "convert - -", "evaluate - GOOD"])
@pytest.mark.parametrize("pieces", [1, 7])
def test_standard_input_is_read_from_its_start_however_slowly_it_comes(
    pattern: str, pieces: int, model: Path, tmp_path: Path
) -> None:
    command = arguments(pattern, OUT=tmp_path / "m", MODEL=model, GOOD=model.with_name("good.conll"))
    options = ["--to", "columns", "--from", "columns"] if pattern.startswith("convert") else []
    read_end, write_end = os.pipe()
    with tempfile.TemporaryFile() as out:
        process = Forked(COMMAND, *command, *options, stdin=read_end, stdout=out, env=CLEAN)
        os.close(read_end)
        for piece in [GOOD] if pieces == 1 else [GOOD[:pieces], GOOD[pieces:]]:
            os.write(write_end, piece)
        os.close(write_end)
        assert process.wait(60) == 0
        out.seek(0)
        if pattern.startswith(("predict", "convert")):
            assert out.read().count(b"\n") == GOOD.count(b"\n")


def test_pipes_in_place_of_files_are_read_whole(model: Path, tmp_path: Path, run: Runner) -> None:
    good = model.with_name("good.conll")
    for command in ("evaluate FILE GOOD", "convert FILE OUT --to columns", "train FILE -o OUT2"):
        read_end, write_end = os.pipe()
        os.write(write_end, GOOD)
        os.close(write_end)
        places = {"GOOD": good, "OUT": tmp_path / "o.conll", "OUT2": tmp_path / "m.chaff"}
        outcome = run(*arguments(command, FILE=Path(f"/dev/fd/{read_end}"), **places))
        os.close(read_end)
        assert outcome.code == 0, outcome.err
    assert (tmp_path / "o.conll").read_bytes().count(b"\n") == GOOD.count(b"\n")


def test_closed_standard_streams_are_no_traceback(model: Path) -> None:
    for closed in (0, 1, 2):
        command = [*MAIN, "predict", str(model), "-"]
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {closed}>&-', "sh", *command],
            input=GOOD if closed else None,
            capture_output=True,
            check=False,
            env=CLEAN,
        )
        assert b"Traceback" not in done.stderr
        assert done.returncode == (0 if closed == 2 else 2)  # without input or output there is nothing to do


def test_colour_and_progress_are_for_terminals_only(model: Path) -> None:
    good = model.with_name("good.conll")
    done = forked(COMMAND, "train", good, "-o", model.with_name("n.chaff"), env=CLEAN)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout


def test_the_package_itself_is_a_command_and_installs_one() -> None:
    for command in ([sys.executable, "-m", "chaffinch"], [Path(sys.executable).with_name("chaffinch")]):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout.startswith("chaffinch ")
