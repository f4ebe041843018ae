import pytest

from hippozoo.apps.tour import write_tour


@pytest.fixture(scope="session")
def tour(tmp_path_factory):
    """The whole tour, written once; gives the path of its page."""
    return write_tour(tmp_path_factory.mktemp("tour"))
