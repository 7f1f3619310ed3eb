"""The command that the wheel installs."""

import os
import pathlib
import signal
import subprocess
import sys
import sysconfig
import time

import bentpipe

COMMAND = os.path.join(sysconfig.get_path("scripts"), "bentpipe")


def run(*arguments: str, cwd: pathlib.Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, cwd=cwd)


def test_the_command_is_installed_whole() -> None:
    version = run("--version")
    assert version.returncode == 0 and bentpipe.__version__ in version.stdout
    help_text = run("--help").stdout
    for command in ("run", "serve", "get", "pep", "shell", "interop", "orbit"):
        assert f"\n  {command} " in help_text, command


def test_exit_statuses_are_those_of_the_command(tmp_path: pathlib.Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("name = 1\n")
    error = run("run", str(wrong))
    assert error.returncode == 2 and "wrong.toml:1" in error.stderr
    assert run("nonsense").returncode == 2


def test_reports_contain_the_interactive_page(root: pathlib.Path, tmp_path: pathlib.Path) -> None:
    first = root / "scenarios" / "examples" / "first.toml"
    done = run("run", str(first), "--out", "first", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "first" / "report.html").read_text()
    assert 'id="bentpipe-report"' in page


def test_ctrl_c_ends_a_command_without_a_handler() -> None:
    command = [COMMAND, *"orbit kuiper-630 --from Tokyo --to Delhi --step 1ms --duration 1h".split()]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        assert child.poll() is None
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=5) == -signal.SIGINT
    finally:
        child.kill()


def test_importing_the_package_imports_no_other() -> None:
    code = (
        "import sys, bentpipe; "
        "print([m for m in ('numpy', 'pandas', 'polars', 'pyarrow', 'tqdm') if m in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert output.stdout.strip() == "[]"
