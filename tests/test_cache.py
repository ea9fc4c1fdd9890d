"""The cache: what is written is read back, a token takes few bytes, and damage is named."""

import zlib
from pathlib import Path

import numpy as np
import pytest

from chaffinch._core import from_varints, varints
from chaffinch.cache import Cache, CacheWriter
from chaffinch.errors import ConfigError, DataError
from chaffinch.text.table import TokenTable, concatenated

WORDS = ["the", "of", "tea", "é", "", "barks", "Zürich", "x" * 300]


def sentences(n: int, seed: int = 0, groups: bool = False) -> TokenTable:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 9, n)
    words = [[WORDS[min(int(i), 7)] for i in rng.zipf(1.7, length) - 1] for length in lengths]
    labels = [[("O", "B-X", "I-X")[int(i)] for i in rng.integers(0, 3, length)] for length in lengths]
    table = TokenTable.from_lists({"w": words, "y": labels})
    if not groups:
        return table
    marks = (rng.random(n) < 0.1).cumsum().astype(np.int32) + 1
    return TokenTable(table.ptr, table.columns, marks)


def written(path: Path, tables: list[TokenTable], **how: object) -> Cache:
    with CacheWriter(path, ["w", "y"], **how) as writer:  # type: ignore[arg-type]
        for table in tables:
            writer.add(table)
    return Cache.open(path)


def test_varints_come_back_whatever_their_size() -> None:
    ids = np.array([0, 1, 127, 128, 16383, 16384, 2**21, 2**28, 2**31 - 1], np.int32)
    packed = varints(ids)
    found, end = from_varints(packed, 0, len(ids))
    assert found.tolist() == ids.tolist()
    assert end == len(packed)
    assert len(varints(ids[:3])) == 3
    assert from_varints(varints(np.array([2, 0], np.int32), ids), 0, 2)[0].tolist() == [127, 0]


@pytest.mark.parametrize("bad", [b"\x80", b"\xff\xff\xff\xff\xff\x01", b"\xff\xff\xff\xff\x0f"])
def test_bytes_that_are_no_varints_are_refused(bad: bytes) -> None:
    with pytest.raises(ValueError, match="varints"):
        from_varints(bad, 0, 1)
    with pytest.raises(ValueError, match="fewer"):
        from_varints(b"\x01", 0, 2)


@pytest.mark.parametrize("tokens", [1, 100, 1 << 16])
@pytest.mark.parametrize("groups", [False, True])
def test_sentences_come_back_block_by_block(tmp_path: Path, tokens: int, groups: bool) -> None:
    tables = [sentences(170, seed, groups) for seed in range(5)]
    cache = written(tmp_path / "c", tables, tokens=tokens)
    whole = concatenated(tables)
    assert cache.n_sentences == whole.n_sentences == int(cache.sentences_by_block.sum())
    assert cache.n_tokens == whole.n_tokens == int(cache.tokens_by_block.sum())
    for name in ("w", "y"):
        assert [row for block in cache.blocks() for row in block.lists(name)] == whole.lists(name)
        assert cache.table().lists(name) == whole.lists(name)
    found = cache.table()
    assert (found.groups is not None) == groups
    if groups:  # the same sentences begin documents
        assert np.array_equal(np.diff(found.groups) != 0, np.diff(whole.groups) != 0)


def test_a_document_that_a_read_continues_is_one_document(tmp_path: Path) -> None:
    one = TokenTable.from_lists({"w": [["a"], ["b"]], "y": [["O"], ["O"]]})
    marked = TokenTable(one.ptr, one.columns, np.array([1, 2], np.int32))
    continued = TokenTable(one.ptr, one.columns, np.array([0, 1], np.int32))
    unmarked = TokenTable(one.ptr, one.columns)
    found = written(tmp_path / "c", [marked, continued, unmarked]).table().groups
    assert (found - found[0]).tolist() == [0, 1, 1, 2, 2, 2]


def test_blocks_do_not_cut_documents_or_stretches(tmp_path: Path) -> None:
    plain = written(tmp_path / "a", [sentences(1000)], tokens=300)
    assert plain.n_blocks > 3
    assert not (np.cumsum(plain.sentences_by_block)[:-1] % 50).any()
    grouped = written(tmp_path / "b", [sentences(1000, groups=True)], tokens=300)
    assert grouped.n_blocks > 3
    whole = grouped.table().groups
    ends = np.cumsum(grouped.sentences_by_block)[:-1]
    assert (whole[ends] != whole[ends - 1]).all()
    endless = TokenTable.from_lists({"w": [["a"]] * 5000, "y": [["O"]] * 5000})
    endless = TokenTable(endless.ptr, endless.columns, np.ones(5000, np.int32))
    assert written(tmp_path / "c", [endless], tokens=100).n_blocks > 1


def test_the_most_frequent_strings_have_the_smallest_ids(tmp_path: Path) -> None:
    table = sentences(2000)
    cache = written(tmp_path / "c", [table])
    counts = cache.counts("w")
    assert (np.diff(counts) <= 0).all()
    flat = table.columns["w"].strings()
    assert counts.tolist() == [flat.count(word) for word in cache.vocabulary("w")]
    assert set(cache.labels) == {"O", "B-X", "I-X"}


def test_a_token_of_a_real_corpus_takes_four_bytes_at_most(data: Path, tmp_path: Path) -> None:
    from chaffinch.corpus import read

    table = TokenTable.from_documents(read(data / "conll2000" / "train.tsv"))
    with CacheWriter(tmp_path / "c", table.names) as writer:
        writer.add(table)
    cache = Cache.open(tmp_path / "c")
    assert len(cache.columns) == 3
    assert cache.bytes_per_token <= 4
    assert cache.table().lists("w") == table.lists("w")


@pytest.mark.parametrize("shards", [1, 2, 3, 50])
def test_shards_hold_every_block_once(tmp_path: Path, shards: int) -> None:
    cache = written(tmp_path / "c", [sentences(2000)], tokens=500)
    parts = [cache.shard(k, shards) for k in range(shards)]
    assert [b for part in parts for b in part] == list(range(cache.n_blocks))
    if shards <= 3:
        tokens = [sum(cache.tokens_by_block[list(part)]) for part in parts]
        assert max(tokens) - min(tokens) <= 2 * cache.tokens_by_block.max()


def test_the_same_sentences_make_the_same_bytes(tmp_path: Path) -> None:
    table = sentences(900)
    halves = np.arange(900) < 450
    a = written(tmp_path / "a", [table], tokens=300)
    b = written(tmp_path / "b", [table.of_sentences(halves), table.of_sentences(~halves)], tokens=300)
    assert a.path.read_bytes() == b.path.read_bytes()
    assert a.fingerprint == b.fingerprint
    assert a.fingerprint != written(tmp_path / "d", [sentences(900, 1)], tokens=300).fingerprint


def test_a_stale_cache_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "c", [sentences(20)], source="one")
    assert Cache.open(tmp_path / "c", source="one").n_sentences == 20
    with pytest.raises(DataError, match="was made from other data"):
        Cache.open(tmp_path / "c", source="two")


def test_every_cut_and_every_changed_byte_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c"
    cache = written(path, [sentences(60)], tokens=100)
    good = path.read_bytes()
    whole = [block.lists("w") for block in cache.blocks()]

    def read() -> list[list[list[str]]]:
        opened = Cache.open(path)
        try:
            opened.counts("w")
            return [block.lists("w") for block in opened.blocks()]
        finally:
            opened.close()

    for length in [*range(0, len(good), 7), len(good) - 1]:
        path.write_bytes(good[:length])
        with pytest.raises(DataError, match=str(path)):
            read()
    for at in range(0, len(good), 3):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1 :])
        message = ""
        try:
            found = read()
        except DataError as e:
            message = str(e)
        # A byte that nothing reads may change, such as the counts of labels.
        assert str(path) in message if message else found == whole
    path.write_bytes(good + b"x")
    with pytest.raises(DataError, match="cut short or damaged"):
        read()


def test_a_cache_that_is_cut_while_it_is_open_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c"
    cache = written(path, [sentences(60)], tokens=100)
    cache.vocabulary("w")
    with path.open("r+b") as file:
        file.truncate(40)
    with pytest.raises(DataError, match="cut short"):
        cache.block(cache.n_blocks - 1)


def test_ids_beyond_the_vocabulary_are_named(tmp_path: Path) -> None:
    path = tmp_path / "c"
    cache = written(path, [TokenTable.from_lists({"w": [["a"]], "y": [["O"]]})])
    entry = cache.file.entries[0]
    content = bytearray(path.read_bytes())
    block = bytearray(content[entry["offset"] : entry["offset"] + entry["size"]])
    block[1] = 9  # the id of the word
    content[entry["offset"] : entry["offset"] + entry["size"]] = block
    at = content.index(np.uint32(entry["crc"]).tobytes())
    content[at : at + 4] = np.uint32(zlib.crc32(block)).tobytes()
    path.write_bytes(content)
    with pytest.raises(DataError, match="damaged"):
        Cache.open(path).block(0)


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError), CacheWriter(tmp_path / "c", ["w", "pos"]) as writer:
        writer.add(sentences(10))
    assert list(tmp_path.iterdir()) == []
    with CacheWriter(tmp_path / "c", ["w"]) as writer:
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["c"]
    assert Cache.open(tmp_path / "c").n_sentences == 0


def test_columns_that_are_not_there_and_weights_are_refused(tmp_path: Path) -> None:
    table = sentences(5)
    with pytest.raises(DataError, match="'pos'"), CacheWriter(tmp_path / "c", ["w", "pos"]) as writer:
        writer.add(table)
    weighted = TokenTable(table.ptr, table.columns, weight=np.ones(5, np.float32))
    with pytest.raises(ConfigError, match="in memory"), CacheWriter(tmp_path / "c", ["w"]) as writer:
        writer.add(weighted)
