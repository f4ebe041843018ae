"""The errors that the documents quote are the errors that are raised."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "memory.md").read_text(encoding="utf-8")
QUOTED = re.findall(r"^\| `([^`]+)` \| (.+) \|$", PAGE.partition("## Errors")[2], re.MULTILINE)


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the code of the page leaves behind."""
    names = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        for code in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
            exec(code, names)
        yield names


@pytest.mark.parametrize(("code", "message"), QUOTED, ids=[code for code, _ in QUOTED])
def test_a_quoted_error_is_what_is_raised(names, code, message):
    with pytest.raises((ValueError, TypeError, RuntimeError)) as caught:
        eval(code, names)
    assert str(caught.value) == message


def test_errors_are_quoted():
    assert len(QUOTED) > 4
