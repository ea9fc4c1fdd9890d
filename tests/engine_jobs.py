"""Jobs for the tests of engines, in a file that workers import quickly."""

import os
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


class Parent:
    """A job that tells its own process and the one that has made it."""

    def open(self):
        return None

    def run(self, state, shard):
        return os.getpid(), os.getppid()
