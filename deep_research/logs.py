"""placeholder until the settings branch lands"""

from typing import Any


class _Log:
    def debug(self, event: str, **f: Any) -> None: ...
    def info(self, event: str, **f: Any) -> None: ...
    def warning(self, event: str, **f: Any) -> None: ...
    def error(self, event: str, **f: Any) -> None: ...


def get_log(name: str) -> _Log:
    return _Log()
