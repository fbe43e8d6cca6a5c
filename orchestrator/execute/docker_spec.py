"""What a probe's container is made of: one value, from which the API call and the command line both follow."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docker.types import DeviceRequest, LogConfig, Mount, Ulimit

from orchestrator.devices import Passthrough
from orchestrator.execute.environment import probe_environment, user_environment

if TYPE_CHECKING:
    from docker import APIClient

    from orchestrator.execute.port import Job

PROBES, RUNNER, PAYLOAD, IN, OUT = "/probes", "/runner", "/payload", "/in", "/out"
PYTHON = "/opt/venv/bin/python"
COMMAND = (PYTHON, "-u", f"{PAYLOAD}/launch.py", f"{IN}/job.json", OUT)
"""What runs a job, in its container."""

HOME = "/tmp/home"  # noqa: S108 - in the container, on a file system of its own
NOBODY = 12345
"""The user that probes run as where this process is root."""

_TEMPORARY = "rw,nosuid,nodev,exec,size="
_LOG_OPTIONS = {"max-size": "20m", "max-file": "2"}
_ULIMITS = {"core": 0, "nofile": 16384}
"""An engine that is not all-powerful cannot give more open files than it has itself: a modest, equal number."""

_STOP_TIMEOUT = 30
_SHELL = (
    "/bin/sh",
    "-c",
    'mkdir -p "$HOME"; PATH=/opt/venv/bin:$PATH; export PATH; command -v bash >/dev/null && exec bash || exec sh',
)
"""A shell that has the locked distributions first in its path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """A hardened container: no network, no capability, nothing writable but `/tmp` and `/out`."""

    name: str
    image: str
    command: tuple[str, ...]
    user: str
    environment: Mapping[str, str]
    mounts: tuple[tuple[Path, str], ...]
    """Directories of this host that the container may read, and where."""
    memory: int
    shm: int
    pids: int
    passthrough: Passthrough = field(default_factory=Passthrough)
    labels: Mapping[str, str] = field(default_factory=dict)
    client: tuple[str, ...] = ("docker",)
    """The program that people give commands to this engine with."""

    @property
    def absent(self) -> Path | None:
        """The first mount whose source this host does not have: Podman would make an empty directory there."""
        sources = [*(source for source, _ in self.mounts), *(Path(one) for one, _ in self.passthrough.directories)]
        return next((source for source in sources if not source.exists()), None)

    @property
    def temporary(self) -> str:
        """The options of the file system on `/tmp`, which counts as memory. Compilers run what they put there."""
        return f"{_TEMPORARY}{self.memory // 4}"

    def create(self, api: APIClient) -> str:
        """Create the container and return its id."""
        created = api.create_container_from_config(  # type: ignore[no-untyped-call]
            self._config(api), self.name
        )
        return str(created["Id"])

    def _config(self, api: APIClient) -> dict[str, Any]:
        mounts = [
            Mount(target=target, source=str(source), type="bind", read_only=True)
            for source, target in (*self.mounts, *self.passthrough.directories)
        ]
        host = api.create_host_config(
            network_mode="none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            read_only=True,
            tmpfs={"/tmp": self.temporary},  # noqa: S108 - in the container
            mounts=[*mounts, Mount(target=OUT, source=None, type="volume")],
            mem_limit=self.memory,
            memswap_limit=self.memory,
            shm_size=self.shm,
            pids_limit=self.pids,
            ipc_mode="private",
            init=True,
            ulimits=[Ulimit(name=name, soft=value, hard=value) for name, value in _ULIMITS.items()],
            log_config=LogConfig(type=LogConfig.types.JSON, config=dict(_LOG_OPTIONS)),
            devices=[f"{source}:{target}:rw" for source, target in self.passthrough.nodes],
            group_add=[str(group) for group in self.passthrough.groups],
            device_requests=_requests(self.passthrough),
        )
        config: dict[str, Any] = api.create_container_config(
            self.image,
            list(self.command),
            user=self.user,
            environment=dict(self.environment),
            labels=dict(self.labels),
            stop_signal="SIGINT",
            working_dir="/tmp",  # noqa: S108 - in the container
            entrypoint=[""],  # and not an empty list, which is none to Podman
            host_config=host,
        )
        config["StopTimeout"] = _STOP_TIMEOUT
        return config

    def shell(self, *, terminal: bool) -> tuple[str, ...]:
        """Return a command that opens a shell in such a container."""
        return replace(self, command=_SHELL).argv("--interactive", *(["--tty"] if terminal else []))

    def argv(self, *more: str) -> tuple[str, ...]:
        """Return the same as a command for people; without a name, so that it can be run again and again."""
        mounts = [*self.mounts, *self.passthrough.directories]
        options = [
            "--rm",
            "--network=none",
            "--cap-drop=ALL",
            "--security-opt=no-new-privileges",
            "--read-only",
            f"--tmpfs=/tmp:{self.temporary}",
            f"--mount=type=volume,dst={OUT}",
            *(f"--mount={_csv('type=bind', f'src={src}', f'dst={dst}', 'readonly')}" for src, dst in mounts),
            f"--user={self.user}",
            *(f"--group-add={group}" for group in self.passthrough.groups),
            *(f"--device={source}:{target}:rw" for source, target in self.passthrough.nodes),
            *(f"--device={name}" for name in self.passthrough.cdi),
            *([f'--gpus="device={",".join(self.passthrough.gpus)}"'] if self.passthrough.gpus else []),
            f"--pids-limit={self.pids}",
            f"--memory={self.memory}",
            f"--memory-swap={self.memory}",
            f"--shm-size={self.shm}",
            "--ipc=private",
            "--init",
            *(f"--ulimit={name}={value}" for name, value in _ULIMITS.items()),
            *(f"--log-opt={name}={value}" for name, value in _LOG_OPTIONS.items()),
            "--stop-signal=SIGINT",
            f"--stop-timeout={_STOP_TIMEOUT}",
            "--workdir=/tmp",
            "--entrypoint=",
            *(f"--env={name}={value}" for name, value in self.environment.items()),
        ]
        return (*self.client, "run", *more, *options, self.image, *self.command)


def specify(
    job: Job,
    passthrough: Passthrough,
    *,
    image: str,
    payload: Path,
    labels: Mapping[str, str],
    client: tuple[str, ...] = ("docker",),
) -> ContainerSpec:
    """Return the container that runs a job with a device."""
    return ContainerSpec(
        name=f"orchestrator-{job.attempt}",
        client=client,
        image=image,
        command=COMMAND,
        user=_user(),
        environment=user_environment(HOME)
        | probe_environment(job.device, job.environment)
        # Last: whatever a matrix says, a cell keeps to its own part of a device.
        | dict(passthrough.environment),
        mounts=(
            (job.probes.resolve(), PROBES),
            (job.runner.resolve(), RUNNER),
            (payload.resolve(), PAYLOAD),
            ((job.directory / "in").resolve(), IN),
        ),
        memory=job.limits.memory,
        shm=job.limits.shm,
        pids=job.limits.pids,
        passthrough=passthrough,
        labels=labels,
    )


def _user() -> str:
    uid, gid = os.getuid(), os.getgid()
    return f"{uid}:{gid}" if uid != 0 else f"{NOBODY}:{NOBODY}"


def _requests(passthrough: Passthrough) -> list[DeviceRequest] | None:
    """Return what the engine is asked for: GPUs by its own driver for them, or CDI devices."""
    requests = []
    if passthrough.gpus:
        requests.append(DeviceRequest(device_ids=list(passthrough.gpus), capabilities=[["gpu"]]))
    if passthrough.cdi:
        requests.append(DeviceRequest(driver="cdi", device_ids=list(passthrough.cdi)))
    return requests or None


def _csv(*fields: str) -> str:
    return ",".join(f'"{field}"' if "," in field else field for field in fields)
