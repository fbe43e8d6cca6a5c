# ruff: noqa: E501 - a message is one line, here as there
from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.config import load
from orchestrator.errors import ConfigError
from orchestrator.model import Axis, Companion, Device, Exclusion, Limits, Matrix, State, Threshold, VersionRange
from orchestrator.versions import SpecifierSet, Version

SHIPPED = Path(__file__).parents[2] / "matrix.yaml"

HEAD = """\
version: 1
bases: {"3.11": {image: "python:3.11-slim"}, "3.12": {image: "python:3.12-slim", debian: trixie}}
packages: {torch: {}, torchao: {}}
"""
STACK = 'stacks: {cpu: {device: cpu, axes: {torch: ["2.1.0", "2.2.0"]}}}\n'
ISSUE = "issues: {one: {title: t, probes: ['test_a.py::test_one'], subject: {cpu: torch}}}\n"
PROBES = """\
import something_that_is_not_installed

def test_one(): ...
def helper(): ...
test_four = helper
class TestB:
    def test_two(self): ...
class TestC(something_that_is_not_installed.Base): ...
if something_that_is_not_installed:
    def test_three(): ...
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "probes").mkdir()
    (tmp_path / "probes" / "test_a.py").write_text(PROBES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loaded(text: str | bytes) -> Matrix:
    path = Path("matrix.yaml")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(path)


def message(text: str | bytes) -> str:
    with pytest.raises(ConfigError) as caught:
        loaded(text)
    return str(caught.value)


def stack(body: str) -> str:
    """A file whose fifth line begins the body of the stack `cpu`."""
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{HEAD}stacks: {{cpu: {{\n{indented}}}}}\n"


def finer(body: str) -> str:
    """A file whose package torch has versions between its releases."""
    head = HEAD.replace("torch: {}", f"torch: {{versions: {{{body}}}}}", 1)
    return f"{head}{STACK}indexes: {{mine: 'https://x.y/'}}\n"


AXES = 'device: cpu, axes: {torch: ["2.1.0", "2.2.0"]},\n'

# What to write, and the whole message: one problem, at its place.
MALFORMED = {
    "runner that is a text": (
        stack(f"{AXES}runner: ubuntu-latest"),
        '6:13: stacks.cpu.runner: must be a list, not "ubuntu-latest"',
    ),
    "runner without labels": (stack(f"{AXES}runner: []"), "6:13: stacks.cpu.runner: must not be empty"),
    "runner that is an expression": (
        stack(AXES + 'runner: ["${{ inputs.x }}"]'),
        '6:14: stacks.cpu.runner.0: "${{ inputs.x }}" is not the label of a runner, like ubuntu-latest or self-hosted',
    ),
    "job timeout without unit": (
        stack(f"{AXES}job-timeout: 2 days"),
        '6:18: stacks.cpu.job-timeout: "2 days" is not a duration: write 90s, 5m, 1h or a number of seconds',
    ),
    # scalars that YAML does not read as text
    "unquoted 2.10": (
        stack("device: cpu, axes: {torch: [2.10]}"),
        '5:33: stacks.cpu.axes.torch.0: versions must be strings: write "2.10" (unquoted, YAML reads it as the number 2.1)',
    ),
    "1e5": (
        stack("device: cpu, axes: {torch: [1e5]}"),
        '5:33: stacks.cpu.axes.torch.0: versions must be strings: write "1e5" (unquoted, YAML reads it as the number 100000.0)',
    ),
    "no": (
        stack("device: cpu, axes: {torch: [no]}"),
        '5:33: stacks.cpu.axes.torch.0: versions must be strings: write "no" (unquoted, YAML reads it as false)',
    ),
    "date": (
        stack("device: cpu, axes: {torch: [2024-01-31]}"),
        "5:33: stacks.cpu.axes.torch.0: '2024-01-31' is not a PEP 440 version",
    ),
    "one unquoted version": (
        stack("device: cpu, axes: {torch: 2.10}"),
        '5:32: stacks.cpu.axes.torch: versions must be strings: write "2.10" (unquoted, YAML reads it as the number 2.1)',
    ),
    "unquoted Python": (
        stack("device: cpu, axes: {torch: ['2.1'], python: [3.11]}"),
        '5:50: stacks.cpu.axes.python.0: versions must be strings: write "3.11" (unquoted, YAML reads it as the number 3.11)',
    ),
    "unquoted version as a key": (
        stack(AXES + "companions: {torchao: {follows: torch, pairs: {2.10: '0.9'}}}"),
        '6:52: stacks.cpu.companions.torchao.pairs."2.10": keys must be strings: write "2.10" (unquoted, YAML reads it as the number 2.1)',
    ),
    "unquoted number in the environment": (
        HEAD + STACK + "environment: {OMP_NUM_THREADS: 1}\n",
        '5:32: environment.OMP_NUM_THREADS: must be a string: write "1" (unquoted, YAML reads it as the number 1)',
    ),
    "number too long": (
        HEAD + STACK + f"limits: {{pids: {'9' * 100_000}}}\n",
        f'5:16: limits.pids: must be a whole number, not "{"9" * 60}…"',
    ),
    # YAML
    "empty": ("", "1:1: empty: start with `version: 1`"),
    "byte order mark only": (b"\xef\xbb\xbf", "1:1: empty: start with `version: 1`"),
    "comment only": ("# nothing\n", "1:1: empty: start with `version: 1`"),
    "null": ("---\n~\n", "2:1: empty: start with `version: 1`"),
    "scalar": ("hello\n", '1:1: must be a mapping, not "hello"'),
    "list": ("- version: 1\n", "1:1: must be a mapping, not a list"),
    "tab": ("version: 1\n\tprobes: x\n", "2:1: a tab cannot indent or separate here: use spaces"),
    "two documents": (HEAD + STACK + "---\nversion: 1\n", "5:1: a second document: remove this '---'"),
    "colon": (
        "version: 1\nprobes: a: b\n",
        "2:10: a ':' that cannot be here: quote the text, or check the indentation",
    ),
    "unclosed": (
        "version: 1\nbases: {\n",
        "3:1: not valid YAML: expected the node content, but found '<stream end>'",
    ),
    "unclosed further up": (
        "version: 1\nbases: {a: b\nstacks: c\n",
        "3:7: not valid YAML: expected ',' or '}', but got ':' (while parsing a flow mapping from 2:8)",
    ),
    "wrong bracket": (
        "version: 1\nprobes: [a}\n",
        "2:11: not valid YAML: expected ',' or ']', but got '}' (while parsing a flow sequence from 2:9)",
    ),
    "binary": (b"version: 1\nprobes: a\x00b\n", "2:10: a control character, U+0000"),
    "escape sequence": ("version: 1\nprobes: \x1b[2J\n", "2:9: a control character, U+001B"),
    "not UTF-8": (b"version: 1\n# caf\xe9\n", "2:6: not UTF-8 (byte 0xe9): save the file as UTF-8"),
    "UTF-16": ("version: 1\n".encode("utf-16"), "1:1: not UTF-8 but UTF-16: save the file as UTF-8"),
    "large escape": (
        'version: "\\UFFFFFFFF"\n',
        "not valid YAML: a number too large, in a \\U escape or a directive",
    ),
    "alias": (
        "version: 1\nprobes: &p probes\nimages: {dockerfiles: *p}\n",
        '2:9: anchors are not allowed, like "p" here: write the value out',
    ),
    "lonely alias": ("version: *one\n", '1:10: aliases are not allowed, like "one" here: write the value out'),
    "merge key": (
        "version: 1\nlimits:\n  <<: {pids: 5}\n",
        "3:3: merge keys (<<) are not allowed: write the values out",
    ),
    "tag": ("version: !!int 1\n", '1:10: tags are not allowed, like "tag:yaml.org,2002:int" here'),
    "list as key": ("version: 1\n[a]: b\n", "2:1: a list or a mapping cannot be a key"),
    "nested": ("version: " + "[" * 100_000, "1:25: nested more than 16 deep"),
    "nested mappings": ("version: " + "{a: " * 10_000, "1:67: nested more than 16 deep"),
    "nested blocks": ("- " * 10_000, "1:33: nested more than 16 deep"),
    "duplicate key": (
        HEAD + STACK + "probes: probes\nversion: 1\n",
        '6:1: version: "version" is here twice, first at 1:1',
    ),
    "no value": (HEAD + STACK + "probes:\n", "5:8: probes: there is no value: write one, or remove the key"),
    # keys and types
    "newer format": (
        "version: 2\nfuture: 1\n",
        "1:10: version: this file has format 2, and this orchestrator reads format 1: upgrade it",
    ),
    "version as text": (HEAD.replace("1\n", '"1"\n', 1) + STACK, '1:10: version: must be a whole number, not "1"'),
    "version as boolean": (
        HEAD.replace("1\n", "true\n", 1) + STACK,
        "1:10: version: must be a whole number, not true",
    ),
    "no version": (HEAD.replace("version: 1\n", "") + STACK, "1:1: version: missing"),
    "unknown key": (HEAD + STACK + "limit: {}\n", '5:1: limit: unknown key; did you mean "limits"?'),
    "unknown key deep down": (
        stack("devise: cpu,\n" + AXES),
        '5:5: stacks.cpu.devise: unknown key; did you mean "device"?',
    ),
    "unknown key behind alternatives": (
        stack("device: cpu, axes: {torch: {versions: '>=2', patch: all}}"),
        '5:50: stacks.cpu.axes.torch.patch: unknown key; did you mean "patches"?',
    ),
    "missing key": (stack("axes: {torch: ['2.1']}"), "4:10: stacks.cpu.device: missing"),
    "list for mapping": (HEAD + "stacks: [a]\n", "4:9: stacks: must be a mapping, not a list"),
    "text for list": (
        stack(AXES + "requirements: numpy"),
        '6:19: stacks.cpu.requirements: must be a list, not "numpy"',
    ),
    "no stack": (HEAD + "stacks: {}\n", "4:9: stacks: must not be empty"),
    "no versions": (stack("device: cpu, axes: {torch: []}"), "5:32: stacks.cpu.axes.torch: must not be empty"),
    "text for boolean": (
        stack("device: cpu, axes: {torch: {versions: '>=2', yanked: 'no'}}"),
        '5:58: stacks.cpu.axes.torch.yanked: must be true or false, not "no"',
    ),
    "device": (
        stack("device: xpuu, axes: {torch: ['2.1']}"),
        '5:13: stacks.cpu.device: must be one of cpu, xpu, cuda or xla, not "xpuu"; did you mean "xpu"?',
    ),
    "package device": (
        HEAD.replace("torch: {}", "torch: {indexes: {gpu: [default]}}") + STACK,
        '3:30: packages.torch.indexes.gpu: must be one of cpu, xpu, cuda or xla, not "gpu"; did you mean "xpu"?',
    ),
    # text
    "specifier": (
        stack("device: cpu, axes: {torch: '>=2.x'}"),
        "5:32: stacks.cpu.axes.torch: '>=2.x' is not a PEP 440 version or specifier (try '>=2.1,<2.9')",
    ),
    "arbitrary equality": (
        stack("device: cpu, axes: {torch: '===x'}"),
        "5:32: stacks.cpu.axes.torch: \"===x\" is not a version or specifier (try '>=2.1,<2.9')",
    ),
    "newline in a specifier": (
        stack(AXES + 'exclude: [{torch: "<2\\n", reason: x}]'),
        "6:23: stacks.cpu.exclude.0.torch: \"<2\\n\" is not a version or specifier (try '>=2.1,<2.9')",
    ),
    "specifier in a list": (
        stack("device: cpu, axes: {torch: ['>=2']}"),
        '5:33: stacks.cpu.axes.torch.0: ">=2" is a specifier, and one version is wanted here',
    ),
    "newline in a version": (
        stack('device: cpu, axes: {torch: ["2.1\\nRUN x"]}'),
        "5:33: stacks.cpu.axes.torch.0: '2.1\\nRUN x' is not a version",
    ),
    "shell in a version": (
        stack("device: cpu, axes: {torch: ['2.1; curl x']}"),
        "5:33: stacks.cpu.axes.torch.0: '2.1; curl x' is not a version",
    ),
    "newline in a name": (
        HEAD + 'stacks: {"a\\nb": {device: cpu, axes: {torch: ["2.1"]}}}\n',
        '4:10: stacks."a\\nb": "a\\nb" is not a name: lowercase letters, digits and \'-\', at most 64',
    ),
    "way out in a name": (
        HEAD + 'stacks: {"../x": {device: cpu, axes: {torch: ["2.1"]}}}\n',
        '4:10: stacks."../x": "../x" is not a name: lowercase letters, digits and \'-\', at most 64',
    ),
    "option as a name": (
        HEAD + 'stacks: {--help: {device: cpu, axes: {torch: ["2.1"]}}}\n',
        "4:10: stacks.--help: \"--help\" is not a name: lowercase letters, digits and '-', at most 64",
    ),
    "long name": (
        HEAD + f'stacks: {{{"a" * 300}: {{device: cpu, axes: {{torch: ["2.1"]}}}}}}\n',
        f'4:10: stacks."{"a" * 60}…": longer than 200 characters',
    ),
    "capitals in a name": (
        HEAD + 'stacks: {CPU: {device: cpu, axes: {torch: ["2.1"]}}}\n',
        "4:10: stacks.CPU: \"CPU\" is not a name: lowercase letters, digits and '-', at most 64",
    ),
    "Windows": (
        HEAD + 'stacks: {nul: {device: cpu, axes: {torch: ["2.1"]}}}\n',
        '4:10: stacks.nul: "nul" cannot be a file name on Windows, and results are kept under this name',
    ),
    "package name": (
        HEAD.replace("torch:", '"torch\\n":', 1) + STACK.replace("torch", "torchao"),
        "3:12: packages.\"torch\\n\": \"torch\\n\" is not a package name: letters, digits, '.', '_' and '-'",
    ),
    "reserved package name": (
        HEAD.replace("torch:", "python: {}, torch:", 1) + STACK,
        '3:12: packages.python: "python" has a meaning of its own: choose another name and give the distribution',
    ),
    "emoji": (
        HEAD.replace("torchao", "tørch🔥") + STACK,
        "3:23: packages.\"tørch🔥\": \"tørch🔥\" is not a package name: letters, digits, '.', '_' and '-'",
    ),
    "control character in a title": (
        HEAD + STACK + ISSUE.replace("title: t", 'title: "\\e[2J"'),
        "5:23: issues.one.title: has a control or invisible character, U+001B",
    ),
    "right-to-left override": (
        HEAD + STACK + ISSUE.replace("title: t", 'title: "a\\u202eb"'),
        "5:23: issues.one.title: has a control or invisible character, U+202E",
    ),
    "lone surrogate": (
        HEAD + STACK + ISSUE.replace("title: t", 'title: "\\ud800"'),
        "5:23: issues.one.title: has a control or invisible character, U+D800",
    ),
    "javascript link": (
        HEAD + STACK + ISSUE.replace("title: t", "title: t, link: 'javascript:alert(1)'"),
        '5:32: issues.one.link: "javascript:alert(1)" is not a URL that starts with https or http',
    ),
    "quote in a link": (
        HEAD + STACK + ISSUE.replace("title: t", "title: t, link: 'https://x.y/\"><b>'"),
        '5:32: issues.one.link: "https://x.y/\\"><b>" is not a URL that starts with https or http',
    ),
    "link to nowhere": (
        HEAD + STACK + ISSUE.replace("title: t", "title: t, link: https"),
        '5:32: issues.one.link: "https" is not a URL that starts with https or http',
    ),
    "plain repository": (
        HEAD.replace("torch: {}", "torch: {repository: 'http://x.y/z'}") + STACK,
        '3:32: packages.torch.repository: "http://x.y/z" is not a URL that starts with https',
    ),
    "password in an index": (
        HEAD + STACK + "indexes: {mine: 'https://me:pw@x.y/simple'}\n",
        "5:17: indexes.mine: a URL with a user name or password: these values are written to results and logs",
    ),
    "index scheme": (
        HEAD + STACK + "indexes: {mine: 'ftp://x.y/simple'}\n",
        '5:17: indexes.mine: "ftp://x.y/simple" is not a URL that starts with https, http or file',
    ),
    "image": (
        HEAD.replace("python:3.11-slim", "python:3.11\\nRUN x") + STACK,
        '2:25: bases."3.11".image: "python:3.11\\nRUN x" is not the name of an image, like python:3.11-slim',
    ),
    "registry without a name": (
        HEAD + STACK + "images: {registry: 'localhost:5000'}\n",
        '5:20: images.registry: "localhost:5000" is not a place in a registry: host:port/name, the name in lowercase,'
        " and a host with a dot or a port",
    ),
    "registry with a tag": (
        HEAD + STACK + "images: {registry: 'reg.x.y/Team/matrix:latest'}\n",
        '5:20: images.registry: "reg.x.y/Team/matrix:latest" is not a place in a registry: host:port/name, the name in'
        " lowercase, and a host with a dot or a port",
    ),
    "option as an image": (
        HEAD.replace("python:3.11-slim", "--privileged") + STACK,
        '2:25: bases."3.11".image: "--privileged" is not the name of an image, like python:3.11-slim',
    ),
    "requirement URL": (
        stack(AXES + "requirements: ['x @ https://x.y/z.whl']"),
        '6:20: stacks.cpu.requirements.0: "x @ https://x.y/z.whl" has a URL: requirements come from the indexes only',
    ),
    "requirement path": (
        stack(AXES + "requirements: [./x]"),
        "6:20: stacks.cpu.requirements.0: \"./x\" is not a requirement: write a name and versions, like 'numpy>=1.26,<3' (no paths, no options)",
    ),
    "tag without version": (
        HEAD.replace("torch: {}", "torch: {tag: v1}") + STACK,
        '3:25: packages.torch.tag: "v1" does not contain {version} (or {public})',
    ),
    "module": (
        HEAD.replace("torch: {}", "torch: {import: 'os; x'}") + STACK,
        '3:28: packages.torch.import: "os; x" is not the name of a module',
    ),
    "resolution": (
        stack(AXES + "resolution: 2025-02-30"),
        '6:17: stacks.cpu.resolution: "2025-02-30" is not as-of-release, latest or a date like 2025-01-31',
    ),
    "secret": (
        HEAD + STACK + "environment: {HF_TOKEN: x}\n",
        '5:15: environment.HF_TOKEN: "HF_TOKEN" looks like a secret: these values are written to results and logs',
    ),
    "variable name": (
        HEAD + STACK + "environment: {A=B: x}\n",
        '5:15: environment."A=B": "A=B" is not the name of an environment variable',
    ),
    "size without unit": (
        HEAD + STACK + "limits: {memory: 8}\n",
        "5:18: limits.memory: 8 is not a size: write a number with a unit, like 8GB or 512MiB",
    ),
    "no time at all": (
        HEAD + STACK + "limits: {probe-timeout: 0}\n",
        "5:25: limits.probe-timeout: 0 is not between 0 and 168h",
    ),
    "too much time": (
        HEAD + STACK + "limits: {probe-timeout: 169h}\n",
        '5:25: limits.probe-timeout: "169h" is not between 0 and 168h',
    ),
    "too much memory": (
        HEAD + STACK + "limits: {memory: 999999TB}\n",
        '5:18: limits.memory: "999999TB" is not between 0 and 1024TiB',
    ),
    "less than a byte": (
        HEAD + STACK + "limits: {memory: 0.5B}\n",
        '5:18: limits.memory: "0.5B" is not between 0 and 1024TiB',
    ),
    "no processes": (HEAD + STACK + "limits: {pids: 0}\n", "5:16: limits.pids: must be greater than 0, not 0"),
    # names across the file
    "unknown package": (
        stack('device: cpu, axes: {torhc: ["2.1"]}'),
        '5:25: stacks.cpu.axes.torhc: there is no package "torhc"; did you mean "torch"?',
    ),
    "unknown index": (
        HEAD.replace("torch: {}", "torch: {indexes: {cpu: [mein]}}") + STACK + "indexes: {mine: 'https://x.y/'}\n",
        '3:36: packages.torch.indexes.cpu.0: there is no index "mein"; did you mean "mine"?',
    ),
    "versions without a source": (
        finer("build-requires: [wheel]"),
        "3:30: packages.torch.versions: names no source: add `git` or `nightlies`",
    ),
    "unknown source of versions": (
        finer("nightly: {cpu: [mine]}"),
        '3:31: packages.torch.versions.nightly: unknown key; did you mean "nightlies"?',
    ),
    "git by ssh": (
        finer("git: 'ssh://git@x.y/z'"),
        '3:36: packages.torch.versions.git: "ssh://git@x.y/z" is not a git repository: write an https URL or a path',
    ),
    "git with a password": (
        finer("git: 'https://me:secret@x.y/z'"),
        "3:36: packages.torch.versions.git: a URL with a user name or password: these values are written to results and logs",
    ),
    "git like an option": (
        finer("git: --upload-pack=touch"),
        '3:36: packages.torch.versions.git: "--upload-pack=touch" reads like an option: write "./--upload-pack=touch"',
    ),
    "git with a transport of its own": (
        finer("git: 'ext::sh -c touch% x'"),
        '3:36: packages.torch.versions.git: "ext::sh -c touch% x" is not a git repository: write an https URL or a path',
    ),
    "git that is no text": (
        finer("git: [a]"),
        "3:36: packages.torch.versions.git: must be a string, not a list",
    ),
    "unknown index of nightlies": (
        finer("nightlies: {cpu: [mein]}"),
        '3:49: packages.torch.versions.nightlies.cpu.0: there is no index "mein"; did you mean "mine"?',
    ),
    "nightlies on the default index": (
        finer("nightlies: {cpu: [default]}"),
        '3:49: packages.torch.versions.nightlies.cpu.0: there is no index "default"; there is "mine"',
    ),
    "same index of nightlies twice": (
        finer("nightlies: {xpu: [mine, mine]}"),
        "3:55: packages.torch.versions.nightlies.xpu.1: the same index as at 3:49, mine",
    ),
    "nightlies of an unknown device": (
        finer("nightlies: {gpu: [mine]}"),
        '3:43: packages.torch.versions.nightlies.gpu: must be one of cpu, xpu, cuda or xla, not "gpu"; did you mean "xpu"?',
    ),
    "nightlies of no device": (
        finer("nightlies: {}"),
        "3:42: packages.torch.versions.nightlies: must not be empty",
    ),
    "secret of a build": (
        finer("git: ../ao, build-environment: {MY_TOKEN: x}"),
        '3:63: packages.torch.versions.build-environment.MY_TOKEN: "MY_TOKEN" looks like a secret: these values are written to results and logs',
    ),
    "requirement of a build with a URL": (
        finer("git: ../ao, build-requires: ['wheel @ https://x.y/w.whl']"),
        '3:60: packages.torch.versions.build-requires.0: "wheel @ https://x.y/w.whl" has a URL: requirements come from the indexes only',
    ),
    "same index twice": (
        HEAD.replace("torch: {}", "torch: {indexes: {cpu: [default, default]}}") + STACK,
        "3:45: packages.torch.indexes.cpu.1: the same index as at 3:36, default",
    ),
    "reserved index": (
        HEAD + STACK + "indexes: {default: 'https://x.y/'}\n",
        '5:11: indexes.default: "default" is the index that the installer uses when told nothing: choose another name',
    ),
    "unknown base": (
        stack("device: cpu, axes: {torch: ['2.1'], python: ['3.9']}"),
        '5:50: stacks.cpu.axes.python.0: there is no base "3.9"; there is "3.11", "3.12"',
    ),
    "unknown base in include": (
        stack(AXES + "include: [{torch: '2.3.0', python: '3.9'}]"),
        '6:40: stacks.cpu.include.0.python: there is no base "3.9"; there is "3.11", "3.12"',
    ),
    "same Python twice": (
        stack("device: cpu, axes: {torch: ['2.1'], python: ['3.11', '3.11']}"),
        "5:58: stacks.cpu.axes.python.1: the same Python as at 5:50, 3.11",
    ),
    "same version twice": (
        stack('device: cpu, axes: {torch: ["2.1", "2.1.0"]}'),
        "5:40: stacks.cpu.axes.torch.1: the same version as at 5:33, 2.1.0",
    ),
    "only Python varies": (
        stack("device: cpu, axes: {python: ['3.11']}"),
        "5:18: stacks.cpu.axes: no package varies: name one, with its versions",
    ),
    "companion follows nothing": (
        stack(AXES + "companions: {torchao: {follows: torhc, same: minor}}"),
        '6:37: stacks.cpu.companions.torchao.follows: stack cpu has no axis "torhc"; did you mean "torch"?',
    ),
    "companion follows Python": (
        stack(AXES + "companions: {torchao: {follows: python, same: minor}}"),
        "6:37: stacks.cpu.companions.torchao.follows: Python cannot be followed: name an axis that is a package",
    ),
    "unknown companion": (
        stack(AXES + "companions: {torchoa: {follows: torch, same: minor}}"),
        '6:18: stacks.cpu.companions.torchoa: there is no package "torchoa"; did you mean "torchao"?',
    ),
    "companion is an axis": (
        stack(AXES + "companions: {torch: {follows: torch, same: minor}}"),
        "6:18: stacks.cpu.companions.torch: an axis of this stack cannot be a companion too",
    ),
    "companion without rule": (
        stack(AXES + "companions: {torchao: {follows: torch}}"),
        "6:27: stacks.cpu.companions.torchao: has no rule: add `pairs`, `ranges` or `same: minor`",
    ),
    "companion with two rules": (
        stack(AXES + "companions: {torchao: {follows: torch, pairs: {'2.1.0': '1'}, ranges: {'>=2': '1'}}}"),
        "6:27: stacks.cpu.companions.torchao: has both `pairs` and `ranges`: keep one",
    ),
    "same pair twice": (
        stack(AXES + "companions: {torchao: {follows: torch, pairs: {'2.1': '1', '2.1.0': '2'}}}"),
        '6:64: stacks.cpu.companions.torchao.pairs."2.1.0": the same version as at 6:52, 2.1.0',
    ),
    "unknown axis in exclude": (
        stack(AXES + "exclude: [{torhc: '<2', reason: r}]"),
        '6:16: stacks.cpu.exclude.0.torhc: stack cpu has no axis "torhc"; did you mean "torch"?',
    ),
    "exclude without reason": (
        stack(AXES + "exclude: [{torch: '<2'}]"),
        "6:15: stacks.cpu.exclude.0.reason: missing",
    ),
    "exclude everything": (
        stack(AXES + "exclude: [{reason: r}]"),
        "6:15: stacks.cpu.exclude.0: would exclude every cell: add a condition on an axis",
    ),
    "include without an axis": (
        stack(AXES + "include: [{python: '3.11'}]"),
        "6:15: stacks.cpu.include.0.torch: missing: a cell has a version on every axis",
    ),
    "include without a Python": (
        stack("device: cpu, axes: {torch: ['2.1'], python: ['3.11', '3.12']},\ninclude: [{torch: '2.2'}]"),
        "6:15: stacks.cpu.include.0.python: missing: a cell has a version on every axis",
    ),
    "include with a specifier": (
        stack(AXES + "include: [{torch: '2.3.*'}]"),
        '6:23: stacks.cpu.include.0.torch: "2.3.*" is a specifier, and one version is wanted here',
    ),
    "two packages of one distribution": (
        HEAD.replace("torchao: {}", "nightly: {distribution: Torch}")
        + stack("device: cpu, axes: {torch: ['2.1'], nightly: ['2.2']}")[len(HEAD) :],
        "5:41: stacks.cpu.axes.nightly: the same distribution as at 5:25, torch",
    ),
    "packages that differ in case": (
        HEAD.replace("torchao", "Torch") + STACK,
        "3:23: packages.Torch: the same package as at 3:12, torch",
    ),
    "package that cannot be imported": (
        HEAD.replace("torchao", "2to3") + STACK,
        "3:23: packages.2to3: 2to3 cannot be imported: add `import`",
    ),
    "unknown stack": (
        HEAD + STACK + ISSUE.replace("{cpu: torch}", "{gpu: torch}"),
        '5:69: issues.one.subject.gpu: there is no stack "gpu"; did you mean "cpu"?',
    ),
    "unknown subject": (
        HEAD + STACK + ISSUE.replace("cpu: torch", "cpu: torchao"),
        '5:74: issues.one.subject.cpu: stack cpu has no axis "torchao"; did you mean "torch"?',
    ),
    # probes
    "unknown probe": (
        HEAD + STACK + ISSUE.replace("test_one", "test_on"),
        '5:35: issues.one.probes.0: test_a.py has no test "test_on"; did you mean "test_one"?',
    ),
    "same probe twice": (
        HEAD + STACK + ISSUE.replace("'test_a.py::test_one'", "'test_a.py::test_one', 'test_a.py::test_one'"),
        "5:58: issues.one.probes.1: the same probe as at 5:35, test_a.py::test_one",
    ),
    "unknown probe in a class": (
        HEAD + STACK + ISSUE.replace("test_one", "TestB::test_tow"),
        '5:35: issues.one.probes.0: test_a.py has no test "TestB::test_tow"; did you mean "TestB::test_two"?',
    ),
    "a function that is no probe": (
        HEAD + STACK + ISSUE.replace("test_one", "helper"),
        '5:35: issues.one.probes.0: test_a.py has no test "helper"',
    ),
    "unknown probe file": (
        HEAD + STACK + ISSUE.replace("test_a", "test_aa"),
        '5:35: issues.one.probes.0: "test_aa.py" does not exist; did you mean "test_a.py"?',
    ),
    "probe outside": (
        HEAD + STACK + ISSUE.replace("test_a", "../test_a"),
        '5:35: issues.one.probes.0: "../test_a.py::test_one" is not a probe: write file.py::test or file.py::Class::test',
    ),
    "probe option": (
        HEAD + STACK + ISSUE.replace("test_a", "--co"),
        '5:35: issues.one.probes.0: "--co.py::test_one" is not a probe: write file.py::test or file.py::Class::test',
    ),
    "probe with a parameter": (
        HEAD + STACK + ISSUE.replace("test_one", "test_one[1]"),
        '5:35: issues.one.probes.0: "test_a.py::test_one[1]" names one parameter: leave out the brackets, all are run',
    ),
    "no probes directory": (
        HEAD + STACK + "probes: elsewhere\n" + ISSUE,
        '5:9: probes: there is no directory "elsewhere" here',
    ),
}


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(("text", "expected"), MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed(text: str | bytes, expected: str) -> None:
    separator = ":" if re.match(r"[0-9]+:", expected) else ": "
    assert message(text) == f"matrix.yaml{separator}{expected}"


@pytest.mark.usefixtures("home")
def test_all_problems_at_once_in_order() -> None:
    text = (
        HEAD.replace("torchao: {}", "torchao: {repo: x}")
        + "stacks:\n  a: {device: gpu, axes: {torch: [2.10]}}\n  b: {device: cpu, axes: {torch: ['2.1']},\n"
        + "      companions: {torchao: {follows: x, same: minor}}}\n"
        + ISSUE.replace("test_one", "test_none").replace("cpu: torch", "c: torch")
        + "probes: probes\nprobes: probes\n"
    )
    places = [line.split(": ")[:2] for line in message(text).splitlines()]
    assert places == [
        ["matrix.yaml:3:33", "packages.torchao.repo"],
        ["matrix.yaml:5:15", "stacks.a.device"],
        ["matrix.yaml:5:35", "stacks.a.axes.torch.0"],
        ["matrix.yaml:7:39", "stacks.b.companions.torchao.follows"],
        ["matrix.yaml:8:35", "issues.one.probes.0"],
        ["matrix.yaml:8:70", "issues.one.subject.c"],
        ["matrix.yaml:10:1", "probes"],
    ]


@pytest.mark.usefixtures("home")
def test_consequences_are_not_told() -> None:
    # The broken version is why the axis has no entry; the stack and its axis are known all the same.
    text = HEAD + STACK.replace('["2.1.0", "2.2.0"]', "[2.10]") + ISSUE
    assert message(text).count("\n") == 0


@pytest.mark.usefixtures("home")
def test_rest_is_checked_where_an_item_is_wrong() -> None:
    text = stack(AXES + "exclude: [{torch: '<2', reason: 5}, {torch: '<2', reason: r}]") + ISSUE.replace(
        "_one", "_on"
    )
    assert [line.split(": ")[:2] for line in message(text).splitlines()] == [
        ["matrix.yaml:6:37", "stacks.cpu.exclude.0.reason"],
        ["matrix.yaml:8:35", "issues.one.probes.0"],
    ]


def test_file_problems(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"\Anowhere/matrix\.yaml: there is no such file\Z"):
        load(Path("nowhere/matrix.yaml"))
    with pytest.raises(ConfigError, match=r"\Aprobes: this is a directory: name the file in it\Z"):
        load(Path("probes"))
    with pytest.raises(ConfigError, match=r"this is not a file name\Z"):
        load(Path("a\0b"))
    (home / "loop").symlink_to("loop")
    with pytest.raises(ConfigError, match=r"\Aloop: cannot be read: "):
        load(Path("loop"))
    with pytest.raises(ConfigError, match=r"/matrix\.yaml: there is no such file\Z") as caught:
        load(home / "matrix.yaml")
    assert str(caught.value).startswith(str(home))


@pytest.mark.usefixtures("home")
def test_large_file() -> None:
    assert message(b"#" * 50_000_000) == "matrix.yaml: larger than 256 KiB: this is no matrix"


@pytest.mark.usefixtures("home")
def test_alias_bomb() -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))]
    assert message("\n".join(lines)).startswith("matrix.yaml:1:5: anchors are not allowed")


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system", "!!python/object/new:os.system", "!x"])
def test_tags_run_nothing(home: Path, tag: str) -> None:
    assert message(f"version: {tag} ['touch canary']\n").startswith("matrix.yaml:1:10: tags are not allowed")
    assert not (home / "canary").exists()


@pytest.mark.usefixtures("home")
def test_crlf_and_byte_order_mark_are_fine() -> None:
    text = HEAD + STACK + ISSUE
    assert loaded(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()) == loaded(text)
    assert message(b"\xef\xbb\xbfversino: 1\r\n").startswith("matrix.yaml:1:1: ")


def test_probe_that_links_outside(home: Path) -> None:
    (home / "test_out.py").write_text("def test_one(): ...\n")
    (home / "probes" / "test_out.py").symlink_to("../test_out.py")
    text = HEAD + STACK + ISSUE.replace("test_a.py", "test_out.py")
    assert message(text).endswith('"test_out.py" is a link to outside of the probes directory')


@pytest.mark.parametrize("source", [b"def test_one(:\n", b"\0", b"(" * 100_000, b"\xff", b"x = '\\d'\nif"])
def test_probe_that_is_not_python(home: Path, source: bytes) -> None:
    (home / "probes" / "test_a.py").write_bytes(source)
    assert ': issues.one.probes.0: "test_a.py" is not Python' in message(HEAD + STACK + ISSUE)


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("test", ["TestB::test_two", "TestC::test_inherited", "test_three", "test_four"])
def test_probes_that_exist(test: str) -> None:
    matrix = loaded(HEAD + STACK + ISSUE.replace("test_one", test))
    assert matrix.issues["one"].probes == (f"test_a.py::{test}",)


def test_smallest(home: Path) -> None:
    matrix = loaded(HEAD + STACK)
    assert matrix.path == Path("matrix.yaml")
    assert matrix.probes == (home / "probes").resolve()
    assert matrix.images == (home / "images").resolve()
    assert matrix.registry is None
    assert matrix.limits == Limits()
    assert matrix.stacks["cpu"].python == ("3.11",)
    assert matrix.stacks["cpu"].axes == (Axis(package="torch", versions=(Version("2.1.0"), Version("2.2.0"))),)
    assert matrix.stacks["cpu"].resolution == "as-of-release"
    assert matrix.packages["torch"].distribution == "torch"
    assert matrix.packages["torch"].candidates(Device.CPU) == ("default",)
    assert matrix.bases["3.12"].debian == "trixie"
    assert matrix.bases["3.11"].debian is None


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("given", "git"),
    [("https://x.y/z.git", "https://x.y/z.git"), ("../ao", "HOME/../ao"), ("/srv/ao", "/srv/ao"), (".", "HOME")],
)
def test_git_is_a_url_or_a_path_beside_the_file(home: Path, given: str, git: str) -> None:
    torch = loaded(finer(f"git: '{given}'")).packages["torch"]
    assert torch.git == (git if "://" in git else os.path.realpath(git.replace("HOME", str(home))))
    assert (torch.nightlies, torch.build_requires, torch.build_environment) == ({}, (), {})


@pytest.mark.usefixtures("home")
def test_versions_between_releases() -> None:
    body = (
        "git: ../ao, build-requires: ['wheel<1'], build-environment: {A: b}, nightlies: {cpu: [mine], xpu: [mine]}"
    )
    torch = loaded(finer(body)).packages["torch"]
    assert torch.nightlies == {Device.CPU: ("mine",), Device.XPU: ("mine",)}
    assert (torch.build_requires, torch.build_environment) == (("wheel<1",), {"A": "b"})


@pytest.mark.usefixtures("home")
def test_everything() -> None:
    matrix = loaded(
        """\
version: 1
probes: probes
images: {dockerfiles: ../pictures, registry: "localhost:5000/team/matrix"}
indexes: {mine: https://x.y/simple/, near: "file:///srv/wheels", plain: "http://localhost:8080/simple"}
bases: {"3.12": {image: "reg.x.y:5000/a/python@sha256:%s"}, "3.11": {image: python, debian: bookworm}}
limits: {probe-timeout: 90s, build-timeout: 0.5, memory: 512MiB, shm: 1.5GB, disk: 1TB, wheels: 7GB, pids: 64}
packages:
  torch: {repository: "https://github.com/pytorch/pytorch", tag: "v{public}", indexes: {cpu: [mine, default]}}
  torch-xla: {}
  ipex: {distribution: intel-extension-for-pytorch, import: intel_extension_for_pytorch.cpu}
  torchao: {}
stacks:
  one:
    device: xla
    note: >
      Two
      lines.
    axes:
      python: ["3.11", "3.12"]
      torch: {versions: ">=2.1,<2.9", patches: all, prereleases: true, yanked: yes}
      torchao: ">=0.9"
    companions:
      torch-xla: {follows: torch, same: minor, ranges: {"<2.2": "2.2.*", "2.5.1": ">=2.5"}}
      ipex: {follows: torch, pairs: {"2.6.0": "2.6.0", "2.6.0+xpu": "2.6.10+xpu"}}
    requirements: ["numpy<2 ; python_version<'3.12'"]
    exclude:
      - {torch: "<2.2", python: "3.12", reason: no wheel}
    include:
      - {torch: "2.9.0", torchao: "0.14", python: "3.11"}
    resolution: 2025-01-31
    runner: [self-hosted, "gpu=arc", linux]
    job-timeout: 1.5h
  two:
    device: cpu
    axes: {torch: "2.8.0"}
    include: [{torch: "2.9.0"}]
    resolution: latest
issues:
  wrong-sum:
    title: Sum is
      wrong
    link: https://x.y/issues/1?a=b#c
    probes: [test_a.py::TestB::test_two]
    subject: {one: torch, two: torch}
    expect: affected
    shows: "shapes cannot be multiplied (1x2"
    threshold: {metric: mae, above: 1e-4}
    absent: bad
    timeout: unknown
environment: {OMP_NUM_THREADS: "1", EMPTY: ""}
"""
        % ("0" * 64)
    )
    assert matrix.images == Path.cwd().parent / "pictures"
    assert matrix.registry == "localhost:5000/team/matrix"
    assert matrix.limits == Limits(
        probe_timeout=90,
        build_timeout=0.5,
        memory=512 * 1024**2,
        shm=1_500_000_000,
        disk=10**12,
        wheels=7 * 10**9,
        pids=64,
    )
    assert matrix.packages["torch-xla"].module == "torch_xla"
    assert matrix.packages["ipex"].module == "intel_extension_for_pytorch.cpu"
    assert matrix.packages["torch"].indexes == {Device.CPU: ("mine", "default")}
    one, two = matrix.stacks.values()
    assert one.device is Device.XLA
    assert one.note == "Two lines."
    assert (one.runner, one.job_timeout) == (("self-hosted", "gpu=arc", "linux"), 5400)
    assert (two.runner, two.job_timeout) == (("ubuntu-latest",), None)
    assert one.python == ("3.11", "3.12")
    wide = VersionRange(specifier=SpecifierSet(">=2.1,<2.9"), patches="all", prereleases=True, yanked=True)
    assert one.axes == (
        Axis(package="torch", versions=wide),
        Axis(package="torchao", versions=VersionRange(specifier=SpecifierSet(">=0.9"))),
    )
    assert one.companions == (
        Companion(
            package="torch-xla",
            follows="torch",
            rules=(
                (SpecifierSet("<2.2"), SpecifierSet("==2.2.*")),
                (SpecifierSet("==2.5.1"), SpecifierSet(">=2.5")),
            ),
            same_minor=True,
        ),
        Companion(
            package="ipex",
            follows="torch",
            rules=(  # the local build first, for ==2.6.0 takes it too
                (SpecifierSet("==2.6.0+xpu"), SpecifierSet("==2.6.10+xpu")),
                (SpecifierSet("==2.6.0"), SpecifierSet("==2.6.0")),
            ),
        ),
    )
    assert one.requirements == ('numpy<2; python_version < "3.12"',)
    where = {"torch": SpecifierSet("<2.2"), "python": SpecifierSet("==3.12")}
    assert one.exclude == (Exclusion(where=where, reason="no wheel"),)
    assert one.include == ({"python": "3.11", "torch": "2.9.0", "torchao": "0.14"},)
    assert one.resolution == datetime(2025, 1, 31, 23, 59, 59, tzinfo=UTC)
    assert two.axes == (Axis(package="torch", versions=VersionRange(specifier=SpecifierSet("==2.8.0"))),)
    assert two.include == ({"python": "3.12", "torch": "2.9.0"},)
    assert two.resolution == "latest"
    issue = matrix.issues["wrong-sum"]
    assert issue.title == "Sum is wrong"
    assert issue.expect is State.AFFECTED
    assert issue.threshold == Threshold(metric="mae", above=1e-4)
    assert issue.absent_is_bad
    assert not issue.timeout_is_bad
    assert matrix.environment == {"OMP_NUM_THREADS": "1", "EMPTY": ""}


def test_shipped_matrix() -> None:
    matrix = load(SHIPPED)
    assert matrix.issues
    assert matrix.probes == SHIPPED.parent / "probes"
