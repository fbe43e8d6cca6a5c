"""Which runtime a run gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from orchestrator.execute.port import Runtime
    from orchestrator.execute.progress import Observer
    from orchestrator.images import BuilderName
    from orchestrator.model import Matrix


def open_runtime(name: str, builder: BuilderName, matrix: Matrix, cache: Path, observer: Observer) -> Runtime:
    """Open the runtime a user asked for; `auto` is docker where an engine answers, else venv with the reason.

    Raises:
        EnvironmentUnusableError: docker was asked for and no engine answers.
    """
    if name != "venv":
        from orchestrator.execute.docker import DockerRuntime, engine_missing  # noqa: PLC0415

        reason = engine_missing() if name == "auto" else None
        if reason is None:
            return DockerRuntime(cache, matrix.images, builder=builder)
        observer.note(f"no container engine: {reason}")
    from orchestrator.execute.venv import VenvRuntime  # noqa: PLC0415

    runtime = VenvRuntime(cache)
    for notice in runtime.notices:
        observer.note(notice)
    return runtime
