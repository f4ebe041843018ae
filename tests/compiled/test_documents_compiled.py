"""Pages that export a model: their code runs here, where no shape check stands in the way of torch.export."""

import pytest

from test_documents import EXPORTING, run_document


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch.export's own
@pytest.mark.parametrize("path", EXPORTING, ids=lambda path: path.name)
def test_python_in_documents_that_export_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_document(path)


def test_there_are_such_documents():
    assert EXPORTING
