"""The format as a JSON Schema, from the same models that check a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from orchestrator.config.schema import File

if TYPE_CHECKING:
    from pydantic_core import core_schema


class _Schema(GenerateJsonSchema):
    """Without a title per field, which editors would show in front of the description."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
        return False

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        # Pydantic describes the keys that match and leaves the others free.
        described = super().dict_schema(schema)
        if "patternProperties" in described:
            described["additionalProperties"] = False
        return described

    # An optional key is left out, never empty: `document` refuses a null wherever it stands.
    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        described = super().default_schema(schema)
        if described.get("default", ...) is None:
            del described["default"]
        return described


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the format, for editors and for `orchestrator schema`."""
    described = File.model_json_schema(by_alias=True, schema_generator=_Schema)
    return {"$schema": _Schema.schema_dialect, **described, "title": "matrix.yaml"}
