"""Fixtures that all tests share, and the rule for tests that need an extra.

In an installation without an extra, a test that fails because of it counts as skipped. With `--strict-skips`,
a test that is skipped for any other reason than those of `allowed_skips.txt` fails the run. With
`--list-skips`, the names of skipped tests go to a file: `pytest @FILE` runs them where nothing is missing.
"""

import gc
import os
import re
import sys
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

# before torch and NumPy are imported: threads of several test processes wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

from vidsum.errors import PackageError
from vidsum.io.packages import EXTRAS, explain_import_error, has_extra

# on a busy machine any test may take long
settings.register_profile("vidsum", deadline=None, max_examples=15)
settings.register_profile("thorough", deadline=None, max_examples=200)  # of .ci/run
settings.load_profile("vidsum")

_SHARED = Path(os.environ.get("VIDSUM_SHARED", Path(__file__).resolve().parents[2] / "shared"))

_VARIABLES = ("VIDSUM_SHARED", "VIDSUM_REGENERATE", "VIDSUM_TEST_KILLS")  # of the tests, read at their import

MISSING = [extra for extra in EXTRAS if not has_extra(extra)]


def deep(*values: object) -> Any:
    """Return the values of a case that only `pytest -m deep` runs."""
    return pytest.param(*values, marks=pytest.mark.deep)


def deep_but(usual: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Return values of which only the usual are cases of the default tests."""
    return [value if value in usual else deep(value) for value in values]


def fewer_examples(part: int) -> settings:
    """Return settings with a part of the profile's examples, for a property whose examples take long."""
    checks = [HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture]
    return settings(max_examples=settings.default.max_examples // part, suppress_health_check=checks)


needs_torch = pytest.mark.skipif("torch" in MISSING, reason="needs vidsum[torch]")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--strict-skips",
        choices=("all", "base"),
        help="fail where a skip has no reason of allowed_skips.txt; base allows missing extras",
    )
    parser.addoption("--list-skips", type=Path, metavar="FILE", help="write the skipped tests, a line each")


def pytest_configure(config: pytest.Config) -> None:
    if config.pluginmanager.hasplugin("cacheprovider"):
        _store_compiled_modules()
    if os.environ.get("VIDSUM_REGENERATE") and config.getoption("numprocesses", None):
        raise pytest.UsageError("VIDSUM_REGENERATE=1 writes whole files from one process: leave out -n")


def _store_compiled_modules() -> None:
    """Overrule PYTHONDONTWRITEBYTECODE: many tests start processes, and each would compile the package."""
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    call: pytest.CallInfo[object] | None = getattr(report, "call", None)
    if report.failed and call and call.excinfo and (extra := missing_extra(call.excinfo.value, "")):
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: needs vidsum[{extra}]")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if MISSING and report.failed and call.excinfo:
        text = f"{report.longreprtext}{report.capstdout}{report.capstderr}"
        if extra := missing_extra(call.excinfo.value, text):
            report.outcome = "skipped"
            report.longrepr = (str(item.path), (item.location[1] or 0) + 1, f"Skipped: needs vidsum[{extra}]")
    return report


def missing_extra(error: BaseException, text: str) -> str | None:
    """Return the extra whose absence made a test fail: by its exception, or by what it printed."""
    for fault in _chain(error):
        known = (
            fault
            if isinstance(fault, PackageError)
            else isinstance(fault, Exception) and explain_import_error(fault)
        )
        text += str(known.hint) if isinstance(known, PackageError) else ""
    modules = re.findall(r"No module named \\?'(\w+)", text)
    extras = [*re.findall(r"vidsum\[(\w+)\]", text), *(e for e in MISSING if {*EXTRAS[e]} & {*modules})]
    return next((extra for extra in extras if extra in MISSING), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse tests that read the shared folder but lack the marker that skips them where it is missing."""
    unmarked = [item.nodeid for item in items if _reads_shared(item) and not _is_marked(item)]
    if unmarked:
        raise pytest.UsageError(f"mark these tests `shared`, they use its fixture: {', '.join(unmarked)}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are imported, of which there is none: it takes a sixth of that time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Let collections of garbage pass over all that was imported, which takes them half a second each."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)  # they are too frequent for a process that allocates so much


def _reads_shared(item: pytest.Item) -> bool:
    is_argument = "shared" in getattr(getattr(item, "callspec", None), "params", ())  # of parametrize
    return "shared" in getattr(item, "fixturenames", ()) and not is_argument


def _is_marked(item: pytest.Item) -> bool:
    return item.get_closest_marker("shared") is not None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that is marked `shared` where the folder is missing."""
    if _is_marked(item) and not _SHARED.is_dir():
        pytest.skip("no shared folder beside the checkout")


@pytest.fixture(autouse=True)
def _program_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the variables of the tests from the program, which names all that it does not know."""
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """List the skipped tests; fail the run where one has none of the reasons that are allowed."""
    mode = session.config.getoption("--strict-skips")
    file = session.config.getoption("--list-skips")
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:  # a process of -n
        return
    if file is not None:
        names = dict.fromkeys(report.nodeid for report in reporter.stats.get("skipped", ()))
        file.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    if mode is None:
        return
    lines = Path(__file__).with_name("allowed_skips.txt").read_text(encoding="utf-8").splitlines()
    allowed = [line for line in lines if line and not line.startswith("#")]
    allowed += [r"needs vidsum\[", "could not import"] if mode == "base" else []
    for report in reporter.stats.get("skipped", ()):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not any(re.match(pattern, reason) for pattern in allowed):
            reporter.write_line(f"not allowed to be skipped: {report.nodeid} ({reason})", red=True)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True, scope="session")
def _embed_cached_texts_once() -> Iterator[None]:
    """Embed names of classes and everyday phrases once a process, although each test has an empty cache.

    Both take seconds. What is read from a cache and written to it stays as it is.
    """
    from vidsum.evidence import match_probability
    from vidsum.grounding import actions, spaces, text_encoders
    from vidsum.io.cache import cached_rows
    from vidsum.io.provenance import digest_of

    real_encoder, rows_of = text_encoders.load_text_encoder, dict[str, Any]()

    def cached(folder: str, provenance: Mapping[str, Any], make: Callable[[], Any]) -> Any:
        def make_once() -> Any:
            if spaces.load_text_encoder is not real_encoder:  # a test has replaced it
                return make()
            digest = digest_of({"folder": folder, **provenance})
            if digest not in rows_of:
                rows_of[digest] = make()
            return rows_of[digest]

        return cached_rows(folder, provenance, make_once)

    with pytest.MonkeyPatch.context() as patch:
        for module in (spaces, actions, match_probability):
            patch.setattr(module, "cached_rows", cached)
        yield


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, which is empty."""
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


Once = Callable[[str, Callable[[Path], None]], Path]


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Make a folder in the first process of `-n` that needs it; the others wait for it and share it."""
    from vidsum.io.locks import lock_file

    base = tmp_path_factory.getbasetemp()
    place = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def once(name: str, make: Callable[[Path], None]) -> Path:
        folder, done = place / name, place / f"{name}.done"
        with lock_file(place / f"{name}.lock"):
            if not done.exists():
                folder.mkdir(exist_ok=True)
                make(folder)
                done.touch()
        return folder

    return once


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser, as `tests.browsing` has it."""
    from tests.browsing import launch, playwright

    with playwright.sync_playwright() as started:
        browser = launch(started.chromium, "no-user-gesture-required")
        yield browser
        browser.close()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """The browser; all windows are closed at the end: their videos would play on."""
    yield chromium
    for context in chromium.contexts:
        context.close()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real clips and annotations beside the checkout; VIDSUM_SHARED names another."""
    return _SHARED


@pytest.fixture(scope="session")
def shared_videos(shared: Path) -> Path:
    """The real clips."""
    return shared / "videos"


@pytest.fixture(scope="session")
def default_weights() -> Path:
    """The weights of the default extractor, fetched if need be."""
    from vidsum.features.settings import DEFAULT_EXTRACTOR

    return real_weights(DEFAULT_EXTRACTOR)


def real_weights(name: str) -> Path:
    """A checkpoint in the cache, fetched if need be; the test is skipped where it cannot be had.

    Weights that can be had but are not the right ones are no reason to skip.
    """
    from vidsum import checkpoints
    from vidsum.errors import WeightsError

    try:
        return checkpoints.path_of(name)
    except WeightsError as error:
        if "SHA-256" in error.message:
            raise
        pytest.skip(f"no weights of {name}: {error}")
