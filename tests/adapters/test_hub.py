"""The Hugging Face hub, beside its own client: what is uploaded, and what is downloaded. No network is used."""

import shutil
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import ModelCard

from chaffinch import Classifier, Tagger
from chaffinch.estimators.pretrained import model_card

TEXTS, LABELS = ["good tea", "bad tea"] * 10, ["+", "-"] * 10


class Hub:
    """Repositories in a folder, behind the client's own functions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def create_repo(self, repo_id: str, **given: Any) -> str:
        self.calls.append(("create_repo", given))
        (self.folder / repo_id).mkdir(parents=True, exist_ok=True)
        return f"https://hub.example/{repo_id}"

    def upload_folder(self, *, repo_id: str, folder_path: str, **given: Any) -> None:
        self.calls.append(("upload_folder", given))
        shutil.copytree(folder_path, self.folder / repo_id, dirs_exist_ok=True)

    def hf_hub_download(self, repo_id: str, filename: str, **given: Any) -> str:
        self.calls.append(("hf_hub_download", given))
        return str(self.folder / repo_id / filename)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    fake = Hub(tmp_path / "hub")
    monkeypatch.setattr(huggingface_hub.HfApi, "create_repo", fake.create_repo)
    monkeypatch.setattr(huggingface_hub.HfApi, "upload_folder", fake.upload_folder)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", fake.hf_hub_download)
    return fake


def test_a_model_is_pushed_and_loaded_back(hub: Hub) -> None:
    classifier = Classifier("ridge").fit(TEXTS, LABELS)
    assert classifier.push_to_hub("me/tea", private=True, message="First") == "https://hub.example/me/tea"
    assert sorted(p.name for p in (hub.folder / "me" / "tea").iterdir()) == [
        "README.md",
        "config.json",
        "model.chaff",
    ]
    assert hub.calls[0] == ("create_repo", {"private": True, "exist_ok": True})
    assert hub.calls[1][1]["commit_message"] == "First"
    again = Classifier.from_pretrained("me/tea", revision="main", token="t")
    assert hub.calls[2] == (
        "hf_hub_download",
        {"library_name": "chaffinch", "revision": "main", "token": "t"},
    )
    assert again.predict(TEXTS).tolist() == classifier.predict(TEXTS).tolist()


def test_the_hubs_own_reader_understands_the_card(tmp_path: Path) -> None:
    tagger = Tagger("hmm").fit([["a", "dog"]] * 20, [["D", "N"]] * 20)
    tagger.save_pretrained(tmp_path / "m")
    card = ModelCard.load(tmp_path / "m" / "README.md")
    assert card.data.library_name == "chaffinch"
    assert card.data.pipeline_tag == "token-classification"
    assert card.data.tags == ["chaffinch", "hmm"]
    assert card.text.strip().startswith("# m")
    assert model_card(tagger, "other").startswith("---\n")
