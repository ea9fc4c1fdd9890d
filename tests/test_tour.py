"""The tour: every part runs on the embedded samples, and asks first unless told not to."""

from chaffinch.cli.tour import PARTS
from commandline import Runner, run  # noqa: F401


def test_every_part_of_the_tour_runs_and_leaves_its_files_where_asked(tmp_path, run: Runner):  # noqa: F811
    folder = tmp_path / "tour"
    result = run("tour", "--yes", "--folder", folder)
    assert result.code == 0
    for number, (title, _) in enumerate(PARTS, 1):
        assert f"{number}. {title}" in result.out
    assert (folder / "hmm.chaff").exists()
    assert (folder / "ingredients" / "train.conll").exists()
