import pytest

from orchestrator.errors import EnvironmentUnusableError
from orchestrator.images.settings import read_dockerfile


def test_a_dockerfile_is_read_or_said_to_be_missing(tmp_path):
    path = tmp_path / "base.Dockerfile"
    path.write_text("FROM scratch\n", encoding="utf-8")
    assert read_dockerfile(path) == "FROM scratch\n"
    path.unlink()
    with pytest.raises(EnvironmentUnusableError, match=r"base\.Dockerfile: No such file") as caught:
        read_dockerfile(path)
    assert "images.dockerfiles" in caught.value.hint
