"""Jobs for the tests of engines, in a file that workers import quickly."""

import os
import time
from pathlib import Path

from chaffinch.errors import DataError


class Squares:
    """A job that dies, or fails, at given shards as long as a file is there."""

    def __init__(self, dies=None, marker=None):
        self.dies, self.marker = dies, marker

    def open(self):
        return 2

    def run(self, state, shard):
        if shard == self.dies and Path(self.marker).exists():
            Path(self.marker).unlink()
            os._exit(3)
        if shard < 0:
            raise DataError("shards are not negative")
        return shard**state


class Meeting:
    """A job whose two shards have begun before the negative one fails; the other one then goes on for a while."""

    def __init__(self, folder):
        self.folder = folder

    def open(self):
        return None

    def run(self, state, shard):
        (self.folder / f"{shard}.begun").touch()
        while len(list(self.folder.glob("*.begun"))) < 2:
            time.sleep(0.01)
        if shard < 0:
            raise DataError("shards are not negative")
        time.sleep(0.3)
        return shard


class Parent:
    """A job that tells its own process and the one that has made it."""

    def open(self):
        return None

    def run(self, state, shard):
        return os.getpid(), os.getppid()
