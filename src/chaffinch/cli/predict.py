"""chaffinch predict."""

from pathlib import Path
from typing import Annotated

import typer

from chaffinch.corpus import FORMATS
from chaffinch.corpus.registry import holds_nothing, write_nothing
from chaffinch.errors import ConfigError
from chaffinch.estimators import load
from chaffinch.files import STDIO, refuse_unwritable
from chaffinch.kinds import kind_of_model
from chaffinch.kinds.kind import PredictRequest, refuse_strange_flags

EXAMPLES = """
chaffinch predict model.chaff new.conll -o tagged.conll
cat dev.in | chaffinch predict model.chaff --kbest 3
chaffinch predict model.chaff dev.in --nth 3
chaffinch predict model.chaff dev.in --marginals
chaffinch predict model.chaff dev.in --posterior
chaffinch predict model.chaff dev.in --kbest 3 --json --probabilities
chaffinch predict easiest.chaff dev.in --steps --beside greedy.chaff -o steps.html
chaffinch predict tagger.chaff new.conllu -o tagged.conllu
chaffinch predict names.chaff letters.txt -o found.jsonl --marginals
chaffinch predict names.chaff letters.txt -o sure.jsonl --precision 0.95
chaffinch predict names.chaff letters.txt --from text -o tasks.json --to label-studio --marginals
chaffinch predict ingredients.chaff lines.txt --rules rules.toml
chaffinch predict stars.chaff new.csv -o labelled.csv
chaffinch predict stars.chaff new.csv -o sure.csv --precision 0.95
chaffinch predict reranker.chaff lists.jsonl -o chosen.jsonl
echo "the soup was awful" | chaffinch predict stars.chaff
"""


def command(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[
        Path,
        typer.Argument(
            help="Sentences in columns, texts with or without annotations; '-' for standard input."
        ),
    ] = Path(STDIO),
    output: Annotated[
        Path, typer.Option("--out", "--output", "-o", help="File to write the result to; by default stdout.")
    ] = Path(STDIO),
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from", help=f"Format of DATA, if not seen: {', '.join(sorted(FORMATS))}.", metavar="FORMAT"
        ),
    ] = None,
    to_format: Annotated[
        str | None,
        typer.Option(
            "--to", help="Format of the result, if its name does not determine it.", metavar="FORMAT"
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Sentences: names of the columns (w,pos), or which to take (w=2,pos=4)."),
    ] = None,
    kbest: Annotated[
        int | None, typer.Option(help="Append the K best labellings, one column each.", min=1)
    ] = None,
    nth: Annotated[
        int | None, typer.Option(help="Append the N-th best labelling instead of the best.", min=1)
    ] = None,
    marginals: Annotated[
        bool,
        typer.Option(
            "--marginals", help="Write the label's probability before it; trees: probabilities of phrases."
        ),
    ] = False,
    posterior: Annotated[
        bool,
        typer.Option(
            "--posterior",
            help="Predict each token's most probable label instead of the most probable labelling; among labellings "
            "that the rules of the model allow.",
        ),
    ] = False,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="--json: the probability of each labelling and of each span of the first, and the sentence's entropy.",
        ),
    ] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="Show the order of decisions; an .html output is a page.")
    ] = False,
    beside: Annotated[
        list[Path] | None,
        typer.Option(help="--steps: another model to show for comparison; may be repeated."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per sentence.")] = False,
    text: Annotated[str | None, typer.Option(help="Documents: the column of the text.")] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Several labels: the lowest probability at which a label is predicted.", min=0.0, max=1.0
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            help="Sentences, documents: leave out spans and labels that are not sure enough for this precision, such "
            "as 0.99; the threshold is certified on held-out data with a risk of 10 %.",
            min=0.0,
            max=1.0,
        ),
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option(
            help='Sentences: a TOML file of rules that the answers obey, such as once = ["QTY"]; see docs/rules.md.',
        ),
    ] = None,
    threads: Annotated[int, typer.Option(help="0 for all cores.", min=0)] = 0,
) -> None:
    """Label the sentences or documents of a file: the output is the input with the prediction as the last column.

    The name of the output chooses its format: columns (tagged.conll), CoNLL-U (tagged.conllu), spans (found.jsonl).
    """
    if kbest is not None and nth is not None:
        raise ConfigError("--kbest and --nth exclude each other")
    if posterior and (kbest is not None or nth is not None):
        raise ConfigError("--posterior gives one label per token; leave out --kbest and --nth")
    if probabilities and not json:
        raise ConfigError("--probabilities needs --json")
    if not output.is_dir():  # a folder may be a corpus of brat
        refuse_unwritable(output)
    loaded = load(model)
    kind = kind_of_model(loaded)
    asked = PredictRequest(
        data=data,
        output=output,
        from_format=from_format,
        to_format=to_format,
        columns=columns,
        kbest=kbest,
        nth=nth,
        marginals=marginals,
        posterior=posterior,
        probabilities=probabilities,
        steps=steps,
        beside=beside,
        json=json,
        text=text,
        threshold=threshold,
        precision=precision,
        rules=rules,
        threads=threads,
    )
    refuse_strange_flags(kind, asked)
    if holds_nothing(data):
        write_nothing(output, to_format)
        return
    kind.predict(loaded, asked)
