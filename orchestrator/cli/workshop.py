"""What commands that touch the world open and close."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from orchestrator.execute.port import Runtime
    from orchestrator.execute.progress import Observer
    from orchestrator.model import Limits, Matrix
    from orchestrator.wheels.cache import WheelCache
    from orchestrator.workshop import Workshop


@contextmanager
def open_workshop(
    given: dict[str, Any], matrix: Matrix, observer: Observer, cancel: threading.Event | None = None
) -> Iterator[Workshop]:
    """Open what a command's options say: the store, the resolver and the runtime of a matrix.

    Raises:
        ConfigError: a bundle was to be refreshed.
        EnvironmentUnusableError: docker was asked for and no engine answers.
    """
    from orchestrator.bundle import bundled  # noqa: PLC0415
    from orchestrator.devices import Pool  # noqa: PLC0415
    from orchestrator.errors import ConfigError  # noqa: PLC0415
    from orchestrator.pace import Pace  # noqa: PLC0415
    from orchestrator.resolve import Resolver  # noqa: PLC0415
    from orchestrator.results import Store  # noqa: PLC0415
    from orchestrator.workshop import Workshop  # noqa: PLC0415

    root: Path = given["store"].absolute()
    cache = root / "cache"
    refresh, offline = given.get("refresh", False), bundled(cache) is not None
    if refresh and offline:
        raise ConfigError(
            "a bundle asks no index", hint="write the bundle again, with --refresh, where it came from"
        )
    wheels = _wheels(cache, matrix.limits)
    runtime = open_runtime(given, cache, wheels, observer, dockerfiles=matrix.images, registry=matrix.registry)
    try:
        shop = Workshop(
            matrix=matrix,
            resolver=Resolver(matrix, cache, refresh=refresh, offline=offline, cancel=cancel),
            runtime=runtime,
            wheels=wheels,
            store=Store(root),
            observer=observer,
            cancel=cancel or threading.Event(),
            pace=Pace(cache / "pace.json", runtime.name),
            # Containers open a GPU with a group that the engine gives them, processes as this user.
            devices=Pool(matrix.devices, direct=runtime.name == "venv"),
        )
        yield shop
        runtime.finish(observer.phase, shop.cancel)
    finally:
        runtime.close()


def open_runtime(
    given: dict[str, Any],
    cache: Path,
    wheels: WheelCache,
    observer: Observer,
    *,
    dockerfiles: Path,
    registry: str | None = None,
) -> Runtime:
    """Open the runtime a user asked for; `auto` is docker where an engine answers, else venv with the reason.

    Raises:
        EnvironmentUnusableError: docker was asked for and no engine answers.
    """
    if given["runtime"] != "venv":
        from orchestrator.execute.docker import DockerRuntime, engine_missing  # noqa: PLC0415
        from orchestrator.images import ImageSettings  # noqa: PLC0415

        reason = engine_missing() if given["runtime"] == "auto" else None
        if reason is None:
            images = ImageSettings(dockerfiles=dockerfiles, registry=registry, builder=given["builder"])
            return DockerRuntime(cache, images, wheels, note=observer.note)
        observer.note(f"no container engine: {reason}")
    from orchestrator.execute.venv import VenvRuntime  # noqa: PLC0415

    runtime = VenvRuntime(cache, wheels)
    for notice in runtime.notices:
        observer.note(notice)
    return runtime


def _wheels(cache: Path, limits: Limits) -> WheelCache:
    from orchestrator.wheels.cache import WheelCache  # noqa: PLC0415

    return WheelCache(cache / "wheels", limit=limits.wheels, bundle=cache / "bundle" / "wheels")


@contextmanager
def open_inventory(given: dict[str, Any]) -> Iterator[tuple[Runtime, WheelCache]]:
    """Open what is there already, for commands that need no matrix: a runtime that builds nothing, and the wheels.

    Raises:
        EnvironmentUnusableError: docker was asked for and no engine answers.
    """
    from orchestrator.execute.progress import Silent  # noqa: PLC0415
    from orchestrator.model import Limits  # noqa: PLC0415

    cache = given["store"].absolute() / "cache"
    wheels = _wheels(cache, Limits())
    runtime = open_runtime(given, cache, wheels, Silent(), dockerfiles=cache)
    try:
        yield runtime, wheels
    finally:
        runtime.close()


@contextmanager
def stopped_by_signals(cancel: threading.Event) -> Iterator[None]:
    """Let the first SIGINT or SIGTERM stop the work in good order, and the second at once."""

    def stop(number: int, _frame: object) -> None:
        if cancel.is_set():
            signal.signal(number, signal.SIG_DFL)
            raise KeyboardInterrupt
        cancel.set()
        click.echo("stopping: what runs is ended and its results kept; once more to stop at once", err=True)

    kept = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
