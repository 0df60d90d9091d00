"""Files of a user's choice are read within a bound, and only where they are files."""

import os
import re
import threading

import pytest

from deep_research.errors import ConfigurationError
from deep_research.files import read_regular
from deep_research.models import profiles
from deep_research.models.recording import Replay
from deep_research.settings import load_settings

pytestmark = pytest.mark.timed


def config(path):
    load_settings(config=path, environ={}, overrides={})


def own_config(path):
    folder = path.parent / "work"
    folder.mkdir()
    (folder / "deep-research.toml").symlink_to(path)
    load_settings(cwd=folder, environ={}, overrides={})


READERS = {
    "config": config,
    "config of the folder": own_config,
    "model file": profiles.read_profiles,
    "record of models": lambda path: Replay(str(path)),
}


def device(path):
    path.symlink_to("/dev/zero")


def large(path):
    path.touch()
    os.truncate(path, 500_000_001)  # takes no room on the disk


ODD = {
    "device": (device, "it is no regular file."),
    "pipe": (os.mkfifo, "it is no regular file."),
    "folder": (os.mkdir, "it is no regular file."),
    "large": (large, r"it is larger than \d+ bytes."),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_or_too_large_is_refused_in_one_line(tmp_path, monkeypatch, reader, odd):
    monkeypatch.setattr("deep_research.models.recording.MAX_RECORD_BYTES", profiles.MAX_FILE_BYTES)
    make, why = ODD[odd]
    make(tmp_path / "odd")
    seen = []

    def read():
        try:
            READERS[reader](tmp_path / "odd")
        except ConfigurationError as error:
            seen.append(str(error))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "it waits for ever"
    assert re.search(f"cannot be read: {why}", seen[0])
    assert "\n" not in seen[0]


def test_a_link_to_a_file_is_read_up_to_the_bound(tmp_path):
    (tmp_path / "file").write_bytes(b"1234")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_regular(tmp_path / "link", 4) == b"1234"
    with pytest.raises(OSError, match="larger than 3 bytes"):
        read_regular(tmp_path / "link", 3)
