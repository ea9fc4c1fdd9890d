"""The description of the server in OpenAPI, from its routes and the types of its bodies."""

import re
from collections.abc import Sequence
from typing import Any

from chaffinch.serve.endpoint import Route

ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string", "description": "one sentence that says what to do"}},
}
BINARY = ("/", "/page/{name}", "/metrics", "/export")  # whose answers are not JSON


def description(routes: Sequence[Route]) -> dict[str, Any]:
    """All paths with their bodies, queries and answers."""
    import msgspec

    from chaffinch import __version__

    bodies = {body for route in routes for body in route.bodies.values()}
    kinds = sorted((body for body in bodies if isinstance(body, type)), key=lambda kind: kind.__name__)
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    by_kind = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        path = re.sub(r":\w+\}", "}", route.path)
        entry: dict[str, Any] = paths.setdefault(path, {})
        for method, handler in route.handlers.items():
            made: dict[str, Any] = {
                "operationId": f"{method.lower()}_{handler.__name__}",
                "summary": (handler.__doc__ or "").strip().partition("\n")[0],
                "parameters": _parameters(path, route.query if method == "GET" else {}),
                "responses": {"200": _answer(path), "default": _json(ERROR, "an error")},
            }
            if method in route.bodies:
                body = route.bodies[method]
                schema = by_kind.get(body, {"type": "object"})
                made["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
            if not route.open_to_all:
                made["security"] = [{"token": []}]
            entry[method.lower()] = made
    token = {"type": "apiKey", "in": "header", "name": "X-Chaffinch-Token"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "chaffinch serve", "version": __version__},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": token}},
    }


def _parameters(path: str, query: Any) -> list[dict[str, Any]]:
    found = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", path)
    ]
    for name, kind in query.items():
        schema = {"type": "string", "enum": ["0", "1"]} if kind == "boolean" else {"type": kind}
        found.append({"name": name, "in": "query", "required": False, "schema": schema})
    return found


def _answer(path: str) -> dict[str, Any]:
    if path in BINARY:
        return {"description": "a file", "content": {"*/*": {}}}
    if path.startswith("/doccano"):
        return _json({"type": "array", "items": {"type": "object"}}, "labels")
    return _json({"type": "object"}, "the answer")


def _json(schema: Any, told: str) -> dict[str, Any]:
    return {"description": told, "content": {"application/json": {"schema": schema}}}
