"""The manual pages: every command and flag is on one, and groff has no complaints."""

import shutil
import subprocess

import pytest

from docs import man, options

PAGES = dict(man.pages())


def test_every_command_has_a_page_with_its_flags() -> None:
    for words, command in options.commands():
        page = PAGES[f"vidsum-{words.replace(' ', '-')}"].replace("\\-", "-")
        flags = [flag for each in command.params if each.param_type_name == "option" for flag in each.opts]
        assert [flag for flag in flags if flag not in page] == []
        assert f"vidsum {words}" in PAGES["vidsum"].replace("\\-", "-")


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff here")
@pytest.mark.parametrize("name", PAGES)
def test_groff_has_no_complaints(name: str) -> None:
    command = ["groff", "-man", "-Kutf8", "-Tutf8", "-P-cbou", "-ww"]
    ran = subprocess.run(command, input=PAGES[name], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert "NAME" in ran.stdout
