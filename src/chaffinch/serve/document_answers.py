"""Classifiers behind the server: a label or several for each text; corrections are labels."""

from collections.abc import Sequence
from typing import Any

from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import Classifier
from chaffinch.kinds.documents import DocumentKind
from chaffinch.recipes.partial_fit import Increment
from chaffinch.recipes.text_features import TextFeatures
from chaffinch.serve.answers import MOST_EXPLAINED, Answer, Answering, InputRow, only_text, within_limits
from chaffinch.serve.explanations import explained
from chaffinch.serve.messages import Asked, CorrectionBody, Input, one_input
from chaffinch.text.document import Document

DIGITS = 6  # of probabilities in answers
WITH_TAGS = ("columns", "conllu")  # formats of files with a tag for each word


class DocumentAnswering(Answering):
    """Labels of texts. ``certainty`` is the probability of the label; with several, of the least certain decision."""

    kind = DocumentKind
    name = "documents"
    corrected = True
    gold_labels = True

    def refusal(self, format: str | None) -> str | None:
        """Files with a tag for each word do not suit classifiers."""
        return "has tags of words, but classifiers label texts" if format in WITH_TAGS else None

    # -- the model

    def labels(self, model: Classifier) -> list[str]:
        """The labels."""
        return [str(label) for label in model.classes_.tolist()]

    def several(self, model: Classifier) -> bool:
        """Whether a text may have several labels."""
        return bool(model.model_.several)

    def has_probabilities(self, model: Classifier) -> bool:
        """All classifiers have probabilities."""
        return True

    # -- inputs

    def rows(self, model: Classifier, body: Input) -> list[InputRow]:
        """Texts."""
        _reads_text_alone(model)
        form = one_input(body, "text", "texts", "tokens", "sentences")
        if form in ("tokens", "sentences"):
            raise DataError("this model labels texts: send text or texts, not tokens")
        texts = [only_text(body)] if form == "text" else body.texts or []
        return [InputRow(text, text) for text in texts]

    def row_of(self, model: Classifier, document: Document) -> InputRow:
        """The text of a document."""
        return InputRow(document.text, document.text)

    def cost(self, row: InputRow) -> int:
        """About the number of words."""
        return 1 + len(row.text) // 5

    # -- answers

    def answers(self, model: Classifier, rows: Sequence[InputRow], asked: Asked) -> list[Answer]:
        """All texts are classified as one batch."""
        labels = self.labels(model)
        within_limits(rows, asked, len(labels))
        p, given = model.answers([row.text for row in rows])
        several, shares = self.several(model), p.round(DIGITS).tolist()
        made = []
        for row, own, answer in zip(rows, shares, given, strict=True):
            found: Answer = {"text": row.text}
            if several:
                names = [str(name) for name in answer]
                found["labels"] = names
                sure = [x if label in set(names) else 1.0 - x for label, x in zip(labels, own, strict=True)]
                certain = min(sure, default=1.0)
            else:
                found["label"] = str(answer)
                certain = own[labels.index(found["label"])]
            found["certainty"] = None if asked.probabilities is False else round(certain, DIGITS)
            found["pinned"] = False
            if asked.probabilities:
                found["probabilities"] = dict(zip(labels, own, strict=True))
            if asked.kbest:
                best = sorted(zip(labels, own, strict=True), key=lambda pair: -pair[1])[: asked.kbest]
                found["kbest"] = [{"label": label, "p": x} for label, x in best]
            made.append(found)
        return made

    def explained(
        self, model: Classifier, row: InputRow, position: int | None, instead: str | None
    ) -> Answer:
        """Why the text got its label."""
        if position is not None:
            raise DataError("position is for tags; a text has one answer")
        if len(row.text.split()) > MOST_EXPLAINED:
            raise DataError(f"expected a text of at most {MOST_EXPLAINED:,} words to explain")
        labels = self.labels(model)
        if instead is not None and instead not in labels:
            raise DataError(f"instead: there is no label {instead!r}; there are {', '.join(labels[:20])}")
        found = model.explain(row.text, against=instead)
        if not found.decisions:
            raise ConfigError("there is no decision to explain in this text")
        shares = model.predict_proba([row.text])[0].round(DIGITS).tolist()
        p = dict(zip(labels, shares, strict=True))
        best = sorted(p.items(), key=lambda pair: -pair[1])[:5]
        return explained(found, found.decisions[0]) | {
            "marginals": p,
            "kbest": [{"label": label, "p": x} for label, x in best],
        }

    def plain(self, answer: list[str]) -> Any:
        """The label, or all of them."""
        return answer[0] if len(answer) == 1 else sorted(answer)

    def gold(self, answer: list[str]) -> Answer:
        """The label, or all of them."""
        return {"label": answer[0]} if len(answer) == 1 else {"labels": list(answer)}

    # -- corrections

    def correction(self, model: Classifier, row: InputRow, body: CorrectionBody) -> Answer:
        """A label, or several if the model gives several."""
        if body.tags is not None or (body.label is None) == (body.labels is None):
            raise DataError("expected either label or labels in the correction")
        names = [body.label] if body.label is not None else list(body.labels or [])
        for name in names:
            if not name or not name.strip():
                raise DataError(f"expected a label, got {name!r}")
        if self.several(model):
            return {"labels": sorted({str(name) for name in names})}
        if len(names) != 1:
            raise DataError(f"this model gives one label to a text, got {len(names)}")
        return {"label": str(names[0])}

    def pinned(self, row: InputRow, correction: Answer) -> Answer:
        """The corrected label; a person's answer has no probability."""
        return {"text": row.text, **correction, "certainty": None, "pinned": True}

    def corrected_document(self, model: Classifier, row: InputRow, correction: Answer) -> Document:
        """The text with its labels."""
        labels = [correction["label"]] if "label" in correction else list(correction["labels"])
        return Document(row.text, labels=labels)

    # -- learning

    def learn(self, model: Classifier, lessons: Sequence[tuple[InputRow, Answer]]) -> None:
        """All corrections in one step."""
        known = {str(label): label for label in model.classes_.tolist()}
        labels = [known.get(answer["label"], answer["label"]) for _, answer in lessons]
        model.partial_fit([row.text for row, _ in lessons], labels)

    def can_learn(self, model: Classifier) -> str | None:
        """Linear classifiers of one label can, if they have their training texts or train text by text."""
        if self.several(model):
            return "a model that gives several labels cannot learn from corrections; train it on all texts"
        if model._lessons is not None or getattr(model, "_increment", None) is not None:
            return None
        recipe = model.recipes.by_config(model.config_)
        if Increment.possible(model.config_) and not recipe.name.endswith("nb"):
            return None
        return (
            f"this model of the recipe {recipe.name} cannot learn from corrections without its training data: "
            "start the server with --train FILE"
        )

    def untrained(self, model: Classifier) -> Classifier:
        """The same recipe, settings and features."""
        features = TextFeatures.of_encoder(model.model_.encoder)
        return Classifier(model.config_, features=features, seed=model.seed, threads=1)


def _reads_text_alone(model: Classifier) -> None:
    encoder = model.model_.encoder
    if encoder.reads != "texts" or (encoder.union is not None and encoder.union.beside_columns):
        raise ConfigError("this model reads more than a text and is not served: use chaffinch predict")
