"""The journal: what is acknowledged is on the disk, and a torn end is cut off."""

import http.client
import json
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from chaffinch.errors import ConfigError, DataError
from chaffinch.serve.journal import Journal
from page.serving import Forked, tagger

EVENTS = [{"event": "correction", "model": "m", "text": f"text {n} ☂\n"} for n in range(5)]
MOMENTS = 8  # of a kill; a release is tried with 50


def test_a_journal_gives_back_its_events_with_their_numbers(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    assert journal.append(EVENTS[:2]) == [1, 2]
    assert journal.append(EVENTS[2:]) == [3, 4, 5]
    journal.close()
    again = Journal(tmp_path / "j")
    assert [{k: e[k] for k in EVENTS[0]} for e in again.entries] == EVENTS
    assert again.append([EVENTS[0]]) == [6]
    again.close()


def test_every_torn_end_is_cut_off_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = Journal(path)
    journal.append(EVENTS)
    journal.close()
    whole = path.read_bytes()
    ends = [i + 1 for i, b in enumerate(whole) if b == 10]
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        opened = Journal(path)
        assert len(opened.entries) == sum(end <= cut for end in ends)
        opened.append([EVENTS[0]])
        opened.close()
        assert len(_reopened(path)) == sum(end <= cut for end in ends) + 1


def test_zeros_after_a_power_cut_are_a_torn_end(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = Journal(path)
    journal.append(EVENTS)
    journal.close()
    path.write_bytes(path.read_bytes() + b"\0" * 100 + b"\n\0\0\n")
    assert len(_reopened(path)) == 5


def test_damage_in_the_middle_is_an_error_not_a_loss(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = Journal(path)
    journal.append(EVENTS)
    journal.close()
    content = bytearray(path.read_bytes())
    content[content.index(b"text 2") + 5] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(DataError, match="damaged"):
        Journal(path)
    assert path.read_bytes() == bytes(content)


def test_two_servers_cannot_write_one_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    with pytest.raises(ConfigError, match="another server"):
        Journal(tmp_path / "j")
    journal.close()


def test_a_full_disk_refuses_the_correction_and_leaves_the_journal_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "j")
    journal.append(EVENTS[:1])

    def half(file: int, content: bytes) -> None:
        import os

        os.write(file, content[: len(content) // 2])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("chaffinch.serve.journal._write", half)
        with pytest.raises(OSError, match="No space"):
            journal.append(EVENTS[1:])
    assert journal.append(EVENTS[1:2]) == [2]
    journal.close()
    assert len(_reopened(tmp_path / "j")) == 2


def test_no_acknowledged_correction_is_lost_to_kill_9(tmp_path: Path) -> None:
    model = tagger(tmp_path / "names.chaff")
    for moment in range(MOMENTS):
        lost, acknowledged = killed(model, tmp_path / f"{moment}.jsonl", random.Random(moment))
        assert not lost
        assert acknowledged > 0


def killed(
    model: Path, journal: Path, chance: random.Random, corrections: int = 200
) -> tuple[list[int], int]:
    """Send corrections until the server is killed at a random moment; those lost, and how many were acknowledged."""
    acknowledged: dict[int, str] = {}
    with Forked(model, journal=journal) as server:
        wait = chance.uniform(0.05, 0.8)

        def kill() -> None:
            time.sleep(wait)
            os.kill(server.pid, signal.SIGKILL)

        killer: threading.Thread | None = None
        for n in range(corrections):
            text = f"Ann{n} left Rome"
            try:
                status, answer = server.ask("/corrections", {"text": text, "tags": ["B-PER", "O", "B-LOC"]})
            except (OSError, http.client.HTTPException):
                break
            assert status == 200
            acknowledged[answer["seq"]] = text
            if killer is None:
                killer = threading.Thread(target=kill)
                killer.start()
        if killer is not None:
            killer.join()
    entries = {e["seq"]: e["input"]["text"] for e in _reopened(journal) if e["event"] == "correction"}
    for line in journal.read_text().splitlines():
        json.loads(line)
    return [seq for seq, text in acknowledged.items() if entries.get(seq) != text], len(acknowledged)


def _reopened(path: Path) -> list[dict[str, object]]:
    journal = Journal(path)
    journal.close()
    return journal.entries


def test_a_restart_answers_and_learns_as_before(tmp_path: Path) -> None:
    model = tagger(tmp_path / "names.chaff")
    body = {"text": "Zed met Una", "tags": ["B-PER", "O", "B-PER"]}
    with Forked(model) as server:
        assert server.ask("/corrections", body)[0] == 200
        seq = server.ask("/corrections", {"text": "Zed ran", "tags": ["O", "O"]})[1]["seq"]
        assert server.ask(f"/corrections/{seq}", method="DELETE")[1]["seq"] == seq
        before = server.ask("/learn", {})[1]["version"]
        server.kill()
    with Forked(model) as server:
        assert server.ask("/predict", {"text": "Zed met Una"})[1]["results"][0]["pinned"]
        assert not server.ask("/predict", {"text": "Zed ran"})[1]["results"][0]["pinned"]
        after = server.ask("/learn", {})[1]["version"]
        listed = server.ask("/corrections")[1]["corrections"]
        assert [c["state"] for c in listed] == ["learnt", "undone"]
        assert int(after.split("-")[1]) > int(before.split("-")[1])
        own = server.ask("/predict", {"text": "Zed met Una", "version": after})[1]["results"][0]
        assert own["tags"] == body["tags"]
        assert not own["pinned"]
