"""Cut a video into shots: kernel temporal segmentation and cuts, or equal shots."""

import sys
from types import ModuleType
from typing import NoReturn


class _Package(ModuleType):
    """A package that says which function to call: `vidsum shots` suggests `vidsum.shots(...)`."""

    def __call__(self, *arguments: object, **options: object) -> NoReturn:
        raise TypeError("vidsum.shots is a package; use vidsum.find_shots")


sys.modules[__name__].__class__ = _Package
