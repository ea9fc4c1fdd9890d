"""Datasets by name, folder or files; a split is read only when it is used, so none is seen by accident."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from chaffinch import samples
from chaffinch.errors import ConfigError, DataError
from chaffinch.kinds import corpus_of, kind_of_file
from chaffinch.kinds.corpora import Corpus, joined
from chaffinch.kinds.requests import reader_options

SPLITS = ("train", "dev", "test")

# Public corpora: the folders that they are usually kept in, with the columns of their files.
KNOWN: dict[str, dict[str, dict[str, str]]] = {
    "sst5": {"sst5": {}, "SST5": {}},
    "20news": {"newsgroups20": {"label": "group"}, "20news": {}},
    "trec": {"trec_qc": {"label": "coarse"}, "trec": {"label": "coarse"}},
    "trec-fine": {"trec_qc": {"label": "fine"}, "trec": {"label": "fine"}},
}


@dataclass(frozen=True, kw_only=True)
class Source:
    """The source of a dataset: a name (known, of a sample, or of a folder), or the files of its splits.

    label, text: the columns of the label and the text, if their names are unusual
    label_separator: separator of several labels in one cell
    """

    name: str = ""
    train: tuple[str, ...] = ()
    dev: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    label: str | None = None
    text: str | None = None
    label_separator: str | None = None

    @classmethod
    def parsed(
        cls,
        written: str,
        *,
        label: str | None = None,
        text: str | None = None,
        label_separator: str | None = None,
    ) -> "Source":
        """A source from the command line: NAME, FOLDER, TRAIN, TRAIN,TEST or TRAIN,DEV,TEST.

        >>> Source.parsed("a.csv,b.csv").test
        ('b.csv',)
        >>> Source.parsed("sst5").name
        'sst5'
        """
        files = [piece for piece in written.split(",") if piece]
        if not files or len(files) > len(SPLITS):
            raise ConfigError(f"expected a dataset's name, a folder, or up to three files, got {written!r}")
        if len(files) == 1 and not Path(written).is_file():
            return cls(name=written, label=label, text=text, label_separator=label_separator)
        dev, test = files[1:-1], files[1:][-1:]
        return cls(
            train=(files[0],),
            dev=tuple(dev),
            test=tuple(test),
            label=label,
            text=text,
            label_separator=label_separator,
        )

    def __str__(self) -> str:
        return self.name or ",".join(file for split in SPLITS for file in getattr(self, split))


@dataclass(frozen=True)
class Dataset:
    """A named dataset, its splits read on first use and kept."""

    name: str
    readers: Mapping[str, Callable[[], Corpus]]
    _read: dict[str, Corpus] = field(default_factory=dict, repr=False)

    def __contains__(self, split: str) -> bool:
        return split in self.readers

    def split(self, name: str) -> Corpus:
        """A split of the dataset; DataError says which there are."""
        if name not in self.readers:
            raise DataError(f"{self.name}: has no split {name!r}; it has {', '.join(self.readers)}")
        if name not in self._read:
            self._read[name] = self.readers[name]()
        return self._read[name]

    def part(self, name: str) -> Corpus:
        """Deprecated: the old name of ``split``."""
        warnings.warn("Dataset.part is now called Dataset.split", DeprecationWarning, stacklevel=2)
        return self.split(name)


def dataset(source: Source, folder: Path | None = None) -> Dataset:
    """The dataset of a source; named corpora are searched in ``folder``.

    A name means, in this order: a known corpus, an embedded sample, a folder at this path, a folder in ``folder``.

    >>> dataset(Source(name="reviews")).split("dev").labels[:3]
    ['0', '4', '1']
    """
    told = {"label": source.label, "text": source.text, "label_separator": source.label_separator}
    options = {k: v for k, v in told.items() if v is not None}
    if not source.name:
        files = {split: getattr(source, split) for split in SPLITS if getattr(source, split)}
        readers = {split: partial(_files, paths, options) for split, paths in files.items()}
        if "train" not in readers:
            raise ConfigError("a dataset of files needs a training file")
        return Dataset(str(source), readers)
    name = source.name
    if name.lower() in KNOWN:
        where, usual = _known_folder(name.lower(), folder)
        return _folder(name.lower(), where, usual | options)
    if name in samples.SAMPLES:
        chosen = samples.sample(name)
        return Dataset(name, {split: partial(_sample, name, split) for split in chosen.splits})
    for candidate in (Path(name), *([] if folder is None else [folder / name])):
        if candidate.is_dir():
            return _folder(name, candidate, options)
    if Path(name).suffix:
        raise DataError(f"{name}: no such file")
    raise DataError(
        f"there is no dataset {name!r}: expected {', '.join(KNOWN)}, a sample ({', '.join(samples.SAMPLES)}), "
        "a folder with train and test files, or files"
    )


def _known_folder(name: str, folder: Path | None) -> tuple[Path, dict[str, str]]:
    if folder is None:
        raise DataError(
            f"the corpus {name} does not come with this package: name the folder of the corpora "
            "with --data-folder DIR or the environment variable CHAFFINCH_DATA"
        )
    for candidate, usual in KNOWN[name].items():
        if (folder / candidate).is_dir():
            return folder / candidate, usual
    wanted = " or ".join(KNOWN[name])
    raise DataError(f"{folder}: has no folder {wanted}, which dataset {name} is read from")


def _folder(name: str, folder: Path, options: dict[str, str]) -> Dataset:
    """The files named after train, dev and test, such as train.csv.gz or en_ewt-ud-train.conllu."""
    readers = {}
    for split in SPLITS:
        found = [f for f in sorted(folder.iterdir()) if f.is_file() and f.name.split(".")[0] == split]
        found = found or [
            f for f in sorted(folder.iterdir()) if f.is_file() and f.name.split(".")[0].endswith(f"-{split}")
        ]
        if len(found) > 1:
            names = ", ".join(f.name for f in found)
            raise DataError(
                f"{folder}: {names} could all be the {split} split; name the files: -d TRAIN,TEST"
            )
        if found:
            readers[split] = partial(_files, (str(found[0]),), options)
    if "train" not in readers:
        raise DataError(f"{folder}: has no file called train, such as train.csv or train.conll")
    return Dataset(name, readers)


def _files(paths: tuple[str, ...], options: Mapping[str, str]) -> Corpus:
    return joined([_file(path, options) for path in paths])


def _file(path: str, options: Mapping[str, str]) -> Corpus:
    kind = kind_of_file(path)
    known = reader_options(Path(path)) if kind.tells else set()
    found: Corpus = kind.read(Path(path), {k: v for k, v in options.items() if k in known})
    return found


def _sample(name: str, split: str) -> Corpus:
    return corpus_of(samples.load(name, split), f"sample {name}")
