"""Thousands of damaged model files: each loads equal or is refused in one sentence."""

import pytest

import fuzz_modelfile
import modelfile_mutations
from chaffinch import ModelFileError, modelfile


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    return fuzz_modelfile.run(1500, 1, tmp_path_factory.mktemp("fuzz"))


def outcomes(counts, kind):
    found = {}
    for (_, checksum, outcome), n in counts.items():
        if checksum == kind:
            found[outcome] = found.get(outcome, 0) + n
    return found


def test_damaged_files_load_equal_or_are_refused_in_one_sentence(counts):
    print(fuzz_modelfile.table(counts))
    raw = outcomes(counts, "raw")
    assert raw.keys() == {"equal", "refused"}
    assert raw["refused"] > 750


def test_the_checks_behind_the_checksum_stand_alone(counts):
    """Files whose checksum was made right: equal, other but sound content, or refused."""
    forged = outcomes(counts, "forged")
    assert forged["refused"] > 250
    assert forged["different"] > 10


def test_every_way_of_damage_was_thrown(counts):
    assert {key[0] for key in counts} == {m.__name__ for m in modelfile_mutations.MUTATIONS}


def test_a_huge_announced_size_costs_no_memory(tmp_path):
    """A directory that promises a terabyte is refused by the length of the file."""
    path = tmp_path / "huge.chaff"
    modelfile.write(path, *fuzz_modelfile.sound_content())
    directory, stored = modelfile_mutations.parts(path.read_bytes())
    directory["unary"] |= {"shape": [2**38], "data_offsets": [0, 2**40]}
    path.write_bytes(modelfile_mutations.joined(directory, stored))
    with pytest.raises(ModelFileError, match=r"is cut short|overlaps|gap"):
        modelfile.read(path)
