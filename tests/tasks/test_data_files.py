from pathlib import Path

import pytest

from hippozoo.tasks.data_files import DATA_SETS, MissingDataError, data_file


@pytest.fixture(autouse=True)
def no_folder_of_the_machine(monkeypatch):
    monkeypatch.delenv("HIPPOZOO_DATA", raising=False)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data" / "ett").mkdir(parents=True)
    (tmp_path / "data" / "ett" / "ETTh1.csv").write_text("date,OT\n")
    return tmp_path / "data"


def test_a_file_is_found_in_the_folder_given(folder):
    assert data_file("ett/ETTh1.csv", folder) == folder / "ett" / "ETTh1.csv"
    assert data_file("ett/ETTh1.csv", str(folder)) == folder / "ett" / "ETTh1.csv"


def test_a_file_is_found_in_the_folder_of_the_variable(folder, monkeypatch):
    monkeypatch.setenv("HIPPOZOO_DATA", str(folder))
    assert data_file("ett/ETTh1.csv") == folder / "ett" / "ETTh1.csv"


def test_the_folder_given_comes_before_that_of_the_variable(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("HIPPOZOO_DATA", str(folder))
    (tmp_path / "ETTh1.csv").write_text("date,OT\n")
    assert data_file("ett/ETTh1.csv", tmp_path) == tmp_path / "ETTh1.csv"
    assert data_file("ett/ETTh1.csv", tmp_path / "data" / "ett") == folder / "ett" / "ETTh1.csv"
    (tmp_path / "ETTh1.csv").unlink()
    assert data_file("ett/ETTh1.csv", tmp_path) == folder / "ett" / "ETTh1.csv"


def test_the_home_folder_may_be_written_as_a_tilde(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    assert data_file("ett/ETTh1.csv", "~/data") == folder / "ett" / "ETTh1.csv"


@pytest.mark.parametrize(("known", "file"), [(known, file) for known in DATA_SETS for file in known.files])
def test_a_missing_file_says_what_it_is_where_it_comes_from_and_what_to_do(tmp_path, known, file):
    with pytest.raises(MissingDataError) as caught:
        data_file(f"{known.folder}/{file}", tmp_path)
    text = str(caught.value)
    assert f"looked for {known.folder}/{file} or {file} in {tmp_path}." in text
    assert known.what in text
    assert known.origin in text
    assert f"Put it into DIR/{known.folder}/{file} and pass --data DIR" in text


def test_all_folders_tried_are_named_also_those_that_do_not_exist(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("HIPPOZOO_DATA", str(folder))
    with pytest.raises(MissingDataError) as caught:
        data_file("ett/ETTm1.csv", tmp_path / "nowhere")
    assert f"in {tmp_path / 'nowhere'} (no such folder), {folder}." in str(caught.value)


def test_without_any_folder_the_message_asks_for_one():
    with pytest.raises(MissingDataError, match=r"folder was given"):
        data_file("silverbox/SNLS80mV.csv")


def test_an_unknown_file_is_looked_for_all_the_same(tmp_path):
    with pytest.raises(MissingDataError, match=r"file mine\.csv"):
        data_file("mine.csv", tmp_path)
    (tmp_path / "mine.csv").write_text("1\n")
    assert data_file("mine.csv", tmp_path) == tmp_path / "mine.csv"


def test_an_empty_file_and_a_folder_are_no_data(folder):
    (folder / "ett" / "ETTm1.csv").touch()
    with pytest.raises(ValueError, match=r"ETTm1\.csv"):
        data_file("ett/ETTm1.csv", folder)
    (folder / "silverbox" / "SNLS80mV.csv").mkdir(parents=True)
    with pytest.raises(MissingDataError):
        data_file("silverbox/SNLS80mV.csv", folder)


@pytest.mark.parametrize("name", ["/ett/ETTh1.csv", "../ETTh1.csv", "", "."])
def test_a_name_that_leaves_the_folder_is_refused(folder, name):
    with pytest.raises(ValueError, match="named by folder"):
        data_file(name, folder)


def test_the_examples_of_a_missing_file_are_files_too():
    assert issubclass(MissingDataError, FileNotFoundError)
    assert all(Path(known.folder).name == known.folder for known in DATA_SETS)
