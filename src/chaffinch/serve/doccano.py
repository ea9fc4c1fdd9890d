"""doccano's auto-labelling: its "custom REST request" sends a text and takes the answer as it is.

In doccano: URL http://HOST:PORT/doccano/MODEL, method POST, body {"text": "{{ text }}"}, mapping template
{{ input | tojson }}.
"""

from chaffinch.errors import ConfigError
from chaffinch.serve.answers import Answer
from chaffinch.serve.asking import answer_rows
from chaffinch.serve.endpoint import Call
from chaffinch.serve.messages import Asked, DoccanoBody, Input
from chaffinch.serve.server import Server


async def doccano(server: Server, call: Call) -> list[Answer]:
    """Spans or labels in doccano's words."""
    body: DoccanoBody = server.decode(DoccanoBody, call.body)
    served = server.model(call.path["model"])
    rows = served.answering.rows(served.active.model, Input(text=body.text))
    (found,) = await answer_rows(server, served, served.active, rows, Asked(probabilities=False), own=False)
    if "spans" in found:
        return [
            {"label": s["label"], "start_offset": s["start"], "end_offset": s["end"]} for s in found["spans"]
        ]
    if "label" in found or "labels" in found:
        return [{"label": label} for label in found.get("labels", [found.get("label")])]
    raise ConfigError(f"doccano labels texts and spans; {served.name} gives {served.answering.name}")
