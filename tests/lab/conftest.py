import pytest

from .clients import running


@pytest.fixture(scope="package", autouse=True)
def own_cache(tmp_path_factory):
    """Nothing of the user's is read or written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def site(own_cache):
    with running() as found:
        yield found
